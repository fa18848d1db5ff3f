// The part of a global array that a device of a mesh holds.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "ir/program/Program.h"

namespace smalti::driver {

/// The position of a device: its index along mesh axes.
using Coordinates = std::map<std::string, int64_t>;

/// The start and the size of a device's part. Axes that are not in `at` do not split.
struct Part {
  Shape starts, shape;
  /// The part's first element in the global array, if the others follow it contiguously.
  std::optional<int64_t> first;
};
Part partAt(const Shape& global, const Sharding&, const DeviceMesh&, const Coordinates& at);

/// The elements of that part: a view of the same memory if they are contiguous.
Result<Array> partOf(const Array& global, const Part&);

}  // namespace smalti::driver
