// What is known about memory before the code that accesses it is emitted: emit/View.h and emit/PackedView.h with
// numbers in place of registers.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "smalti/array.h"

namespace smalti::cpu {

/// A number of the emitted code; nullopt: known only when the kernel runs.
using KnownNumber = std::optional<int64_t>;

struct MemoryView {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<KnownNumber> strides;  ///< in elements, one per dimension
  std::vector<KnownNumber> sizes;    ///< per dimension, of refs with dynamic dimensions ('?' in `shape`); else empty
  Shape padding;                     ///< how far a slice may extend past the end of the array; empty: not at all
  bool extendsPast = false;          ///< it may be a slice that does
  /// Id of a memory of the kernel: views of different memories never overlap. kValue: written once, before it is read.
  int memory = kValue;
  std::shared_ptr<const char> owner;  ///< of values: its number of users is that of the views of its memory
  bool isInDram = false, isNonTemporal = false;
  bool isNextKnown = false;     ///< the address that the next grid step reads instead is known
  bool isReused = false;        ///< grid steps use this memory again soon, and nothing writes to it meanwhile
  int64_t reusedBlocks = 1;     ///< the number of parts through which steps cycle
  bool hasBlockNumber = false;  ///< there are several such parts, with numbers

  static constexpr int kValue = -1;
  int64_t elements() const { return num_elements(shape); }
  bool dynamic() const { return !sizes.empty(); }
};

inline bool mayOverlap(const MemoryView& a, const MemoryView& b) {
  return a.memory == b.memory && a.memory != MemoryView::kValue;
}

/// Row-major memory of a shape.
MemoryView denseMemory(DType, std::span<const int64_t> shape);
/// Whether the elements are known to be row-major without gaps.
bool isDense(const MemoryView&);
KnownNumber extent(const MemoryView&, size_t dimension);
/// A part of the view; `steps`: empty for 1.
MemoryView slice(const MemoryView&, std::span<const int64_t> sizes, std::span<const int64_t> steps = {});
/// nullopt: strides cannot express it.
std::optional<MemoryView> reshape(const MemoryView&, std::span<const int64_t> shape);

/// A ref that accesses memory as elements of another width.
struct PackedMemory {
  DType dtype = DType::f32;
  MemoryView cells;
  int64_t parts = 1, shares = 1;
  KnownNumber partStride;
  std::vector<KnownNumber> rowSteps;
  KnownNumber rowStride;

  bool isPlain() const { return parts == 1 && shares == 1 && dtype == cells.dtype; }
};

PackedMemory unpacked(const MemoryView&);
std::optional<PackedMemory> bitcastMemory(const PackedMemory&, DType, std::span<const int64_t> shape);
PackedMemory slice(const PackedMemory&, std::span<const int64_t> sizes, std::span<const int64_t> steps = {});
std::optional<PackedMemory> reshape(const PackedMemory&, std::span<const int64_t> shape);

}  // namespace smalti::cpu
