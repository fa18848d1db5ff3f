// Operands of evaluators: dense row-major elements, or one element that represents all of them.
// No MLIR, no allocation: the caller owns inputs, outputs and scratch memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "smalti/array.h"
#include "smalti/dtype.h"

namespace smalti::eval {

using Dims = std::span<const int64_t>;

/// A read-only operand. `splat`: `data` is a single element and every element equals it.
struct Input {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  Dims shape;
  bool splat = false;
  int64_t elements() const { return num_elements(shape); }
};

/// A dense result, `elements()` elements, never overlapping an input unless an op says so.
struct Output {
  std::byte* data = nullptr;
  DType dtype = DType::f32;
  Dims shape;
  int64_t elements() const { return num_elements(shape); }
};

}  // namespace smalti::eval
