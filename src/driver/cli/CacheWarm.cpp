#include "driver/cli/CacheWarm.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cpu/cache/CompileCache.h"
#include "driver/case/Warm.h"
#include "driver/cli/run/Inputs.h"
#include "driver/term/Progress.h"
#include "driver/term/Style.h"
#include "driver/term/Table.h"

namespace smalti::cli {
namespace {

using driver::CacheWarmStatus;
using driver::WarmOutcome;

struct WarmArguments {
  std::vector<std::string> paths;
  InputArguments inputs;
};

/// Folders stand for the cases in and below them.
Result<std::vector<std::string>> modulesOf(const std::vector<std::string>& paths) {
  std::vector<std::string> modules;
  for (const std::string& path : paths) {
    std::error_code none;
    if (!std::filesystem::is_directory(path, none)) {
      modules.push_back(path);
      continue;
    }
    auto cases = driver::findCases(path);
    if (!cases) return fail(std::move(cases.error()));
    if (cases->empty())
      return fail({.code = "SM1016",
                   .message = "there is no recorded case here",
                   .place = {},
                   .need = "a module, or a folder with case.json",
                   .have = fmt::format("'{}'", path)});
    modules.insert(modules.end(), cases->begin(), cases->end());
  }
  return modules;
}

void printTable(const Session& session, const std::vector<std::string>& modules,
                const std::vector<WarmOutcome>& outcomes) {
  const bool color = session.colorOut();
  term::Table table({{"module"},
                     {"kernel"},
                     {"target"},
                     {""},
                     {"ms", term::Align::right},
                     {"bytes of object", term::Align::right},
                     {""}});
  for (size_t i = 0; i < modules.size(); ++i) {
    for (const driver::WarmedKernel& k : outcomes[i].kernels) {
      const bool hasCode = k.state != CacheWarmStatus::notNative;
      table.add({modules[i], k.name, k.target, std::string(name(k.state)),
                 hasCode ? fmt::format("{:.1f}", k.milliseconds) : "", hasCode ? term::grouped(k.objectBytes) : "",
                 k.reason});
    }
    if (outcomes[i].diagnostic)
      table.add({modules[i], "", "", term::styled(term::Style::red, "refused", color), "", "", ""});
  }
  session.print(table.str(color));
}

Json toJson(const std::vector<std::string>& modules, const std::vector<WarmOutcome>& outcomes) {
  Json rows = Json::array();
  for (size_t i = 0; i < modules.size(); ++i) {
    Json row{{"module", modules[i]}, {"kernels", Json::array()}};
    for (const driver::WarmedKernel& k : outcomes[i].kernels)
      row["kernels"].push_back({{"kernel", k.name},
                                {"target", k.target},
                                {"state", name(k.state)},
                                {"milliseconds", k.milliseconds},
                                {"object_bytes", k.objectBytes},
                                {"reason", k.reason}});
    row["error"] = outcomes[i].diagnostic ? driver::toJson(*outcomes[i].diagnostic) : Json(nullptr);
    rows.push_back(std::move(row));
  }
  return rows;
}

int warm(const Session& session, const WarmArguments& arguments) {
  const Options& options = session.options.values;
  const auto cache = cpu::openCache(options.cache, options.cacheLimitMib << 20);
  if (!cache)
    return session.refuse({.code = "SM1000",
                           .message = "there is no folder for compiled kernels",
                           .place = {},
                           .help = "name one: --cache FOLDER, or SMALTI_CACHE"});
  if (Status usable = cache->usable(); !usable) return session.refuse(usable.error());
  const auto modules = modulesOf(arguments.paths);
  if (!modules) return session.refuse(modules.error());

  const auto load = [&](const std::string& path) -> Result<driver::ModuleOrCase> {
    auto module = driver::loadModuleOrCase(path);
    if (!module || module->program || arguments.inputs.outShape.empty()) return module;
    auto ready = prepare(path, arguments.inputs, options);
    if (!ready) return fail(std::move(ready.error()));
    return std::move(ready->module);
  };
  term::Progress progress;
  const auto outcomes = driver::warmCache(*modules, load, options, [&](size_t done) {
    progress.update(fmt::format("{} of {} modules, {:.0f} s", done, modules->size(), progress.seconds()));
  });
  progress.clear();

  if (session.json())
    session.printJson(toJson(*modules, outcomes));
  else
    printTable(session, *modules, outcomes);
  int code = kOk;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i].diagnostic) continue;
    Diagnostic d = *outcomes[i].diagnostic;
    if (!session.json())
      session.note(fmt::format("{}:\n", (*modules)[i]) + session.diagnosticText(d, "error", session.colorErr()));
    code = std::max(code, exitCodeFor(d));
  }
  return code;
}

}  // namespace

CLI::App* declareCacheWarm(CLI::App& cache, Session& session) {
  CLI::App* app = cache.add_subcommand("warm", "compile kernels into it, without running them");
  auto arguments = std::make_shared<WarmArguments>();
  app->add_option("modules", arguments->paths, "modules, or folders with recorded cases in or below them")
      ->required()
      ->type_name("PATH");
  arguments->inputs.declare(*app);
  session.addOptions(*app, {OptionGroup::check, OptionGroup::cases, OptionGroup::cache, OptionGroup::output},
                     {"corpus"});
  app->footer(
      "Each module is compiled in a process of its own. With --check, the code with checks is compiled.\n"
      "Example:\n  smalti cache warm attention.mlir --timeout-seconds 10");
  app->callback(
      [&session, arguments] { session.action = [&session, arguments] { return warm(session, *arguments); }; });
  return app;
}

}  // namespace smalti::cli
