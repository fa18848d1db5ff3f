// What kernels that work row by row are made of, and caches too small for their arrays.
#pragma once

#include <fmt/format.h>

#include "Native.h"

namespace smalti::cpu::testing {

/// The LLC is smaller than any result: all are in DRAM.
inline NativeOptions tinyCache() {
  NativeOptions options;
  options.processor.l3Bytes = 1 << 10;
  return options;
}

/// One element per row in all columns, or one row in all rows.
inline Val wide(TextKernel& k, const Val& column, const Shape& shape) {
  const Val v = k.fresh(fmt::format("vector<{}x{}xf32>", shape[0], shape[1]));
  k.raw(fmt::format("{} = vector.broadcast {} : {} to {}", v.name, column.name, column.type, v.type));
  return v;
}

/// The reduction of each row by `kind`, from `start`, in all its columns.
inline Val reducedRows(TextKernel& k, const char* kind, const Val& v, const Shape& shape, float start) {
  const Val first = k.splat(k.f32(start), {shape[0]}), found = k.fresh(first.type);
  k.raw(fmt::format("{} = vector.multi_reduction <{}>, {}, {} [1] : {} to {}", found.name, kind, v.name, first.name,
                    v.type, found.type));
  const Val column = k.fresh(fmt::format("vector<{}x1xf32>", shape[0]));
  k.raw(fmt::format("{} = vector.shape_cast {} : {} to {}", column.name, found.name, found.type, column.type));
  return wide(k, column, shape);
}

}  // namespace smalti::cpu::testing
