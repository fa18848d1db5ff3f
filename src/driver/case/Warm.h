// Compiling ahead: the kernels of modules go into the cache without being run, for every target that keeps code there.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/Options.h"
#include "driver/case/ModuleOrCase.h"

namespace smalti::driver {

enum class CacheWarmStatus : uint8_t {
  compiled,   ///< now, and kept
  kept,       ///< it was in the cache
  notKept,    ///< it has native code, but every process regenerates it
  notNative,  ///< it runs on the machine
};
std::string_view name(CacheWarmStatus);

struct WarmedKernel {
  std::string name, target;
  CacheWarmStatus state = CacheWarmStatus::compiled;
  double milliseconds = 0;  ///< for compiling or reading it
  int64_t objectBytes = 0;  ///< of the object file that is kept
  std::string reason;       ///< why it is not kept or not native
};

struct WarmOutcome {
  std::vector<WarmedKernel> kernels;
  std::optional<Diagnostic> diagnostic;  ///< why those after them are missing
};

/// Gets the module: called in the child.
using ModuleLoader = std::function<Result<ModuleOrCase>(const std::string& path)>;

/// Each module in a child process with the limits of the options, several at once. `progress` is called with how many
/// are done.
std::vector<WarmOutcome> warmCache(std::span<const std::string> paths, const ModuleLoader&, const Options&,
                                   const std::function<void(size_t)>& progress);

}  // namespace smalti::driver
