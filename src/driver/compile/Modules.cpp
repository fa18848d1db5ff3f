#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/io/File.h"
#include "driver/Module.h"
#include "driver/case/Case.h"
#include "driver/compile/AssumeShapes.h"
#include "driver/compile/Judge.h"
#include "interop/Interop.h"

namespace smalti::driver {
namespace {

namespace fs = std::filesystem;

/// StableHLO, text or bytecode, is for the compiler to read, whether or not we can.
bool isStableHlo(std::string_view content) {
  constexpr std::string_view kBytecodeMagic = "ML\xefR";
  constexpr size_t kProducerBytes = 64;
  if (content.starts_with(kBytecodeMagic))
    return content.substr(0, kProducerBytes).find("StableHLO") != std::string_view::npos;
  return content.find("stablehlo.") != std::string_view::npos || content.find("mhlo.") != std::string_view::npos;
}

}  // namespace

Result<std::string> stableHloOf(const std::string& path) {
  std::string file = path;
  if (isCaseFolder(path)) {
    auto recorded = readCase(path);
    if (!recorded) return fail(recorded.error());
    file = recorded->modulePath;
  }
  auto content = readFile(file);
  if (!content) return fail(content.error());
  auto module = loadModule(file);
  // Google's compilers end the process where shapes are symbolic.
  if (module && module->symbolic) return fail(requireCalls(*module).error());
  if (isStableHlo(*content)) return content;
  if (!module) return fail(module.error());
  if (Status status = assumeShapes(*module); !status) return fail(status.error());
  if (Status status = requireShapes(*module); !status)
    return fail(status.error());  // without arguments nothing is assumed
  return interop::exportStableHlo(*module->program);
}

Result<std::vector<std::string>> modulesAt(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error) || isCaseFolder(path)) return std::vector{path};
  std::vector<std::string> modules;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored)) {
      if (!isCaseFolder(at->path().string())) continue;
      modules.push_back(at->path().string());
      at.disable_recursion_pending();
    } else if (at->path().extension() == ".mlir") {
      modules.push_back(at->path().string());
    }
  }
  if (error)
    return fail({.code = "SM1001", .message = fmt::format("cannot read '{}': {}", path, error.message()), .place = {}});
  if (modules.empty())
    return fail({.code = "SM1016",
                 .message = "there is no module here",
                 .place = {},
                 .need = ".mlir files, or folders with case.json",
                 .have = fmt::format("'{}'", path)});
  std::sort(modules.begin(), modules.end());
  return modules;
}

Result<std::vector<RequestedModule>> readModules(const std::vector<std::string>& paths, JudgeRequest& request) {
  std::vector<RequestedModule> asked;
  for (const std::string& path : paths) {
    const auto files = modulesAt(path);
    if (!files) return fail(files.error());
    for (const std::string& file : *files) {
      auto module = stableHloOf(file);
      asked.push_back({file, {}, request.modules.size()});
      if (module)
        request.modules.push_back({file, std::move(*module)});
      else
        asked.back().error = std::move(module.error());
    }
  }
  return asked;
}

}  // namespace smalti::driver
