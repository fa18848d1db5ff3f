// One operand's window over its array: where a block lies, and copying it in and out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/KernelPackage.h"
#include "machine/Memory.h"

namespace smalti::machine {

/// The part of a block that lies inside the array (S-B6): where it is in the array and in the window.
struct BlockRegion {
  std::vector<int64_t> arrayStart, windowStart, size;
  bool full = false;   ///< every element of the window is in the array
  bool empty = false;  ///< none is
};

/// What blocks of a window mean for an array of this shape.
class WindowGeometry {
 public:
  /// `padded`: the array has been padded so that every block fits; starts that do not are clamped (interpret=True).
  WindowGeometry(const smalti::Window& window, Shape array, bool padded);
  void place(std::span<const int64_t> block, BlockRegion&) const;
  /// True when nothing of the block is in the array, nor in the padding of an Element window (S-B6).
  bool outside(std::span<const int64_t> block) const;
  /// First element of the block in dimension `dim`, in the array's coordinates.
  int64_t start(std::span<const int64_t> block, int dim) const;

 private:
  Shape bounds_, array_, padLow_, padHigh_;
  bool element_ = false, padded_ = false;
};

/// A window buffer and the array it moves over.
class WindowCopy {
 public:
  /// `undefined`: the window's dtype with its signedness, which says what undefined elements hold.
  WindowCopy(Buffer& array, Buffer& window, DType undefined, bool tracks, Poison poison);
  /// Array → window. The rest of the window keeps what it holds, and counts as undefined (S-B9).
  void fetch(const BlockRegion&);
  /// Window → array.
  void writeBack(const BlockRegion&);
  /// Nothing of the window is defined any more (S-C4).
  void makeUndefined();

 private:
  int64_t offset(const std::vector<int64_t>& start, const Shape& strides) const;
  /// Copies the region between two blocks of memory that are strided as told, run by run.
  void copy(const BlockRegion&, const std::byte* from, const Shape& fromStrides, std::byte* to, const Shape& toStrides,
            int elementBytes);
  Buffer* array_;
  Buffer* window_;
  Shape arrayStrides_, windowStrides_, zeroStrides_, index_;
  DType undefined_;
  bool tracks_;
  Poison poison_;
};

/// Row-major strides, in elements.
Shape denseStrides(std::span<const int64_t> shape);

}  // namespace smalti::machine
