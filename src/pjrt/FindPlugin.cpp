#include "pjrt/FindPlugin.h"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "base/process/PythonPackages.h"

namespace smalti::pjrt {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

Result<std::string> findTpuPlugin(const std::string& given, std::string_view naming) {
  if (!given.empty()) return given;
  if (std::string path = variable("TPU_LIBRARY_PATH"); !path.empty()) return path;
  std::error_code error;
  for (const fs::path& packages : pythonPackageFolders())
    if (const fs::path file = packages / "libtpu" / "libtpu.so"; fs::is_regular_file(file, error)) return file.string();
  for (const char* file : {"/lib/libtpu.so", "/usr/lib/libtpu.so"})
    if (fs::is_regular_file(file, error)) return std::string(file);
  return fail({.code = "SM6801",
               .message = "Google's TPU compiler (libtpu) is not installed",
               .place = {},
               .need = fmt::format("libtpu.so in the active Python environment, in TPU_LIBRARY_PATH, or by {}", naming),
               .help = "pip install libtpu (no TPU is needed to compile), in the environment that is active here"});
}

}  // namespace smalti::pjrt
