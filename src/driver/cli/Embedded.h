// Error pages and the folder that `smalti new` makes.
#pragma once

#include <span>

#include "base/EmbeddedFile.h"

namespace smalti::cli {

std::span<const EmbeddedFile> errorPages();
std::span<const EmbeddedFile> newFiles();

}  // namespace smalti::cli
