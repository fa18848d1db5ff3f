// The folders of Python packages, in which other projects distribute programs and libraries.
#pragma once

#include <filesystem>
#include <vector>

namespace smalti {

/// The folders of installed packages (site-packages): of the active environment, then of the first python3 on the
/// PATH, the user's and the system's; of several versions of Python in one place, the one that sorts last comes first.
std::vector<std::filesystem::path> pythonPackageFolders();

}  // namespace smalti
