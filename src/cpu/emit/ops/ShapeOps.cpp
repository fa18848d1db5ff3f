// Shape ops on whole vectors: the result is a view of the operand's memory, or a copy.
#include <algorithm>
#include <array>

#include "cpu/emit/ops/OpTables.h"
#include "cpu/plan/product/ConcatOperand.h"
#include "cpu/rewrite/RoundInProducts.h"
#include "cpu/rewrite/UnwrittenLoads.h"

namespace smalti::cpu {
namespace {

/// A view of the operand that nothing overwrites while the result lives. The memory of a ref that the kernel writes to
/// is therefore copied.
View stableView(NativeLowering& l, mlir::Value v) {
  View view = l.view(v);
  if (view.memory == View::kValue) return view;
  if (!isUnwrittenLoad(v)) return l.denseCopy(view);
  view.memory = View::kValue;
  view.forgetBlock();
  return view;
}

NativeResult lowerShapeCast(NativeLowering& l, mlir::Operation& op) {
  const Shape to = shapeOf(op.getResult(0).getType());
  View source = isReadInPlace(op) ? l.view(op.getOperand(0)) : stableView(l, op.getOperand(0));
  auto view = reshape(l.b, source, to);
  if (!view) view = reshape(l.b, l.denseCopy(source), to);
  l.setView(op.getResult(0), *view);
  return {};
}

NativeResult lowerExtractSlice(NativeLowering& l, mlir::Operation& op) {
  const View source = stableView(l, op.getOperand(0));
  const Shape sizes = shapeOf(op.getResult(0).getType());
  auto offsets = integersAttribute(op, "offsets"), steps = integersAttribute(op, "strides");
  offsets.resize(sizes.size(), 0);
  steps.resize(sizes.size(), 1);
  std::vector<Reg> starts;
  for (int64_t o : offsets) starts.push_back(l.index(o));
  l.setView(op.getResult(0), slice(l.b, source, starts, sizes, steps));
  return {};
}

/// The element, or the trailing dimensions, at the given leading positions.
NativeResult lowerExtract(NativeLowering& l, mlir::Operation& op) {
  const auto positions = integersAttribute(op, "static_position");
  View source = stableView(l, op.getOperand(0));
  std::vector<Reg> starts(source.shape.size(), l.index(0));
  unsigned dynamic = 1;
  for (size_t d = 0; d < positions.size() && d < source.shape.size(); ++d) {
    if (positions[d] == kDynamicSize) {
      starts[d] = dynamic < op.getNumOperands() ? l.scalar(op.getOperand(dynamic++)) : nullptr;
      if (!starts[d]) return unsupported("a position that native code does not follow");
      l.require(l.b.CreateICmpULT(starts[d], l.index(source.shape[d])));
      continue;
    }
    starts[d] = l.index(positions[d]);
  }
  source.base = elementPointer(l.b, source, starts);
  source.shape.erase(source.shape.begin(), source.shape.begin() + static_cast<ptrdiff_t>(positions.size()));
  source.strides.erase(source.strides.begin(), source.strides.begin() + static_cast<ptrdiff_t>(positions.size()));
  if (llvm::isa<mlir::VectorType>(op.getResult(0).getType()))
    l.setView(op.getResult(0), source);
  else
    l.setScalar(op.getResult(0), loadElements(l.b, source.dtype, source.base, 1));
  return {};
}

NativeResult lowerTranspose(NativeLowering& l, mlir::Operation& op) {
  const auto permutation = integersAttribute(op, "permutation");
  const View source = l.view(op.getOperand(0));
  if (isReadInRows(op) && (source.memory == View::kValue || isUnwrittenLoad(op.getOperand(0)))) {
    l.setView(op.getResult(0), ordered(stableView(l, op.getOperand(0)), permutation));
    return {};
  }
  const View turned = ordered(source, permutation);
  View result = l.allocate(turned.dtype, turned.shape);
  l.copy(turned, result);
  l.setView(op.getResult(0), std::move(result));
  return {};
}

NativeResult lowerConcatenate(NativeLowering& l, mlir::Operation& op) {
  if (isReadInBlocks(op)) {
    for (mlir::Value block : op.getOperands()) l.concatOperands[op.getResult(0)].push_back(l.view(block));
    return {};
  }
  const auto dimension = static_cast<size_t>(integerAttribute(op, "dimension", -1));
  View result = l.allocate(elementDType(op.getResult(0).getType()), shapeOf(op.getResult(0).getType()));
  int64_t at = 0;
  for (mlir::Value v : op.getOperands()) {
    const View part = l.view(v);
    std::vector<Reg> starts(result.shape.size(), l.index(0));
    starts[dimension] = l.index(at);
    at += part.shape[dimension];
    l.copy(part, slice(l.b, result, starts, part.shape));
  }
  l.setView(op.getResult(0), std::move(result));
  return {};
}

constexpr std::array<NativeOpRow, 6> kShapeOps{{
    {"vector.shape_cast", lowerShapeCast},
    {"vector.extract_strided_slice", lowerExtractSlice},
    {"vector.extract", lowerExtract},
    {"vector.transpose", lowerTranspose},
    {"tpu.transpose", lowerTranspose},
    {"tpu.concatenate", lowerConcatenate},
}};

}  // namespace

std::span<const NativeOpRow> shapeOps() { return kShapeOps; }

}  // namespace smalti::cpu
