// Files of the repository that are part of the program: error pages and the folder that `smalti new` makes.
// Made by cmake/Embed.cmake when they change.
#pragma once

#include <span>
#include <string_view>

namespace smalti::cli {

struct EmbeddedFile {
  std::string_view name;  ///< "SM1001.md"
  std::string_view text;
};

std::span<const EmbeddedFile> errorPages();
std::span<const EmbeddedFile> newFiles();

}  // namespace smalti::cli
