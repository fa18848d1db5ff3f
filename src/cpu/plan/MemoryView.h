// What is known about memory before the code that accesses it is emitted: emit/View.h and emit/PackedView.h with
// numbers in place of registers.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "cpu/plan/PackedLayout.h"
#include "cpu/plan/StridedLayout.h"

namespace smalti::cpu {

/// A number of the emitted code; nullopt: known only when the kernel runs.
using KnownNumber = std::optional<int64_t>;

struct MemoryView : StridedLayout<KnownNumber> {
  std::shared_ptr<const char> owner;  ///< owner of the memory of a value; each view of that memory counts as a user
  bool isInDram = false, isNonTemporal = false;
  bool isNextKnown = false;     ///< the address that the next grid step reads instead is known
  bool isReused = false;        ///< grid steps use this memory again soon, and nothing writes to it meanwhile
  int64_t reusedBlocks = 1;     ///< the number of parts through which steps cycle
  bool hasBlockNumber = false;  ///< there are several such parts, with numbers

  void forgetReuse() {
    isReused = hasBlockNumber = false;
    reusedBlocks = 1;
  }
  void forgetBlock() {
    isNextKnown = false;
    forgetReuse();
  }
};

/// Arithmetic on known numbers, for the rules of StridedLayout.h.
struct KnownArithmetic {
  using Number = KnownNumber;

  Number constant(int64_t n) const { return n; }
  static std::optional<int64_t> known(Number n) { return n; }
  Number add(Number a, Number b) const {
    int64_t sum = 0;
    return a && b && !__builtin_add_overflow(*a, *b, &sum) ? Number(sum) : std::nullopt;
  }
  Number multiply(Number a, Number b) const {
    int64_t product = 0;
    return a && b && !__builtin_mul_overflow(*a, *b, &product) ? Number(product) : std::nullopt;
  }
  Number divideExactly(Number a, int64_t n) const { return a ? Number(*a / n) : std::nullopt; }
  void moveByRows(MemoryView&, Number, int64_t, Number) const {}  // an address is not part of what is known
};

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
struct PackedMemory : PackedLayout<MemoryView> {};

PackedMemory unpacked(const MemoryView&);
std::optional<PackedMemory> bitcastMemory(const PackedMemory&, DType, std::span<const int64_t> shape);
PackedMemory slice(const PackedMemory&, std::span<const int64_t> sizes, std::span<const int64_t> steps = {});
std::optional<PackedMemory> reshape(const PackedMemory&, std::span<const int64_t> shape);

}  // namespace smalti::cpu
