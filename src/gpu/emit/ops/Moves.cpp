// Ops whose elements are elements of their operands: reshapes, broadcasts, slices, rotations, gathers, bitcasts.
#include "gpu/emit/Bits.h"
#include "gpu/emit/GpuLowering.h"
#include "ir/TpuOpsShape.h"
#include "llvm/ADT/StringSwitch.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "schedule/UnitDims.h"

namespace smalti::gpu {
namespace {

int64_t wrapped(int64_t i, int64_t n) { return ((i % n) + n) % n; }
/// i mod n of a signed i64, in [0, n).
Reg wrapped(GpuLowering& l, Reg i, int64_t n) {
  Reg rest = l.b.CreateSRem(i, l.index(n));
  return l.b.CreateSelect(l.b.CreateICmpSLT(rest, l.index(0)), l.b.CreateAdd(rest, l.index(n)), rest);
}

Shape operandShape(mlir::Operation& op) { return shapeOf(op.getOperand(0).getType()); }
Shape resultShape(mlir::Operation& op) { return shapeOf(op.getResult(0).getType()); }

Reg broadcast(GpuLowering& l, mlir::Operation& op, const ElementIndex& at) {
  if (!isVector(op.getOperand(0))) return l.element(op.getOperand(0), {});
  const Shape from = operandShape(op);
  ElementIndex inner;
  for (size_t d = 0; d < from.size(); ++d) inner.push_back(from[d] == 1 ? l.index(0) : at[d + at.size() - from.size()]);
  return l.element(op.getOperand(0), inner);
}

Reg shapeCast(GpuLowering& l, mlir::Operation& op, const ElementIndex& at) {
  const Shape from = operandShape(op), to = resultShape(op);
  if (const auto source = smalti::schedule::unitReshape(to, from)) {
    ElementIndex inner;
    for (const int d : *source) inner.push_back(d < 0 ? l.index(0) : at[static_cast<size_t>(d)]);
    return l.element(op.getOperand(0), inner);
  }
  return l.element(op.getOperand(0), l.placeOf(l.linearOf(at, to), from));
}

Reg extractSlice(GpuLowering& l, mlir::Operation& op, const ElementIndex& at) {
  auto offsets = integersAttribute(op, "offsets"), steps = integersAttribute(op, "strides");
  offsets.resize(at.size(), 0);
  steps.resize(at.size(), 1);
  const Shape from = operandShape(op);
  ElementIndex inner;
  for (size_t d = 0; d < at.size(); ++d)
    inner.push_back(from[d] == 1 ? l.index(0)
                                 : l.b.CreateAdd(l.b.CreateMul(at[d], l.index(steps[d])), l.index(offsets[d])));
  return l.element(op.getOperand(0), inner);
}

Reg transpose(GpuLowering& l, mlir::Operation& op, const ElementIndex& at) {
  const auto permutation = integersAttribute(op, "permutation");
  ElementIndex inner(at.size(), l.index(0));
  for (size_t d = 0; d < at.size(); ++d) inner[static_cast<size_t>(permutation[d])] = at[d];
  return l.element(op.getOperand(0), inner);
}

/// The row-major index of the position along the dimensions.
Reg iota(GpuLowering& l, mlir::Operation& op, const ElementIndex& at) {
  const Shape shape = resultShape(op);
  Reg number = l.index(0);
  for (const int64_t d : integersAttribute(op, "dimensions"))
    number = l.b.CreateAdd(l.b.CreateMul(number, l.index(shape[static_cast<size_t>(d)])), at[static_cast<size_t>(d)]);
  return l.b.CreateZExtOrTrunc(number, cpu::registerType(l.b.getContext(), elementDType(op.getResult(0).getType()), 1));
}

/// tpu.dynamic_rotate (S-E16): out[(i + shift) mod n] = in[i] along a dimension; index k of another one may add
/// k·stride to the shift.
Reg rotate(GpuLowering& l, mlir::Operation& op, const ElementIndex& at) {
  const Shape shape = resultShape(op);
  const auto dim = static_cast<size_t>(integerAttribute(op, "dimension", 0));
  const int64_t n = shape[dim];
  Reg shift = wrapped(l, l.b.CreateSExtOrTrunc(l.scalar(op.getOperand(1)), l.b.getInt64Ty()), n);
  if (op.hasAttr("stride") && op.hasAttr("stride_dimension")) {
    const auto other = static_cast<size_t>(integerAttribute(op, "stride_dimension", 0));
    Reg more =
        l.b.CreateMul(l.b.CreateURem(at[other], l.index(n)), l.index(wrapped(integerAttribute(op, "stride", 0), n)));
    shift = l.b.CreateURem(l.b.CreateAdd(shift, more), l.index(n));
  }
  ElementIndex inner = at;
  inner[dim] = l.b.CreateURem(l.b.CreateSub(l.b.CreateAdd(at[dim], l.index(n)), shift), l.index(n));
  return l.element(op.getOperand(0), inner);
}

/// tpu.dynamic_gather, take_along_axis (S-E17): an index counts through the gathered dimensions, modulo their size.
Reg gather(GpuLowering& l, mlir::Operation& op, const ElementIndex& at) {
  const Shape from = operandShape(op);
  const auto dims = integersAttribute(op, "dimensions");
  Reg index = l.element(op.getOperand(1), at);
  if (!index) return nullptr;
  int64_t total = 1;
  for (const int64_t d : dims) total *= from[static_cast<size_t>(d)];
  index = l.b.CreateURem(l.b.CreateZExt(index, l.b.getInt64Ty()), l.index(total));
  if (bit_width(elementDType(op.getOperand(1).getType())) > 32) return l.refuse("a gather by indices of 64 bits");
  ElementIndex inner = at;
  for (size_t g = dims.size(); g-- > 0;) {
    const auto d = static_cast<size_t>(dims[g]);
    inner[d] = g == 0 ? index : l.b.CreateURem(index, l.index(from[d]));
    if (g > 0) index = l.b.CreateUDiv(index, l.index(from[d]));
  }
  return l.element(op.getOperand(0), inner);
}

/// tpu.bitcast between widths (S-D8): narrow row r·k + j holds the j-th part of wide row r.
Reg bitcast(GpuLowering& l, mlir::Operation& op, const ElementIndex& at) {
  const DType from = elementDType(op.getOperand(0).getType()), to = elementDType(op.getResult(0).getType());
  const int64_t in = bit_width(from), out = bit_width(to);
  const size_t row = at.size() - 2;
  ElementIndex inner = at;
  if (in > out) {
    const int64_t parts = in / out;
    inner[row] = l.b.CreateUDiv(at[row], l.index(parts));
    Reg word = l.element(op.getOperand(0), inner);
    if (!word) return nullptr;
    word = bitsOf(l.b, from, word);
    Reg shift = l.b.CreateMul(l.b.CreateURem(at[row], l.index(parts)), l.index(out));
    Reg part = l.b.CreateLShr(word, l.b.CreateZExtOrTrunc(shift, word->getType()));
    return fromBits(l.b, to, l.b.CreateTrunc(part, l.b.getIntNTy(static_cast<unsigned>(out))));
  }
  const int64_t parts = out / in;
  llvm::Type* type = l.b.getIntNTy(static_cast<unsigned>(out));
  Reg word = llvm::Constant::getNullValue(type);
  for (int64_t j = 0; j < parts; ++j) {
    inner[row] = l.b.CreateAdd(l.b.CreateMul(at[row], l.index(parts)), l.index(j));
    Reg part = l.element(op.getOperand(0), inner);
    if (!part) return nullptr;
    word =
        l.b.CreateOr(word, l.b.CreateShl(l.b.CreateZExt(bitsOf(l.b, from, part), type), static_cast<uint64_t>(j * in)));
  }
  return fromBits(l.b, to, word);
}

// ---- checks of supported forms

NativeResult checkDimensions(mlir::Operation& op) {
  const Shape shape = resultShape(op);
  for (const int64_t d : integersAttribute(op, "dimensions"))
    if (d < 0 || d >= static_cast<int64_t>(shape.size())) return unsupported("an iota of an unknown form");
  const DType t = elementDType(op.getResult(0).getType());
  return is_integer(t) && cpu::computesNatively(t) ? NativeResult() : unsupported("an iota of this dtype");
}

NativeResult checkPermutation(mlir::Operation& op) {
  const auto permutation = integersAttribute(op, "permutation");
  std::vector<bool> seen(operandShape(op).size(), false);
  for (const int64_t d : permutation) {
    if (d < 0 || d >= static_cast<int64_t>(seen.size()) || seen[static_cast<size_t>(d)])
      return unsupported("a transpose of an unknown form");
    seen[static_cast<size_t>(d)] = true;
  }
  return permutation.size() == seen.size() ? NativeResult() : unsupported("a transpose of an unknown form");
}

NativeResult checkRotation(GpuLowering& l, mlir::Operation& op) {
  const auto rank = static_cast<int64_t>(resultShape(op).size());
  const int64_t dim = integerAttribute(op, "dimension", -1);
  const bool strided = op.hasAttr("stride") && op.hasAttr("stride_dimension");
  const int64_t other = strided ? integerAttribute(op, "stride_dimension", -1) : -1;
  if (dim < 0 || dim >= rank || other >= rank || other == dim || (strided && other < 0) || !l.scalar(op.getOperand(1)))
    return unsupported("a rotation of an unknown form");
  return {};
}

NativeResult checkGather(mlir::Operation& op) {
  const Shape shape = resultShape(op), from = operandShape(op);
  const auto dims = integersAttribute(op, "dimensions");
  const DType indexType = elementDType(op.getOperand(1).getType());
  if (shapeOf(op.getOperand(1).getType()) != shape || from.size() != shape.size() || dims.empty() ||
      !is_integer(indexType) || bit_width(indexType) > 32 || !cpu::computesNatively(indexType))
    return unsupported("a gather of an unknown form");
  int64_t total = 1;
  for (const int64_t d : dims) {
    if (d < 0 || d >= static_cast<int64_t>(shape.size())) return unsupported("a gather of an unknown form");
    total *= from[static_cast<size_t>(d)];
  }
  for (size_t d = 0; d < shape.size(); ++d)
    if (!llvm::is_contained(dims, static_cast<int64_t>(d)) && from[d] != shape[d])
      return unsupported("a gather of an unknown form");
  return total > 0 ? NativeResult() : unsupported("a gather from nothing");
}

NativeResult checkBitcast(mlir::Operation& op) {
  const DType from = elementDType(op.getOperand(0).getType()), to = elementDType(op.getResult(0).getType());
  if (!cpu::computesNatively(from) || !cpu::computesNatively(to)) return unsupported("a bitcast of this dtype");
  const int64_t in = bit_width(from), out = bit_width(to);
  const bool fits = in > out ? in % out == 0 : out % in == 0;
  return fits && operandShape(op).size() >= 2 ? NativeResult() : unsupported("a bitcast of an unknown form");
}

bool changesWidth(mlir::Operation& op) {
  return bit_width(elementDType(op.getOperand(0).getType())) != bit_width(elementDType(op.getResult(0).getType()));
}

using Element = Reg (*)(GpuLowering&, mlir::Operation&, const ElementIndex&);
Element elementOf(mlir::Operation& op) {
  const Element found = llvm::StringSwitch<Element>(op.getName().getStringRef())
                            .Case("vector.broadcast", broadcast)
                            .Case("vector.shape_cast", shapeCast)
                            .Case("vector.extract_strided_slice", extractSlice)
                            .Cases({"vector.transpose", "tpu.transpose"}, transpose)
                            .Case("tpu.iota", iota)
                            .Case("tpu.dynamic_rotate", rotate)
                            .Case("tpu.dynamic_gather", gather)
                            .Case("tpu.bitcast", bitcast)
                            .Default(nullptr);
  return found == bitcast && !changesWidth(op) ? nullptr : found;
}

}  // namespace

bool movesElementsHere(mlir::Operation& op) { return elementOf(op) != nullptr; }

NativeResult checkMove(GpuLowering& l, mlir::Operation& op) {
  const Element f = elementOf(op);
  if (f == iota) return checkDimensions(op);
  if (f == transpose) return checkPermutation(op);
  if (f == rotate) return checkRotation(l, op);
  if (f == gather) return checkGather(op);
  if (f == bitcast) return checkBitcast(op);
  return {};
}

Reg movedElement(GpuLowering& l, mlir::Operation& op, const ElementIndex& at) { return elementOf(op)(l, op, at); }

}  // namespace smalti::gpu
