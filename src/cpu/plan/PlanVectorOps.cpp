// Ops on whole vectors that no nest computes: they need their operands in memory, and most leave a new value there.
#include <algorithm>
#include <array>

#include "cpu/ops/NativeOps.h"
#include "cpu/plan/BodyPlanner.h"
#include "cpu/plan/product/ConcatOperand.h"
#include "cpu/rewrite/RoundInProducts.h"
#include "cpu/rewrite/UnwrittenLoads.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"

namespace smalti::cpu {
namespace {

using schedule::isVector;

MemoryView newValue(mlir::Value v) { return BodyPlanner::allocate(elementDType(v.getType()), shapeOf(v.getType())); }

/// Sets the result, if it is a vector, to memory of its own.
NativeResult makesNewValue(BodyPlanner& p, mlir::Operation& op) {
  if (isVector(op.getResult(0))) p.setView(op.getResult(0), newValue(op.getResult(0)));
  return {};
}

/// The operand's memory, which nothing overwrites during the lifetime of the result.
MemoryView stableView(BodyPlanner& p, mlir::Value v) {
  MemoryView view = p.view(v);
  if (view.memory == MemoryView::kValue) return view;
  if (!isUnwrittenLoad(v)) return BodyPlanner::denseCopy(view);
  view.memory = MemoryView::kValue;
  view.forgetBlock();
  return view;
}

NativeResult planShapeCast(BodyPlanner& p, mlir::Operation& op) {
  const Shape to = shapeOf(op.getResult(0).getType());
  p.flush();
  const MemoryView source = isReadInPlace(op) ? p.view(op.getOperand(0)) : stableView(p, op.getOperand(0));
  const auto view = reshape(source, to);
  p.setView(op.getResult(0), view ? *view : *reshape(BodyPlanner::denseCopy(source), to));
  return {};
}

NativeResult planExtractSlice(BodyPlanner& p, mlir::Operation& op) {
  p.flush();
  const MemoryView source = stableView(p, op.getOperand(0));
  const Shape sizes = shapeOf(op.getResult(0).getType());
  auto steps = integersAttribute(op, "strides");
  steps.resize(sizes.size(), 1);
  p.setView(op.getResult(0), slice(source, sizes, steps));
  return {};
}

NativeResult planExtract(BodyPlanner& p, mlir::Operation& op) {
  p.flush();
  const auto positions = integersAttribute(op, "static_position");
  MemoryView view = stableView(p, op.getOperand(0));
  const auto leading = static_cast<ptrdiff_t>(positions.size());
  view.shape.erase(view.shape.begin(), view.shape.begin() + leading);
  view.strides.erase(view.strides.begin(), view.strides.begin() + leading);
  if (isVector(op.getResult(0))) p.setView(op.getResult(0), std::move(view));
  return {};
}

NativeResult planTranspose(BodyPlanner& p, mlir::Operation& op) {
  p.flush();
  const mlir::Value from = op.getOperand(0);
  if (isReadInRows(op) && (p.view(from).memory == MemoryView::kValue || isUnwrittenLoad(from))) {
    p.setView(op.getResult(0), ordered(stableView(p, from), integersAttribute(op, "permutation")));
    return {};
  }
  p.view(from);
  return makesNewValue(p, op);
}

/// The operands that are vectors are read from memory; the result is new memory.
NativeResult planFromMemory(BodyPlanner& p, mlir::Operation& op) {
  p.flush();
  for (const mlir::Value v : op.getOperands())
    if (isVector(v)) p.view(v);
  return makesNewValue(p, op);
}

/// Does the same for ops that src/eval computes in some forms.
template <bool (*isNative)(mlir::Operation&)>
NativeResult planFromMemoryIf(BodyPlanner& p, mlir::Operation& op) {
  return isNative(op) ? planFromMemory(p, op) : p.planInterpreted(op);
}

NativeResult planConcatenate(BodyPlanner& p, mlir::Operation& op) {
  if (!isReadInBlocks(op)) return planFromMemory(p, op);
  p.flush();
  for (const mlir::Value block : op.getOperands()) p.concatOperands[op.getResult(0)].push_back(p.view(block));
  return {};
}

constexpr std::array<PlanOpRow, 12> kVectorTable{{
    {"vector.shape_cast", planShapeCast},
    {"vector.extract_strided_slice", planExtractSlice},
    {"vector.extract", planExtract},
    {"vector.transpose", planTranspose},
    {"tpu.transpose", planTranspose},
    {"tpu.concatenate", planConcatenate},
    {"vector.multi_reduction", planFromMemoryIf<isNativeMultiReduction>},
    {"tpu.reduce_index", planFromMemoryIf<isNativeArgReduction>},
    {"tpu.dynamic_rotate", planFromMemory},
    {"tpu.dynamic_gather", planFromMemory},
    {"tpu.iota", planFromMemoryIf<isNativeIota>},
    {"tpu.bitcast", planFromMemoryIf<isNativeBitcast>},
}};

}  // namespace

std::span<const PlanOpRow> plannedVectorOps() { return kVectorTable; }

}  // namespace smalti::cpu
