// vmap: a tracer whose values hold one array per example, along axis 0.
#pragma once

#include <optional>

#include "lang/transform/Jvp.h"

namespace smalti::lang {

struct BatchResults {
  std::vector<Array> results;
  Mask isBatched;
};
/// The axis along which an array holds the examples; nothing where all share it.
using BatchAxes = std::vector<std::optional<int64_t>>;
/// The function on `size` examples at once.
BatchResults batch(const Functional&, std::span<const Array> arguments, const BatchAxes&, int64_t size);
/// The same; arguments that are flagged have the examples along axis 0.
BatchResults batch(const Functional&, std::span<const Array> arguments, const Mask& isBatched, int64_t size);

/// The type with the examples along axis 0.
ArrayType batchedType(const ArrayType&, int64_t size);
/// The array for every example.
Array spread(const Array&, int64_t size);
/// Along axis 0 the examples, whether they differ or not.
std::vector<Array> allBatched(BatchResults, int64_t size);
/// Axis `from` becomes axis `to`.
Array moveAxis(const Array&, int64_t from, int64_t to);

}  // namespace smalti::lang
