#include "tpu/Products.h"

#include "base/Arithmetic.h"
#include "ir/Types.h"
#include "tpu/Registers.h"
#include "tpu/Tiling.h"

namespace smalti::tpu {
namespace {

int64_t scaled(int64_t x, double by) { return static_cast<int64_t>(static_cast<double>(x) * by); }

/// The form in which matrix units need the operand; nullopt if they read it from VMEM unchanged.
std::optional<ArrayType> copyOf(ArrayType operand, const Chip& chip) {
  switch (operand.dtype) {
    case DType::bf16:
      return operand;
    case DType::f8e4m3fn:
    case DType::f8e5m2:
      return chip.mxu.fp8TflopsPerChip > 1.5 * chip.mxu.bf16TflopsPerChip ? std::nullopt : std::optional(operand);
    case DType::i8:
    case DType::u8:
    case DType::i4:
    case DType::u4:
      if (chip.mxu.int8TopsPerChip > 0) return std::nullopt;
      operand.dtype = DType::bf16;
      return operand;
    default:
      return std::nullopt;
  }
}

}  // namespace

ProductNeed needOf(MatmulOp matmul, bool added, const Chip& chip) {
  const auto lhs = arrayTypeOf(matmul.getLhs().getType()), result = arrayTypeOf(matmul.getType());
  if (!lhs || !result || lhs->shape.size() < 2 || result->shape.size() < 2) return {};
  const auto matrix = [](const ArrayType& t, DType dtype) {  // one of a batch
    return ArrayType{dtype, {t.shape[t.shape.size() - 2], t.shape.back()}};
  };
  const int64_t rows = result->shape[result->shape.size() - 2], columns = result->shape.back();
  const int64_t depth = lhs->shape[lhs->shape.size() - 2] * lhs->shape.back() / std::max<int64_t>(1, rows);
  const int64_t tiles = ceilDiv(columns, chip.mxu.size);
  const bool deep = depth > chip.spills.productDepth;

  ProductNeed need;
  need.sums = registersOf(ArrayType{DType::f32, {rows, std::min(columns, chip.mxu.size)}});
  if (need.sums <= chip.spills.sumRegisters) need.sums = 0;
  const bool first = chip.spills.shallowCopies;  // operands are copied first, and sums wait for their store
  const auto copy = copyOf(matrix(*lhs, lhs->dtype), chip);
  const bool waits = !added && first && tiles > 1 && copy;
  const int64_t times = chip.spills.sumRegisters > 0 ? 1 : (deep ? 1 : 0) + (waits ? 1 : 0);
  need.sums = scaled(need.sums * times, copy && tiles == 2 && (!first || !added) ? 0.6 : 1);
  if (copy && tiles >= chip.spills.copiesFromTiles && (deep || first || copy->dtype != lhs->dtype))
    need.operand = registersOf(*copy);
  return need;
}

}  // namespace smalti::tpu
