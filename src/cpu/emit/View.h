// Typed elements in memory, as generated code accesses them: a ref, a window, a value between two loop nests.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cpu/emit/Arena.h"
#include "cpu/emit/elements/Registers.h"
#include "smalti/array.h"

namespace smalti::cpu {

/// Hints for fast access; no result depends on them.
struct AccessHints {
  bool inDram = false;       ///< too large for the caches: prefetching pays
  bool nonTemporal = false;  ///< stores may be non-temporal (Streaming.h)
  /// Bytes from an element to the one that the next grid step reads instead; null: unknown, or not worth a prefetch.
  Reg nextStepOffset = nullptr;
};

/// Whether grid steps use the same part of an array again soon.
struct ReuseInfo {
  Reg isInvariant = nullptr;  ///< i1: this memory is not written while the kernel runs; null: no reuse
  int64_t blocks = 1;         ///< number of parts through which steps cycle
  Reg block = nullptr;        ///< i64: the number of the current part, if there are several
};

struct View {
  DType dtype = DType::f32;
  Shape shape;
  Reg base = nullptr;        ///< of element (0, …, 0)
  std::vector<Reg> strides;  ///< i64, in elements, one per dimension
  std::vector<Reg> sizes;    ///< i64 per dimension, of refs with dynamic dimensions ('?' in `shape`); else empty
  /// Arrays in HBM occupy whole tiles: how far a slice may extend past its end in each dimension. Empty: not at all.
  Shape padding;
  std::vector<Reg> present;  ///< i64 per dimension: how much of such a slice is in the array. Empty: all of it.
  /// Id of a memory of the kernel: views of different memories never overlap. kValue: written once, before it is read.
  int memory = kValue;
  std::shared_ptr<const Arena::Block> owner;  ///< of values: keeps their memory allocated
  AccessHints hints;
  ReuseInfo reuse;  ///< not valid for slices

  static constexpr int kValue = -1;
  int64_t elements() const { return num_elements(shape); }
  bool dynamic() const { return !sizes.empty(); }
};

/// False: the two views have no element in common.
inline bool mayOverlap(const View& a, const View& b) { return a.memory == b.memory && a.memory != View::kValue; }
std::optional<int64_t> constantOf(Reg);
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
/// The same elements in the same order in another shape: unit dimensions may be added and removed with any strides,
/// anything else needs a dense view. nullopt if strides cannot express it.
std::optional<View> reshape(Builder&, const View&, std::span<const int64_t> shape);

}  // namespace smalti::cpu
