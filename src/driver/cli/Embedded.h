// Error pages, the folder that `smalti new` makes, and the parts of reports.
#pragma once

#include <span>

#include "base/io/EmbeddedFile.h"

namespace smalti::cli {

std::span<const EmbeddedFile> errorPages();
std::span<const EmbeddedFile> newFiles();
/// The files of a report, including the charting library (chart.js, MIT licence).
std::span<const EmbeddedFile> reportFiles();

}  // namespace smalti::cli
