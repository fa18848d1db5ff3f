#include "driver/cli/show/ShowCode.h"

#include <algorithm>

#include <fmt/format.h>

#include "driver/cli/show/KernelChoice.h"
#include "driver/term/Progress.h"
#include "driver/term/Style.h"

namespace smalti::cli {
namespace {

bool hasStage(const driver::Target& target, std::string_view stage) {
  return std::find(target.stages.begin(), target.stages.end(), stage) != target.stages.end();
}

std::string text(const KernelPackage& kernel, const driver::CodeView& view, bool color) {
  return term::styled(term::Style::bold, "kernel " + kernel.name, color) + " for " + view.processor + "\n" +
         (view.notNative.empty() ? view.text
                                 : fmt::format("  no native code, it runs on the machine: {}\n", view.notNative)) +
         "\n";
}

Json json(const KernelPackage& kernel, const driver::CodeView& view) {
  Json row{{"name", kernel.name}, {"processor", view.processor}};
  if (view.notNative.empty())
    row.update(view.figures);
  else
    row["not_native"] = view.notNative;
  return row;
}

}  // namespace

std::vector<std::string> codeStages() {
  std::vector<std::string> stages;
  for (const driver::Target* target : driver::targets())
    stages.insert(stages.end(), target->stages.begin(), target->stages.end());
  return stages;
}

const driver::Target* targetOfStage(const std::string& stage, const std::string& chosenTarget) {
  const driver::Target* chosen = driver::findTarget(chosenTarget);
  if (chosen && chosen->inspect && (stage == "all" || hasStage(*chosen, stage))) return chosen;
  for (const driver::Target* target : driver::targets())
    if (hasStage(*target, stage)) return target;
  return nullptr;
}

int showCode(const Session& session, const driver::Target& target, const driver::LoadedModule& module,
             const CodeArguments& arguments) {
  if (Status status = driver::requireShapes(module); !status) return session.refuse(status.error());
  const KernelPackage* only = nullptr;
  if (!arguments.kernel.empty()) {
    const auto chosen = chooseKernel(module, arguments.kernel);
    if (!chosen) return session.refuse(chosen.error());
    only = *chosen;
  }
  Json kernels = Json::array();
  for (size_t i = 0; i < module.numKernels(); ++i) {
    const KernelPackage& kernel = *module.kernel(i);
    if (only && only != &kernel) continue;
    const auto view = [&] {
      const term::Ticker ticker("compiling " + kernel.name);
      return target.inspect(kernel, arguments.request);
    }();
    if (!view) return session.refuse(view.error());
    const auto stage = view->stages.find(arguments.stage);
    if (session.json()) {
      kernels.push_back(json(kernel, *view));
      if (stage != view->stages.end()) kernels.back()["text"] = stage->second;
    } else {
      session.print(stage != view->stages.end() ? stage->second : text(kernel, *view, session.colorOut()));
    }
  }
  if (session.json()) session.printJson({{"module", module.path}, {"kernels", kernels}});
  return kOk;
}

}  // namespace smalti::cli
