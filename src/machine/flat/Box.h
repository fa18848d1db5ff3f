// The part of a ref that a memory op reaches: where it starts, how much of each dimension, in what steps.
#pragma once

#include <array>

#include "machine/flat/Frame.h"

namespace mlir {
class Operation;
}

namespace smalti::machine::flat {

/// A box as compiled: index operands and static parts.
struct BoxShape {
  int32_t ref = -1;
  std::vector<Operand> indices;
  Shape sizes;
  Shape strides;  ///< empty: all 1
  int64_t stride(size_t d) const { return strides.empty() ? 1 : strides[d]; }
};

/// A box as resolved in one run.
struct Box {
  const Ref* ref = nullptr;
  std::array<int64_t, kMaxRank> starts{};
  // Only for strided refs and boxes inside: where in the buffer it begins, and steps between elements there.
  int64_t offset = 0;
  std::array<int64_t, kMaxRank> steps{};
  bool contiguous = false;
  bool outside = false;  ///< of a load that goes on: some elements are not there, and the fields above say nothing
};

enum class Reach : uint8_t { load, store };

/// Reads the indices, checks bounds (unless `mayReachOutside`: masked stores check what they touch). False: the run
/// failed.
bool resolveBox(Frame&, const BoxShape&, Reach, Box&, bool mayReachOutside = false);
/// The position of a box inside its strided ref, in the ref's buffer: `offset`, `steps`, `contiguous`.
void placeInBuffer(const BoxShape&, Box&);
/// The part of the ref that exists: its view, or what of it is in memory.
inline const Shape& boundsOf(const Ref& ref) { return ref.strided() ? ref.presentShape() : ref.viewShape(); }
/// True if the whole box is inside the ref.
bool isInside(const BoxShape&, const Box&);
/// SM4010 for a box that does not.
Diagnostic outOfBounds(const BoxShape&, const Box&, Reach);
/// "'scratch 0' (VMEM f32[1024,128])", with the view's type when it differs.
std::string describe(const Ref&);
/// `selected`: as MemoryAccess has it, of a masked store; else empty.
void reportAccess(Frame&, const BoxShape&, const Box&, MemoryAccess::Kind, std::span<const uint8_t> selected = {});
/// The same of a load that reaches outside.
void reportLoadOverEdge(Frame&, const BoxShape&, const Box&);

/// Inside kernels sub-byte integers are kept sign-extended; arrays of u2 and u4 keep them zero-extended.
inline bool keptUnsigned(DType t) { return t == DType::u2 || t == DType::u4; }
void signExtend(DType kept, std::byte* elements, int64_t n);
void zeroExtend(DType kept, std::byte* elements, int64_t n);

}  // namespace smalti::machine::flat
