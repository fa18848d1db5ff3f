// Lines and columns of locations as diagnostics say them.
#pragma once

#include <string_view>

#include "smalti/diagnostic.h"

namespace smalti {

/// Is the file Python source (or typed in at a prompt)? JAX wrote the location then, and counts columns from 0; MLIR's
/// parser counts from 1.
bool isPythonSource(std::string_view file);
/// Is the file a part of JAX, so that no author of kernels wrote it?
bool isJaxSource(std::string_view file);

/// The place that a location of this file, line and column stands for, with columns counted from 1.
SourcePlace placeIn(std::string_view file, int line, int column);

}  // namespace smalti
