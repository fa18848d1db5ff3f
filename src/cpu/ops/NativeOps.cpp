#include "cpu/ops/NativeOps.h"

#include <algorithm>

#include "cpu/ops/ElementwiseOps.h"
#include "cpu/ops/NativeDTypes.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "schedule/ScheduledOp.h"

namespace smalti::cpu {
namespace {

std::optional<eval::ReduceKind> kindOf(mlir::Operation& op) {
  if (!llvm::isa<mlir::vector::MultiDimReductionOp>(op)) return std::nullopt;
  return eval::reduceKindFromName(keywordAttribute(op, "kind"));
}

bool exists(eval::ReduceKind kind, DType t) {
  using K = eval::ReduceKind;
  const bool floats = kind == K::add || kind == K::mul || kind == K::maximumf || kind == K::minimumf;
  const bool integers = kind != K::maximumf && kind != K::minimumf;
  return (floats && isRegisterFloat(t)) || (integers && computesNatively(t) && is_integer(t));
}

}  // namespace

eval::ReduceKind reductionKind(mlir::Operation& op) { return *kindOf(op); }

std::optional<eval::ReduceKind> nativeReductionKind(mlir::Operation& op) {
  const auto kind = kindOf(op);
  return kind && exists(*kind, elementDType(op.getOperand(0).getType())) ? kind : std::nullopt;
}

bool isNativeReduction(mlir::Operation& op) {
  const auto kind = kindOf(op);
  if (!kind || !llvm::isa<mlir::VectorType>(op.getResult(0).getType())) return false;
  const DType t = elementDType(op.getOperand(0).getType());
  if (!exists(*kind, t) || num_elements(shapeOf(op.getOperand(0).getType())) == 0) return false;
  // Sums of narrow floats are not rounded before the end, but accumulations are stored; maxima and minima are exact.
  const bool isExact = t == DType::f32 || !isRegisterFloat(t) || kind == eval::ReduceKind::maximumf ||
                       kind == eval::ReduceKind::minimumf;
  return schedule::isRowReduction(op) || (isExact && schedule::isSplatConstant(op.getOperand(1)));
}

bool isNestable(mlir::Operation& op) {
  if (op.getNumResults() != 1 || !schedule::isVector(op.getResult(0)) || op.getNumRegions() != 0) return false;
  if (shapeOf(op.getResult(0).getType()).empty()) return false;
  return schedule::isRematerializableShapeOp(op) || isNativeElementwise(op) || isNativeReduction(op);
}

bool isNativeBitcast(mlir::Operation& op) {
  const DType from = elementDType(op.getOperand(0).getType()), to = elementDType(op.getResult(0).getType());
  const auto hasParts = [](DType t) { return bit_width(t) >= 2 && !is_semaphore(t); };
  return bit_width(from) != bit_width(to) && hasParts(from) && hasParts(to) &&
         shapeOf(op.getOperand(0).getType()).size() >= 2;
}

bool isNativeIota(mlir::Operation& op) {
  const DType t = elementDType(op.getResult(0).getType());
  const auto rank = static_cast<int64_t>(shapeOf(op.getResult(0).getType()).size());
  return is_integer(t) && computesNatively(t) && rank > 0 &&
         llvm::all_of(integersAttribute(op, "dimensions"), [&](int64_t d) { return d >= 0 && d < rank; });
}

bool isNativeMultiReduction(mlir::Operation& op) {
  const auto rank = static_cast<int64_t>(shapeOf(op.getOperand(0).getType()).size());
  auto dims = integersAttribute(op, "reduction_dims");
  llvm::sort(dims);
  return nativeReductionKind(op) && !dims.empty() && dims.front() >= 0 && dims.back() < rank &&
         std::ranges::adjacent_find(dims) == dims.end();
}

bool isNativeArgReduction(mlir::Operation& op) {
  const Shape shape = shapeOf(op.getOperand(0).getType());
  const DType in = elementDType(op.getOperand(0).getType()), out = elementDType(op.getResult(0).getType());
  const int64_t axis = integerAttribute(op, "axis", -1);
  const std::string kind = keywordAttribute(op, "kind");
  return (kind == "arg_max" || kind == "arg_min") && axis >= 0 && axis < static_cast<int64_t>(shape.size()) &&
         computesNatively(in) && !is_unsigned_integer(in) && is_integer(out) && computesNatively(out) &&
         bit_width(out) <= 32 && shape[static_cast<size_t>(axis)] <= INT32_MAX;
}

}  // namespace smalti::cpu
