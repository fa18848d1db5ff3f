// Ops whose source positions are computed at run time: rotations and gathers. Positions wrap around, so that no
// number leads outside of the operand.
#include <array>

#include "base/RowMajor.h"
#include "cpu/emit/ops/Columns.h"
#include "cpu/emit/ops/OpTables.h"

namespace smalti::cpu {
namespace {

int64_t wrapped(int64_t i, int64_t n) { return ((i % n) + n) % n; }

/// i mod n of a signed i64, in [0, n).
Reg wrapped(NativeLowering& l, Reg i, int64_t n) {
  Reg rest = l.b.CreateSRem(i, l.index(n));
  return l.b.CreateSelect(l.b.CreateICmpSLT(rest, l.index(0)), l.b.CreateAdd(rest, l.index(n)), rest);
}

void copyElements(NativeLowering& l, const View& from, Reg source, const View& to, Reg target, Reg elements) {
  const llvm::Align align(static_cast<uint64_t>(storage_bytes(to.dtype)));
  l.b.CreateMemCpy(elementAt(l, to, target), align, elementAt(l, from, source), align,
                   l.b.CreateMul(elements, l.index(storage_bytes(to.dtype))));
}

/// tpu.dynamic_rotate (S-E16): out[(i + shift) mod n] = in[i] along a dimension; index k of another one may add
/// k·stride to the shift.
NativeResult lowerRotate(NativeLowering& l, mlir::Operation& op) {
  const Shape shape = shapeOf(op.getResult(0).getType());
  const int64_t dim = integerAttribute(op, "dimension", -1);
  const bool strided = op.hasAttr("stride") && op.hasAttr("stride_dimension");
  const int64_t strideDim = strided ? integerAttribute(op, "stride_dimension", -1) : -1;
  Reg amount = l.scalar(op.getOperand(1));
  if (!amount) return unsupported("a rotation that native code does not follow");
  const View in = denseView(l, op.getOperand(0));
  View out = l.allocate(in.dtype, shape);
  l.setView(op.getResult(0), out);
  if (out.elements() == 0) return {};
  Builder& b = l.b;
  const Split s(shape, static_cast<size_t>(dim));
  Reg first = wrapped(l, b.CreateSExtOrTrunc(amount, b.getInt64Ty()), s.n);
  // Runs of `inner` elements, rotated among `n` rows; the shift depends on k = (position / unit) mod slices.
  const Split k = strided ? Split(shape, static_cast<size_t>(strideDim)) : Split(shape, static_cast<size_t>(dim));
  const int64_t step = strided ? wrapped(integerAttribute(op, "stride", 0), s.n) : 0;
  const auto shiftAt = [&](Reg slice) {
    Reg turned = b.CreateAdd(first, b.CreateMul(b.CreateURem(slice, l.index(s.n)), l.index(step)));
    return strided ? b.CreateURem(turned, l.index(s.n)) : first;
  };
  // Inside a run the shift is the same if the other dimension is the outer one.
  const bool runs = !strided || strideDim < dim;
  const int64_t run = runs ? s.inner : k.inner, runsPerRow = runs ? 1 : s.inner / (k.inner * k.n);
  l.loop(l.index(0), l.index(s.outer), l.index(1), [&](Reg outer) {
    Reg base = b.CreateMul(outer, l.index(s.n * s.inner));
    if (runs) {
      Reg slice = strided ? b.CreateURem(b.CreateUDiv(outer, l.index(k.inner / (s.n * s.inner))), l.index(k.n))
                          : static_cast<Reg>(l.index(0));
      Reg shift = shiftAt(slice), rest = b.CreateSub(l.index(s.n), shift);
      Reg moved = b.CreateMul(shift, l.index(run)), kept = b.CreateMul(rest, l.index(run));
      copyElements(l, in, base, out, b.CreateAdd(base, moved), kept);
      copyElements(l, in, b.CreateAdd(base, kept), out, base, moved);
      return;
    }
    l.loop(l.index(0), l.index(runsPerRow), l.index(1), [&](Reg part) {
      l.loop(l.index(0), l.index(k.n), l.index(1), [&](Reg slice) {
        Reg shift = shiftAt(slice);
        Reg inside = b.CreateAdd(base, b.CreateMul(b.CreateAdd(b.CreateMul(part, l.index(k.n)), slice), l.index(run)));
        l.loop(l.index(0), l.index(s.n), l.index(1), [&](Reg i) {
          Reg to = b.CreateURem(b.CreateAdd(i, shift), l.index(s.n));
          copyElements(l, in, b.CreateAdd(inside, b.CreateMul(i, l.index(s.inner))), out,
                       b.CreateAdd(inside, b.CreateMul(to, l.index(s.inner))), l.index(run));
        });
      });
    });
  });
  return {};
}

/// tpu.dynamic_gather, take_along_axis (S-E17): an index counts through the gathered dimensions, modulo their size.
NativeResult lowerGather(NativeLowering& l, mlir::Operation& op) {
  const Shape shape = shapeOf(op.getResult(0).getType()), from = shapeOf(op.getOperand(0).getType());
  const auto dims = integersAttribute(op, "dimensions");
  const DType indexType = elementDType(op.getOperand(1).getType());
  int64_t total = 1;
  for (const int64_t d : dims) total *= from[static_cast<size_t>(d)];
  const View in = denseView(l, op.getOperand(0)), indices = denseView(l, op.getOperand(1));
  View out = l.allocate(in.dtype, shape);
  l.setView(op.getResult(0), out);
  if (out.elements() == 0) return {};
  Builder& b = l.b;
  if (total == 0) {  // nothing to take from
    l.b.CreateMemSet(out.base, b.getInt8(0), static_cast<uint64_t>(out.elements() * storage_bytes(out.dtype)),
                     llvm::MaybeAlign());
    return {};
  }
  const Shape strides = rowMajorStrides(from);
  const size_t last = shape.size() - 1;
  const auto isGathered = [&](size_t d) { return llvm::is_contained(dims, static_cast<int64_t>(d)); };
  llvm::Type* element = storageType(b.getContext(), in.dtype);
  const llvm::Align align(static_cast<uint64_t>(storage_bytes(in.dtype)));
  const auto row = [&](Reg sourceBase, Reg targetBase) {
    forColumns(l, shape[last], l.processor.lanes(4), [&](Reg start, int lanes, Reg mask) {
      Reg position = b.CreateAdd(targetBase, start);
      // As an unsigned number; a number of fewer than 32 bits is below 2^32 anyway.
      Reg index = loadElements(b, indexType, elementAt(l, indices, position), lanes, mask);
      auto* narrow = b.getInt32Ty();
      auto as = [&](llvm::Type* t) {
        return lanes == 1 ? t : llvm::FixedVectorType::get(t, static_cast<unsigned>(lanes));
      };
      const auto number = [&](llvm::Type* t, int64_t v) { return llvm::ConstantInt::getSigned(as(t), v); };
      if (bit_width(indexType) > 32)
        index = b.CreateTrunc(b.CreateURem(index, number(index->getType()->getScalarType(), total)), as(narrow));
      else
        index = b.CreateURem(b.CreateZExt(index, as(narrow)), number(narrow, total));
      Reg offset = number(b.getInt64Ty(), 0);
      for (size_t g = dims.size(); g-- > 0;) {
        const auto d = static_cast<size_t>(dims[g]);
        Reg part = g == 0 ? index : b.CreateURem(index, number(narrow, from[d]));
        offset = b.CreateAdd(offset,
                             b.CreateMul(b.CreateZExt(part, as(b.getInt64Ty())), number(b.getInt64Ty(), strides[d])));
        if (g > 0) index = b.CreateUDiv(index, number(narrow, from[d]));
      }
      if (!isGathered(last)) {
        llvm::SmallVector<llvm::Constant*, 64> lane;
        for (int k = 0; k < lanes; ++k) lane.push_back(b.getInt64(static_cast<uint64_t>(k)));
        Reg column = lanes == 1 ? start : b.CreateAdd(splat(b, start, lanes), llvm::ConstantVector::get(lane));
        offset = b.CreateAdd(offset, column);
      }
      Reg pointers = b.CreateGEP(element, elementAt(l, in, sourceBase), offset);
      Reg target = elementAt(l, out, position);
      if (lanes == 1) {
        b.CreateAlignedStore(b.CreateAlignedLoad(element, pointers, align), target, align);
        return;
      }
      Reg on = mask ? mask : b.CreateVectorSplat(static_cast<unsigned>(lanes), b.getTrue());
      Reg picked = b.CreateMaskedGather(as(element), pointers, align, on, llvm::Constant::getNullValue(as(element)));
      if (mask)
        b.CreateMaskedStore(picked, target, align, mask);
      else
        b.CreateAlignedStore(picked, target, align);
    });
  };
  std::function<void(size_t, Reg, Reg)> walk = [&](size_t d, Reg sourceBase, Reg targetBase) {
    if (d == last) return row(sourceBase, targetBase);
    l.loop(l.index(0), l.index(shape[d]), l.index(1), [&](Reg i) {
      int64_t step = 1;
      for (size_t k = d + 1; k < shape.size(); ++k) step *= shape[k];
      Reg source = isGathered(d) ? sourceBase : b.CreateAdd(sourceBase, b.CreateMul(i, l.index(strides[d])));
      walk(d + 1, source, b.CreateAdd(targetBase, b.CreateMul(i, l.index(step))));
    });
  };
  walk(0, l.index(0), l.index(0));
  return {};
}

constexpr std::array<NativeOpRow, 2> kRotateGatherOps{{
    {"tpu.dynamic_gather", lowerGather},
    {"tpu.dynamic_rotate", lowerRotate},
}};

}  // namespace

std::span<const NativeOpRow> rotateGatherOps() { return kRotateGatherOps; }

}  // namespace smalti::cpu
