#include "driver/case/ModuleOrCase.h"

#include <filesystem>

namespace smalti::driver {

Result<ModuleOrCase> loadModuleOrCase(const std::string& path) {
  std::optional<Case> recorded;
  const bool isCase = isCaseFolder(path);
  if (isCase) {
    auto c = readCase(path);
    if (!c) return fail(std::move(c.error()));
    recorded = std::move(*c);
  }
  auto loaded = loadModule(isCase ? recorded->modulePath : path);
  if (loaded) return ModuleOrCase{std::move(*loaded), std::move(recorded)};
  Diagnostic d = std::move(loaded.error());
  std::error_code none;
  if (d.code == "SM1013") d.need += ", or a folder with case.json";
  if (d.code == "SM1001" && !isCase && std::filesystem::is_directory(path, none))
    d.help = "give a module, or a folder with case.json; for many cases, use conform";
  return fail(std::move(d));
}

}  // namespace smalti::driver
