// tpu.matmul: dot_general plus an accumulator (S-E2…S-E4).
#include <algorithm>
#include <cstring>

#include "eval/Contract.h"
#include "machine/Shadow.h"
#include "machine/flat/ops/Matmul.h"
#include "machine/flat/ops/Table.h"

namespace smalti::machine::flat {

eval::DotNumerics numericsOf(const CompileOptions& options, std::string_view precision) {
  if (!options.tpuNumerics) return eval::DotNumerics::full;
  if (precision == "fp32") return eval::DotNumerics::bf16x6;
  if (precision == "bf16x3") return eval::DotNumerics::bf16x3;
  return eval::DotNumerics::bf16x1;
}

namespace {

struct Matmul : Payload {
  Operand lhs, rhs, acc, out;
  DotDimensions dims;
  eval::DotNumerics numerics = eval::DotNumerics::full;
  void run(Frame& frame) const {
    eval::dotGeneral(frame.input(lhs), frame.input(rhs), viewOf(dims), frame.input(acc), frame.output(out), numerics);
    frame.setDefined(out);
    if (frame.mask(lhs) || frame.mask(rhs) || frame.mask(acc)) [[unlikely]]
      mask(frame);
  }
  void mask(Frame& frame) const {
    uint8_t* result = frame.newMask(out);
    const int64_t n = out.stored();
    const uint8_t* accMask = frame.mask(acc);
    for (int64_t k = 0; k < n; ++k) result[k] = !accMask || accMask[acc.splat ? 0 : k];
    if (frame.mask(lhs) || frame.mask(rhs))
      eval::dotGeneralMask(dense(frame, lhs, 0), lhs.shape, dense(frame, rhs, 1), rhs.shape, viewOf(dims), result, n);
    frame.tidyMask(out);
  }
  /// The operand's mask, spread out when it is a splat; null when all is defined.
  static const uint8_t* dense(Frame& frame, const Operand& o, int temporary) {
    const uint8_t* mask = frame.mask(o);
    if (!mask || !o.splat) return mask;
    auto* all = reinterpret_cast<uint8_t*>(frame.temporary(temporary, o.elements()));
    std::memset(all, *mask, static_cast<size_t>(o.elements()));
    return all;
  }
};

/// Each dimension of an operand appears once, in one of its three lists.
bool partition(size_t rank, const Shape& a, const Shape& b, const Shape& c) {
  Shape all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  std::sort(all.begin(), all.end());
  for (size_t d = 0; d < all.size(); ++d)
    if (all[d] != static_cast<int64_t>(d)) return false;
  return all.size() == rank;
}

std::optional<Shape> resultShape(const DotDimensions& d, const Shape& lhs, const Shape& rhs) {
  if (!partition(lhs.size(), d.lhsContracting, d.lhsFree, d.lhsBatch) ||
      !partition(rhs.size(), d.rhsContracting, d.rhsFree, d.rhsBatch) ||
      d.lhsContracting.size() != d.rhsContracting.size() || d.lhsBatch.size() != d.rhsBatch.size())
    return std::nullopt;
  const auto size = [](const Shape& shape, int64_t dim) { return shape[static_cast<size_t>(dim)]; };
  Shape result;
  for (size_t k = 0; k < d.lhsContracting.size(); ++k)
    if (size(lhs, d.lhsContracting[k]) != size(rhs, d.rhsContracting[k])) return std::nullopt;
  for (size_t k = 0; k < d.lhsBatch.size(); ++k) {
    if (size(lhs, d.lhsBatch[k]) != size(rhs, d.rhsBatch[k])) return std::nullopt;
    result.push_back(size(lhs, d.lhsBatch[k]));
  }
  for (int64_t dim : d.lhsFree) result.push_back(size(lhs, dim));
  for (int64_t dim : d.rhsFree) result.push_back(size(rhs, dim));
  return result;
}

Status lowerMatmul(FlatLowering& lowering, mlir::Operation& op) {
  Matmul payload;
  payload.lhs = lowering.operand(op.getOperand(0));
  payload.rhs = lowering.operand(op.getOperand(1));
  payload.acc = lowering.operand(op.getOperand(2));
  // The lowering of JAX writes transposes as dimension numbers.
  if (op.hasAttr("dimension_numbers") && (boolAttribute(op, "transpose_lhs") || boolAttribute(op, "transpose_rhs")))
    return lowering.refuse(op, "transposes are said by dimension_numbers");
  payload.dims = dotDimensionsOf(op);
  const auto shape = resultShape(payload.dims, payload.lhs.shape, payload.rhs.shape);
  if (!shape || *shape != shapeOf(op.getResult(0).getType()) || payload.acc.shape != *shape)
    return lowering.refuse(op, "shapes do not fit");
  if (!hasProduct(payload.lhs.dtype, payload.rhs.dtype, payload.acc.dtype, elementDType(op.getResult(0).getType())))
    return lowering.refuse(op, "there is no product of these dtypes");
  payload.numerics = numericsOf(lowering.options(), keywordAttribute(op, "precision"));
  payload.out = lowering.define(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

constexpr FlatOpRow kMatmulTable[] = {{"tpu.matmul", lowerMatmul, OpClass::matrix}};

}  // namespace

bool hasProduct(DType lhs, DType rhs, DType acc, DType out) {
  uint64_t zero = 0, result = 0;
  const Shape kUnit{1, 1};
  const DotDimensions plain{{1}, {0}, {0}, {1}, {}, {}};
  const auto* data = reinterpret_cast<const std::byte*>(&zero);
  return eval::dotGeneral({data, lhs, kUnit, false}, {data, rhs, kUnit, false}, viewOf(plain),
                          {data, acc, kUnit, false}, {reinterpret_cast<std::byte*>(&result), out, kUnit});
}

std::span<const FlatOpRow> matmulTable() { return kMatmulTable; }

}  // namespace smalti::machine::flat
