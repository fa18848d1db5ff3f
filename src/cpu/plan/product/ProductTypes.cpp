#include "cpu/plan/product/ProductTypes.h"

#include "cpu/ops/NativeDTypes.h"
#include "ir/Types.h"

namespace smalti::cpu {

bool multiplies(DType a, DType b, DType c) {
  const auto isFloat = [](DType t) { return t == DType::f32 || isNarrowFloat(t); };
  if (isFloat(a) && isFloat(b)) return isFloat(c);
  return a == DType::i8 && b == DType::i8 && c == DType::i32;
}

DType multipliedAs(DType t, DType other, DType out) {
  if (isSmallFloat(t) || (is_integer(t) && !(is_integer(other) && is_integer(out)))) return DType::f32;
  return t == DType::i2 || t == DType::i4 ? DType::i8 : t;
}

DType accumulatedAs(DType out) { return isNarrowFloat(out) ? DType::f32 : out; }

bool isNativeProduct(mlir::Operation& matmul) {
  const DType lhs = elementDType(matmul.getOperand(0).getType()), rhs = elementDType(matmul.getOperand(1).getType());
  const DType out = elementDType(matmul.getResult(0).getType());
  return multiplies(multipliedAs(lhs, rhs, out), multipliedAs(rhs, lhs, out), out) &&
         elementDType(matmul.getOperand(2).getType()) == out;
}

std::optional<ProductSide> productSide(std::span<const int64_t> shape, const Shape& batch, const Shape& free,
                                       const Shape& contracting) {
  ProductSide side;
  side.batch = batch;
  const auto only = [&](const Shape& dims, int64_t& out) {
    for (const int64_t d : dims) {
      if (shape[static_cast<size_t>(d)] == 1) continue;
      if (out >= 0) return false;
      out = d;
    }
    return true;
  };
  if (!only(free, side.free) || !only(contracting, side.contracting)) return std::nullopt;
  return side;
}

MergedOperand mergedOperand(std::span<const int64_t> shape, const Shape& batch, const Shape& free,
                            const Shape& contracting) {
  MergedOperand m;
  const auto append = [&](const Shape& dims) {
    int64_t size = 1;
    for (const int64_t d : dims) {
      m.order.push_back(d);
      size *= shape[static_cast<size_t>(d)];
    }
    return size;
  };
  append(batch);
  for (size_t d = 0; d < batch.size(); ++d) {
    m.side.batch.push_back(static_cast<int64_t>(d));
    m.shape.push_back(shape[static_cast<size_t>(batch[d])]);
  }
  m.side.free = static_cast<int64_t>(batch.size());
  m.side.contracting = m.side.free + 1;
  m.shape.push_back(append(free));
  m.shape.push_back(append(contracting));
  return m;
}

size_t freePosition(std::span<const int64_t> shape, const Shape& free) {
  for (size_t i = 0; i < free.size(); ++i)
    if (shape[static_cast<size_t>(free[i])] != 1) return i;
  return 0;
}

}  // namespace smalti::cpu
