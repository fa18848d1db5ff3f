// smalti describe: what is in a module, without running it.
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/case/ModuleOrCase.h"
#include "driver/cli/Verbs.h"
#include "driver/cli/check/CheckLegality.h"
#include "driver/cli/show/ConfigView.h"
#include "driver/cli/show/KernelView.h"
#include "driver/term/Style.h"

namespace smalti::cli {
namespace {

std::string typeList(const std::vector<ArrayType>& types) {
  std::vector<std::string> parts;
  for (const ArrayType& t : types) parts.push_back(t.str());
  return fmt::format("({})", fmt::join(parts, ", "));
}

void countOps(const std::vector<Op>& ops, std::map<std::string, int64_t>& counts) {
  for (const Op& op : ops) {
    ++counts[op.name];
    for (const Block& block : op.regions) countOps(block.ops, counts);
  }
}

std::string counted(const std::map<std::string, int64_t>& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) parts.push_back(count == 1 ? name : fmt::format("{} ×{}", name, count));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void printKernel(const Session& session, const KernelPackage& kernel, const KernelView& view) {
  const bool color = session.colorOut();
  session.print("\n" + term::styled(term::Style::bold, "kernel " + view.name, color) + "\n");
  session.print(fmt::format(
      "  grid     {}\n", view.grid.empty() ? "none: whole arrays" : fmt::format("{} ({})", view.grid, view.semantics)));
  const auto config = configRows(kernel);
  for (size_t i = 0; i < config.size(); ++i)
    session.print(fmt::format("  {:<7}  {}: {}\n", i == 0 ? "config" : "", config[i].first, config[i].second));
  session.print(fmt::format("  ops      {}\n\n", counted(view.ops)));
  session.print(operandTable(view).str(color, 2));
}

int describe(const Session& session, const std::string& path) {
  const auto chips = chipsGiven(session);
  if (!chips) return session.refuse(chips.error());
  const auto module = driver::loadModuleOrCase(path);
  if (!module) return session.refuse(module.error());
  std::map<std::string, int64_t> programOps;
  const Program* program = module->program ? &*module->program : module->symbolic ? &*module->symbolic : nullptr;
  if (program)
    for (const Function& f : program->functions) countOps(f.ops, programOps);
  Json kernels = Json::array();
  if (!session.json()) {
    session.print(fmt::format("{}: {}\n", module->path, name(module->kind)));
    if (program) {
      session.print(fmt::format("  main     {} -> {}\n", typeList(driver::argumentTypes(*program)),
                                typeList(driver::resultTypes(*program))));
      for (const DeviceMesh& mesh : program->meshes) {
        std::vector<std::string> axes;
        for (const auto& axis : mesh.axes) axes.push_back(fmt::format("{}={}", axis.name, axis.size));
        session.print(fmt::format("  mesh     {} ({} devices)\n", fmt::join(axes, ", "), mesh.numDevices()));
      }
      session.print(fmt::format("  program  {}\n", counted(programOps)));
    } else {
      session.print("  a bare kernel: array shapes are not in it\n");
    }
  }
  for (size_t i = 0; i < module->numKernels(); ++i) {
    const KernelPackage& kernel = *module->kernel(i);
    const KernelView view = viewKernel(kernel);
    if (session.json()) {
      Json row = toJson(view);
      row["config"] = Json::object();
      for (const auto& [key, value] : configRows(kernel)) row["config"][key] = value;
      kernels.push_back(std::move(row));
    } else {
      printKernel(session, kernel, view);
    }
  }
  std::optional<LegalityOfModule> judged;
  if (!chips->empty()) judged = judgeFile(path, *chips);
  if (!session.json()) {
    if (judged) session.print("\n" + legalityText(session, *judged));
    return kOk;
  }
  Json json{{"module", module->path}, {"kind", name(module->kind)}};
  json["arguments"] = json["results"] = Json::array();
  json["program_ops"] = Json::object();
  if (program) {
    for (const ArrayType& t : driver::argumentTypes(*program)) json["arguments"].push_back(driver::toJson(t));
    for (const ArrayType& t : driver::resultTypes(*program)) json["results"].push_back(driver::toJson(t));
    for (const auto& [op, count] : programOps) json["program_ops"][op] = count;
  }
  json["kernels"] = kernels;
  if (judged) json["chips"] = toJson(*judged)["chips"];
  session.printJson(json);
  return kOk;
}

}  // namespace

void declareDescribe(CLI::App& app, Session& session) {
  auto path = std::make_shared<std::string>();
  app.add_option("module", *path, "a module, or a folder with case.json")->required()->type_name("PATH");
  session.addOptions(app, {OptionGroup::tpu, OptionGroup::output});
  app.callback([&session, path] { session.action = [&session, path] { return describe(session, *path); }; });
}

}  // namespace smalti::cli
