// Asks a TPU compiler about many modules and chips, in child processes: it may crash or hang on any of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/Options.h"
#include "driver/compile/Verdict.h"

namespace smalti::driver {

struct ModuleToJudge {
  std::string path;       ///< as it was given
  std::string stableHlo;  ///< text or bytecode
};

struct JudgeRequest {
  std::string plugin;  ///< file of the PJRT plugin
  std::vector<ModuleToJudge> modules;
  std::vector<std::string> chips;  ///< each with a topology
  /// The file for the executable of a module on a chip; null: it is not written.
  std::function<std::string(size_t module, size_t chip)> executableFile;
};

/// [module][chip].
using Verdicts = std::vector<std::vector<CompilerVerdict>>;

/// [module][chip]. Jobs, time and memory are limited as the options say; `progress` is called with the number done. A
/// plugin that cannot be used ends it early: the verdicts that are missing then have its diagnostic as their `error`.
Verdicts judge(const JudgeRequest&, const Options&, const std::function<void(size_t done)>& progress);
/// Why the plugin cannot be used (SM6802, SM6803), if that is what ended it; else null. Points into the verdicts.
const Diagnostic* pluginError(const Verdicts&);
/// When the compiler was built, in its own words, once there is a verdict that says it; else empty.
std::string compilerVersion(const Verdicts&);

/// The text for the compiler of a file or a case folder: StableHLO (text and bytecode) unchanged, everything else
/// exported. Arrays of a bare kernel are as large as its blocks (AssumeShapes.h).
Result<std::string> stableHloOf(const std::string& path);

/// The modules that a path stands for: itself, or, of a folder that is not a case, every case folder and .mlir file in
/// and below it, sorted. SM1001, SM1016.
Result<std::vector<std::string>> modulesAt(const std::string& path);

/// A module as it was given, and what is compiled of it or why it cannot be read.
struct RequestedModule {
  std::string path;
  std::optional<Diagnostic> error;
  size_t judged = 0;  ///< its row among the verdicts, when there is no error
};
/// The modules at all paths; those that can be read go to the request. SM1001, SM1016 for a path without any.
Result<std::vector<RequestedModule>> readModules(const std::vector<std::string>& paths, JudgeRequest&);

}  // namespace smalti::driver
