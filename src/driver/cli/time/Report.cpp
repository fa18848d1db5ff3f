// smalti report: one HTML file with the TPU compilers' verdicts and the models' predictions. It works offline.
#include <string_view>

#include <fmt/format.h>

#include "driver/case/ModuleOrCase.h"
#include "driver/cli/Embedded.h"
#include "driver/cli/Verbs.h"
#include "driver/cli/run/MeasuredRun.h"
#include "driver/cli/time/ReportData.h"
#include "driver/compile/AssumeShapes.h"

namespace smalti::cli {
namespace {

struct ReportArguments {
  std::string path, trace;
  TimeInputArguments inputs;
};

std::string_view fileText(std::string_view name) {
  for (const EmbeddedFile& f : reportFiles())
    if (f.name == name) return f.text;
  return {};
}

/// JSON inside of an HTML script: no tag begins or ends in it.
std::string inScript(const Json& json) {
  std::string text = driver::dump(json), out;
  out.reserve(text.size());
  for (char c : text) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

/// The page with each mark @@NAME@@ replaced, once.
std::string pageOf(const Json& data) {
  std::string_view rest = fileText("report.html");
  std::string page;
  for (size_t mark = rest.find("@@"); mark != std::string_view::npos; mark = rest.find("@@")) {
    const size_t end = rest.find("@@", mark + 2);
    const std::string_view name = rest.substr(mark + 2, end - mark - 2);
    page += rest.substr(0, mark);
    if (name == "DATA")
      page += inScript(data);
    else
      page += fileText(name == "CSS" ? "report.css" : name == "JS" ? "report.js" : "chart.min.js");
    rest = rest.substr(end + 2);
  }
  return page += rest;
}

/// --target cpu. A target that the environment names for other verbs is ignored.
Result<bool> isMeasured(const Session& session) {
  const std::string& target = session.options.values.target;
  if (session.options.origin(*findOption("target")) != Origin::commandLine || target == "cpu") return target == "cpu";
  return fail({.code = "SM1000",
               .message = "reports show the models' predictions for chips, and runs of the target cpu",
               .place = {},
               .need = "--target cpu, or none",
               .have = fmt::format("--target {}", target),
               .help = "name chips with --chip"});
}

int report(const Session& session, const ReportArguments& arguments) {
  const std::string& names = session.options.values.chip;
  const auto chips = tpu::findChips(names.empty() ? "all" : names);
  if (!chips) return session.refuse(chips.error());
  if (Status ok = requireOwnFile(session, arguments.trace); !ok) return session.refuse(ok.error());
  auto module = driver::loadModuleOrCase(arguments.path);
  if (!module) return session.refuse(module.error());
  const auto measures = isMeasured(session);
  if (!measures) return session.refuse(measures.error());
  // Judging a bare kernel does not require the sizes of its arrays; running it does.
  if (!*measures && module->bare)
    if (Status ready = driver::assumeShapes(*module); !ready) return session.refuse(ready.error());
  if (Status ready = module->symbolic ? driver::requireCalls(*module) : driver::requireShapes(*module); !ready)
    return session.refuse(ready.error());
  const auto inputs = timeInputsOf(session, *module, arguments.inputs);
  if (!inputs) return session.refuse(inputs.error());
  Trace trace;
  Json data = reportData(*module, *chips, *inputs, arguments.trace.empty() ? nullptr : &trace);
  if (*measures) {
    auto run = measuredRun(*module, *inputs, session.options.values, arguments.trace.empty() ? nullptr : &trace);
    if (!run) return session.refuse(run.error());
    data["cpu"] = std::move(*run);
  }
  if (Status ok = trace.write(arguments.trace); !ok) return session.refuse(ok.error());
  if (session.json())
    session.printJson(data);
  else
    session.print(pageOf(data));
  return kOk;
}

}  // namespace

void declareReport(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ReportArguments>();
  app.add_option("module", arguments->path, "a module, or a folder with case.json")->required()->type_name("PATH");
  arguments->inputs.declare(app);
  declareTrace(app, arguments->trace);
  session.addOptions(app, {OptionGroup::output, OptionGroup::tpu});
  for (const char* option : {"target", "threads", "fill", "seed", "timeout-seconds"}) session.addOption(app, option);
  app.callback(
      [&session, arguments] { session.action = [&session, arguments] { return report(session, *arguments); }; });
}

}  // namespace smalti::cli
