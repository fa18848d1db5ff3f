// Values as text, for debug prints: numbers as Python prints them, arrays as NumPy does.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "smalti/array.h"

namespace smalti::machine::flat {

/// `asUnsigned`: how a signless integer is read.
std::string formatElement(DType, const std::byte* element, bool asUnsigned = false);
/// Nested brackets, one line per row; long arrays are shortened to their first and last three entries per dimension.
std::string formatArray(DType, std::span<const int64_t> shape, const std::byte* elements);

}  // namespace smalti::machine::flat
