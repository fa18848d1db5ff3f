// Typed elements in memory, as generated code accesses them: a ref, a window, a value between two loop nests.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cpu/emit/Arena.h"
#include "cpu/emit/elements/Registers.h"
#include "cpu/plan/StridedLayout.h"

namespace smalti::cpu {

/// Hints for fast access; no result depends on them.
struct AccessHints {
  bool inDram = false;       ///< too large for the caches: prefetching pays
  bool nonTemporal = false;  ///< stores may be non-temporal (Streaming.h)
  /// Distance in bytes from an element to the element that the next grid step reads instead; null: unknown, or not
  /// worth a prefetch.
  Reg nextStepOffset = nullptr;
};

/// Whether grid steps use the same part of an array again soon.
struct ReuseInfo {
  Reg isInvariant = nullptr;  ///< i1: this memory is not written while the kernel runs; null: no reuse
  int64_t blocks = 1;         ///< number of parts through which steps cycle
  Reg block = nullptr;        ///< i64: the number of the current part, if there are several
};

/// Strides, sizes and extents are registers of type i64.
struct View : StridedLayout<Reg> {
  Reg base = nullptr;                         ///< address of element (0, …, 0)
  std::shared_ptr<const Arena::Block> owner;  ///< keeps memory in the arena allocated
  AccessHints hints;
  ReuseInfo reuse;  ///< not valid for slices

  void forgetBlock() {
    hints.nextStepOffset = nullptr;
    reuse = {};
  }
};

/// The value of a constant; nullopt: the register is not constant.
std::optional<int64_t> constantOf(Reg);

/// Arithmetic in emitted code, for the rules of StridedLayout.h.
struct EmittedArithmetic {
  using Number = Reg;
  Builder& b;

  Number constant(int64_t n) const { return b.getInt64(static_cast<uint64_t>(n)); }
  static std::optional<int64_t> known(Number n) { return constantOf(n); }
  Number multiply(Number m, Number n) const { return b.CreateMul(m, n); }
};

/// Row-major strides.
std::vector<Reg> denseStrides(Builder&, std::span<const int64_t> shape);
/// True if the elements are known to be row-major without gaps.
bool isDense(const View&);
/// The number of elements along a dimension.
Reg extent(Builder&, const View&, size_t d);
/// The number of elements along a dimension that are inside the array.
Reg presentExtent(Builder&, const View&, size_t d);
/// base + Σ index·stride.
Reg elementPointer(Builder&, const View&, std::span<const Reg> indices);
/// The box at `starts` of `sizes`, every `steps`-th element (empty: 1).
View slice(Builder&, const View&, std::span<const Reg> starts, std::span<const int64_t> sizes,
           std::span<const int64_t> steps = {});
/// Views the elements in another shape, by the rule of `reshaped` (StridedLayout.h).
std::optional<View> reshape(Builder&, const View&, std::span<const int64_t> shape);
/// The view without dimensions of size 1, nor its padding.
View withoutUnitDims(const View&);

}  // namespace smalti::cpu
