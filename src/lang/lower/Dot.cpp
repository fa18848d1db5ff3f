// Matrix products: one tpu.matmul into a zero accumulator.
#include <array>
#include <string>

#include <fmt/format.h>

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "ir/Tpu.h"
#include "lang/lower/Lowering.h"
#include "plain/PlainEvaluators.h"

namespace smalti::lang {
namespace {

/// A vector is a matrix of one row.
mlir::Value asMatrix(Lowering& l, mlir::Value x, ArrayType& type, std::vector<int64_t>& contracting) {
  if (type.shape.size() != 1) return x;
  type.shape.insert(type.shape.begin(), 1);
  for (int64_t& a : contracting) ++a;
  return l.create1("vector.shape_cast", x, l.mlirType(type));
}

/// (m, k) by (1, k), which the matrix unit takes of f32 only: products on the vector unit, summed along k.
mlir::Value rowProducts(Lowering& l, mlir::Value x, mlir::Value y, const ArrayType& lhs, const ArrayType& rhs,
                        DType accumulator) {
  const ArrayType wide{accumulator, lhs.shape};
  const mlir::Type type = l.mlirType(wide);
  x = convertTo(l, x, lhs.dtype, accumulator);
  y = convertTo(l, y, rhs.dtype, accumulator);
  if (lhs.shape != rhs.shape) y = l.create1("vector.broadcast", y, type);
  const mlir::Value products = l.create1(accumulator == DType::f32 ? "arith.mulf" : "arith.muli", {x, y}, type);
  const mlir::Type rows = l.mlirType({accumulator, {lhs.shape[0]}});
  const mlir::Value sums = l.create1("vector.multi_reduction", {products, l.constant(rows, 0)}, rows,
                                     {l.b.getNamedAttr("kind", mlir::vector::CombiningKindAttr::get(
                                                                   l.b.getContext(), mlir::vector::CombiningKind::ADD)),
                                      l.b.getNamedAttr("reduction_dims", l.b.getDenseI64ArrayAttr({1}))});
  return l.create1("vector.shape_cast", sums, l.mlirType({accumulator, {lhs.shape[0], 1}}));
}

void dotGeneral(Lowering& l, const Op& op) {
  ArrayType lhs = l.typeOf(op.operands[0]), rhs = l.typeOf(op.operands[1]), out = l.typeOf(op.results[0]);
  for (const DType t : {lhs.dtype, rhs.dtype})
    if (is_unsigned_integer(t))
      refuseOp(op, fmt::format("Unsigned integer dtype {} is not supported for dot_general", name(t)),
               "floats or signed integers", std::string(name(t)),
               "the matrix unit reads integers as signed: astype first");
  const auto dims = [&](std::string_view name) { return std::get<std::vector<int64_t>>(*op.find(name)); };
  const auto lb = dims("lhs_batching_dimensions"), rb = dims("rhs_batching_dimensions");
  auto lc = dims("lhs_contracting_dimensions"), rc = dims("rhs_contracting_dimensions");
  const bool vectors = lb.empty() && lc.size() == 1 && (lhs.shape.size() == 1 || rhs.shape.size() == 1);
  mlir::Value x = l.value(op.operands[0]), y = l.value(op.operands[1]);
  if (vectors) {
    if (lhs.shape.size() == 1) out.shape.insert(out.shape.begin(), 1);
    if (rhs.shape.size() == 1) out.shape.push_back(1);
    x = asMatrix(l, x, lhs, lc);
    y = asMatrix(l, y, rhs, rc);
  }
  const auto lf = plain::freeDims(lhs.shape.size(), lb, lc);
  const auto rf = plain::freeDims(rhs.shape.size(), rb, rc);
  std::vector<int64_t> order;
  for (const int64_t a : lb) order.insert(order.end(), {0, a});
  for (const int64_t a : lf) order.insert(order.end(), {0, a});
  for (const int64_t a : rf) order.insert(order.end(), {1, a});
  const DType accumulator = is_float(out.dtype) ? DType::f32 : DType::i32;
  const mlir::Type type = l.mlirType({accumulator, out.shape});
  std::vector<mlir::NamedAttribute> attributes{
      l.b.getNamedAttr("dimension_numbers",
                       tpu::DotDimensionNumbersAttr::get(l.b.getContext(), lc, rc, lf, rf, order, lb, rb)),
      l.b.getNamedAttr("transpose_lhs", l.b.getBoolAttr(false)),
      l.b.getNamedAttr("transpose_rhs", l.b.getBoolAttr(false)),
      l.b.getNamedAttr("transpose_lhs_hint", l.b.getBoolAttr(false))};
  const auto& precision = std::get<std::vector<std::string>>(*op.find("precision_config"));
  if (precision[0] != "DEFAULT")
    attributes.push_back(l.b.getNamedAttr(
        "precision",
        tpu::ContractPrecisionAttr::get(l.b.getContext(), precision[0] == "HIGHEST" ? tpu::ContractPrecision::fp32
                                                                                    : tpu::ContractPrecision::bf16x3)));
  const bool byRow = lb.empty() && lhs.shape.size() == 2 && rhs.shape.size() == 2 && rhs.shape[0] == 1 &&
                     lc == std::vector<int64_t>{1} && rc == lc && (lhs.dtype != DType::f32 || rhs.dtype != DType::f32);
  mlir::Value product = byRow ? rowProducts(l, x, y, lhs, rhs, accumulator)
                              : l.create1("tpu.matmul", {x, y, l.constant(type, 0)}, type, attributes);
  if (out.dtype != accumulator)
    product = l.create1(is_float(out.dtype) ? "arith.truncf" : "arith.trunci", product, l.mlirType(out));
  if (vectors) {
    const ArrayType& result = l.typeOf(op.results[0]);
    product = result.shape.empty()
                  ? mlir::Value(mlir::vector::ExtractOp::create(l.b, l.loc, product, std::vector<int64_t>{0, 0}))
                  : l.create1("vector.shape_cast", product, l.mlirType(result));
  }
  l.set(op.results[0], product);
}

constexpr std::array kDotRules{LowerRow{"dot_general", dotGeneral}};

}  // namespace

std::span<const LowerRow> dotRules() { return kDotRules; }

}  // namespace smalti::lang
