// An index of a Ref, checked and made regular: one entry per axis. Ops carry it as the attribute "index" (four integers
// per axis) and take its traced scalars as operands after the Ref, in order.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lang/trace/Trace.h"
#include "smalti/ref.h"

namespace smalti::lang {

/// The value of a scalar of integers or bool that is known while tracing; the largest i64 for a u64 beyond it.
std::optional<int64_t> concreteInteger(const Array&);

struct AxisIndex {
  bool isSlice = true;        ///< else a scalar, and the axis goes
  bool dynamicStart = false;  ///< the scalar or the slice's start is an operand
  bool dynamicSize = false;   ///< DMA only (H9): the size is an operand; `size` is the axis' size then
  int64_t start = 0;          ///< when not dynamic
  int64_t size = 1;           ///< elements taken; 1 for a scalar
  int64_t stride = 1;         ///< 0: the same element `size` times (D3)
};

struct Indexer {
  std::vector<AxisIndex> axes;
  std::vector<Array> dynamic;  ///< i32 scalars, in order: starts and sizes

  /// The shape of the indexed part, without scalar axes.
  Shape shape() const;
  /// Everything, from 0 with stride 1.
  bool isWhole(std::span<const int64_t> of) const;
  std::vector<int64_t> encode() const;
};
/// The axes again, from the attribute "index" of an op.
std::vector<AxisIndex> decodeIndex(std::span<const int64_t>);

/// Errors SM6108 (too many entries), SM6109 (out of bounds), SM6110 (no integer), SM6111 (a stride that is not ≥ 0).
Indexer makeIndexer(const Shape& of, std::span<const Index> index);

}  // namespace smalti::lang
