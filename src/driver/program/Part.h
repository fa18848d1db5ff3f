// Which part of a global array a device of a mesh holds.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ir/program/Program.h"

namespace smalti::driver {

/// Where a device stands: its index along mesh axes.
using Coordinates = std::map<std::string, int64_t>;

/// Where a device's part starts, and how large it is. Axes that are not in `at` do not split.
struct Part {
  Shape starts, shape;
  /// The part's first element in the global array, if the others follow it contiguously.
  std::optional<int64_t> first;
};
Part partAt(const Shape& global, const Sharding&, const DeviceMesh&, const Coordinates& at);

/// The elements of that part: a view of the same memory if they are contiguous.
Result<Array> partOf(const Array& global, const Part&);

}  // namespace smalti::driver
