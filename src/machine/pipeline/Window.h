// One operand's window over its array: copying blocks in and out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/BlockGeometry.h"
#include "machine/Memory.h"

namespace smalti::machine {

/// A window buffer and the array it moves over.
class WindowCopy {
 public:
  /// `undefined`: the window's dtype with its signedness, which determines the value of undefined elements.
  WindowCopy(Buffer& array, Buffer& window, DType undefined, bool tracks, Poison poison);
  /// Array → window. The rest of the window keeps what it holds, and counts as undefined (S-B9).
  void fetch(const BlockRegion&);
  /// Window → array.
  void writeBack(const BlockRegion&);
  /// Nothing of the window is defined any more (S-C4).
  void makeUndefined();

 private:
  int64_t offset(const std::vector<int64_t>& start, const Shape& strides) const;
  /// Copies the region between two blocks of memory with the given strides, run by run.
  void copy(const BlockRegion&, const std::byte* from, const Shape& fromStrides, std::byte* to, const Shape& toStrides,
            int elementBytes);
  Buffer* array_;
  Buffer* window_;
  Shape arrayStrides_, windowStrides_, zeroStrides_, index_;
  DType undefined_;
  bool tracks_;
  Poison poison_;
};

}  // namespace smalti::machine
