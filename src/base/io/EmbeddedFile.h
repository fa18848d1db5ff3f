// A file of the repository that is part of the program; made by cmake/Embed.cmake when it changes.
#pragma once

#include <string_view>

namespace smalti {

struct EmbeddedFile {
  std::string_view name;  ///< "SM1001.md"
  std::string_view text;
};

}  // namespace smalti
