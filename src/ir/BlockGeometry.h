// Positions of a window's blocks in its array: their first elements, their parts inside, and which of them may be
// partial.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/KernelPackage.h"

namespace smalti {

/// The part of a block inside the array (S-B6): its position in the array and in the window.
struct BlockRegion {
  std::vector<int64_t> arrayStart, windowStart, size;
  bool full = false;   ///< every element of the window is in the array
  bool empty = false;  ///< none is
};

/// The positions of a window's blocks in an array of this shape.
class BlockGeometry {
 public:
  /// `padded`: the array has been padded so that every block fits (paddedShape); starts that do not are clamped
  /// (interpret=True).
  BlockGeometry(const Window& window, Shape array, bool padded = false);

  /// First element of the block in dimension `d`, in the array's coordinates.
  int64_t start(std::span<const int64_t> block, size_t d) const { return startOf(block[d], d); }
  int64_t startOf(int64_t coordinate, size_t d) const {
    if (!element_) return coordinate * bounds_[d];
    return padded_ ? coordinate : coordinate - padLow_[d];
  }
  void place(std::span<const int64_t> block, BlockRegion&) const;
  /// True when nothing of the block is in the array, nor in the padding of an Element window (S-B6).
  bool outside(std::span<const int64_t> block) const;

  /// Block indices [0, numBlocks) are those of blocks that have an element inside.
  int64_t numBlocks(size_t d) const;
  /// Block indices [0, numWholeBlocks) belong to blocks that are entirely inside; of an Element window, starts
  /// are.
  int64_t numWholeBlocks(size_t d) const;
  /// The last block along the dimension extends past the end of the array. Element windows: any block may.
  bool hasPartialBlock(size_t d) const;

  /// The shape of an array in which every block fits, and where the array begins in it (S-B7).
  Shape paddedShape() const;
  Shape paddedStart() const;

 private:
  Shape bounds_, array_, padLow_, padHigh_;
  bool element_ = false, padded_ = false;
};

}  // namespace smalti
