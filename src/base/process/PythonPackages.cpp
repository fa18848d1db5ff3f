#include "base/process/PythonPackages.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>

namespace smalti {
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

}  // namespace

std::vector<fs::path> pythonPackageFolders() {
  std::vector<fs::path> folders;
  const std::string home = variable("HOME");
  for (const std::string& prefix :
       {variable("VIRTUAL_ENV"), variable("CONDA_PREFIX"), prefixOfPython(), home.empty() ? "" : home + "/.local",
        std::string("/usr/local"), std::string("/usr")}) {
    if (prefix.empty()) continue;
    std::vector<fs::path> here;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(fs::path(prefix) / "lib", error)) {
      if (!entry.path().filename().string().starts_with("python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"})
        if (fs::is_directory(entry.path() / packages, error)) here.push_back(entry.path() / packages);
    }
    std::ranges::sort(here, std::greater<>());
    folders.insert(folders.end(), here.begin(), here.end());
  }
  return folders;
}

}  // namespace smalti
