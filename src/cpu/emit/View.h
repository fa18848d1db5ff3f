// Typed elements in memory as generated code reaches them: a ref, a window, a value between two loop nests.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cpu/emit/Arena.h"
#include "cpu/emit/elements/Registers.h"
#include "smalti/array.h"

namespace smalti::cpu {

/// How memory is accessed best: no result depends on it.
struct AccessHints {
  bool memoryResident = false;  ///< too big for the caches: worth a prefetch
  bool nonTemporal = false;     ///< what is stored here may go past the caches (Streaming.h)
  /// Bytes from an element to what the next step of the grid reads in its place; null: not known, or not worth it.
  Reg nextStepOffset = nullptr;
};

/// Whether steps of the grid see the same part of an array again soon.
struct ReuseInfo {
  Reg isInvariant = nullptr;  ///< i1: this memory is not written while the kernel runs; null: no reuse
  int64_t blocks = 1;         ///< parts that steps see before the first one comes again
  Reg block = nullptr;        ///< i64, of several: which of them this is
};

struct View {
  DType dtype = DType::f32;
  Shape shape;
  Reg base = nullptr;        ///< of element (0, …, 0)
  std::vector<Reg> strides;  ///< i64, in elements, one per dimension
  std::vector<Reg> sizes;    ///< i64 per dimension, of refs with dynamic dimensions ('?' in `shape`); else empty
  /// Arrays in HBM lie there in whole tiles: how far past its end a slice may reach in each dimension. Empty: nowhere.
  Shape padding;
  std::vector<Reg> present;  ///< i64 per dimension, of a slice that may: how much of it is array. Empty: all of it.
  /// Which memory of the kernel: views of different ones never overlap. kValue: written once, before it is read.
  int memory = kValue;
  std::shared_ptr<const Arena::Block> owner;  ///< of values; keeps their place
  AccessHints hints;
  ReuseInfo reuse;  ///< forgotten of a part of the memory

  static constexpr int kValue = -1;
  int64_t elements() const { return num_elements(shape); }
  bool dynamic() const { return !sizes.empty(); }
};

/// False: the two surely have no element in common.
inline bool mayOverlap(const View& a, const View& b) { return a.memory == b.memory && a.memory != View::kValue; }
std::optional<int64_t> constantOf(Reg);
/// Row-major strides.
std::vector<Reg> denseStrides(Builder&, std::span<const int64_t> shape);
/// True when the elements are known to lie row-major without gaps.
bool isDense(const View&);
/// Elements along a dimension.
Reg extent(Builder&, const View&, size_t d);
/// Elements along a dimension that are array.
Reg presentExtent(Builder&, const View&, size_t d);
/// base + Σ index·stride.
Reg elementPointer(Builder&, const View&, std::span<const Reg> indices);
/// The box at `starts` of `sizes`, every `steps`-th element (empty: 1).
View slice(Builder&, const View&, std::span<const Reg> starts, std::span<const int64_t> sizes,
           std::span<const int64_t> steps = {});
/// The same elements in the same order under another shape: unit dimensions come and go with any strides, everything
/// else needs a dense view. nullopt where strides cannot say it.
std::optional<View> reshape(Builder&, const View&, std::span<const int64_t> shape);

}  // namespace smalti::cpu
