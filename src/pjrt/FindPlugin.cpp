#include "pjrt/FindPlugin.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

namespace smalti::pjrt {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// PREFIX of the first python3 on the PATH: its packages are in PREFIX/lib/python3.N/site-packages.
std::string prefixOfPython() {
  const std::string path = variable("PATH");
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const fs::path folder = path.substr(begin, end - begin);
    begin = end + 1;
    std::error_code error;
    if (!folder.empty() && fs::exists(folder / "python3", error)) return folder.parent_path().string();
  }
  return "";
}

/// The plugin in a prefix of Python packages; of several versions of Python, the one that sorts last.
std::string inPrefix(const std::string& prefix) {
  std::vector<std::string> found;
  std::error_code error;
  if (prefix.empty()) return "";
  for (const auto& entry : fs::directory_iterator(fs::path(prefix) / "lib", error)) {
    if (!entry.path().filename().string().starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      const fs::path file = entry.path() / packages / "libtpu" / "libtpu.so";
      if (fs::is_regular_file(file, error)) found.push_back(file.string());
    }
  }
  return found.empty() ? "" : *std::max_element(found.begin(), found.end());
}

}  // namespace

Result<std::string> findTpuPlugin(const std::string& given, std::string_view naming) {
  if (!given.empty()) return given;
  if (std::string path = variable("TPU_LIBRARY_PATH"); !path.empty()) return path;
  const std::string home = variable("HOME");
  for (const std::string& prefix :
       {variable("VIRTUAL_ENV"), variable("CONDA_PREFIX"), prefixOfPython(), home.empty() ? "" : home + "/.local",
        std::string("/usr/local"), std::string("/usr")})
    if (std::string file = inPrefix(prefix); !file.empty()) return file;
  for (const char* file : {"/lib/libtpu.so", "/usr/lib/libtpu.so"}) {
    std::error_code error;
    if (fs::is_regular_file(file, error)) return std::string(file);
  }
  return fail({.code = "SM6801",
               .message = "Google's TPU compiler (libtpu) is not installed",
               .place = {},
               .need = fmt::format("libtpu.so in the active Python environment, in TPU_LIBRARY_PATH, or by {}", naming),
               .help = "pip install libtpu (no TPU is needed to compile), in the environment that is active here"});
}

}  // namespace smalti::pjrt
