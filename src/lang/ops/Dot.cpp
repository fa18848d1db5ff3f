// Matrix products: everything becomes one dot_general.
#include "smalti/ops/dot.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "ir/Tpu.h"
#include "lang/cost/Cost.h"
#include "lang/lower/DialectLowering.h"
#include "lang/ops/OpRecord.h"
#include "lang/ops/Support.h"
#include "lang/transform/rules/Sums.h"
#include "plain/PlainEvaluators.h"
#include "smalti/ops/elementwise.h"

namespace smalti::lang {
namespace {

/// A vector is a matrix of one row.
mlir::Value asMatrix(DialectLowering& l, mlir::Value x, ArrayType& type, std::vector<int64_t>& contracting) {
  if (type.shape.size() != 1) return x;
  type.shape.insert(type.shape.begin(), 1);
  for (int64_t& a : contracting) ++a;
  return l.create1("vector.shape_cast", x, l.mlirType(type));
}

/// (m, k) by (1, k), which the matrix unit takes of f32 only: products on the vector unit, summed along k.
mlir::Value rowProducts(DialectLowering& l, mlir::Value x, mlir::Value y, const ArrayType& lhs, const ArrayType& rhs,
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

void lowerDotGeneral(DialectLowering& l, const Op& op) {
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

CostEstimate costOfProduct(CostCounter& counter, const Op& op) {
  int64_t flops = costTimes(2, counter.type(op.results[0]).elements());
  const Shape& lhs = counter.type(op.operands[0]).shape;
  for (const int64_t axis : std::get<std::vector<int64_t>>(*op.find("lhs_contracting_dimensions")))
    flops = costTimes(flops, lhs[axis]);
  return {.flops = flops};
}

constexpr OpTable kDotOps{
    OpRecord{.name = "dot_general",
             .lower = lowerDotGeneral,
             .cost = costOfProduct,
             .jvp = jvpDotGeneral,
             .transpose = transposeDotGeneral,
             .batch = batchDotGeneral},
};
const OpFamily kDotFamily(kDotOps);

}  // namespace
}  // namespace smalti::lang

namespace smalti {

using lang::SourceLocationScope;

namespace {

[[noreturn]] void refuseSizes(std::string_view op, const Operand& x, const Operand& y, std::string need) {
  lang::refuse({.code = "SM6304",
                .message = fmt::format("'{}' of operands whose sizes do not match", op),
                .place = {},
                .need = std::move(need),
                .have = fmt::format("shapes [{}] and [{}]", fmt::join(x.shape(), ", "), fmt::join(y.shape(), ", ")),
                .help = "transpose or reshape an operand"});
}

std::vector<std::string> precisions(Precision p) {
  constexpr std::string_view kNames[] = {"DEFAULT", "HIGH", "HIGHEST"};
  const std::string n(kNames[static_cast<int>(p)]);
  return {n, n};
}

}  // namespace

Array dot_general(const Operand& x, const Operand& y, DotDimensionNumbers d, DotOptions options) {
  SourceLocationScope place(x.at());
  for (auto* axes : {&d.lhs_contracting, &d.lhs_batch})
    for (int64_t& a : *axes) a = lang::checkedAxis("dot_general", a, x.rank());
  for (auto* axes : {&d.rhs_contracting, &d.rhs_batch})
    for (int64_t& a : *axes) a = lang::checkedAxis("dot_general", a, y.rank());
  const auto match = [&](const std::vector<int64_t>& l, const std::vector<int64_t>& r, std::string_view what) {
    if (l.size() != r.size()) refuseSizes("dot_general", x, y, fmt::format("as many {} axes on both sides", what));
    for (size_t i = 0; i < l.size(); ++i)
      if (x.shape()[l[i]] != y.shape()[r[i]])
        refuseSizes("dot_general", x, y,
                    fmt::format("equal {} axes: {} of the left and {} of the right", what, l[i], r[i]));
  };
  match(d.lhs_contracting, d.rhs_contracting, "contracting");
  match(d.lhs_batch, d.rhs_batch, "batch");
  // Operands keep their own narrow dtypes only when the result's is given (int8 × int8 → i32).
  const lang::Promoted p = lang::promote("dot_general", {&x, &y});
  const DType result = options.preferred_element_type.value_or(p.dtype);
  if (p.dtype == DType::pred) {  // the number of terms that are true, which f32 does not round to 0
    const auto numbers = [&](const Operand& o) {
      return Operand(lang::convertTo(o.array(), result == DType::pred ? DType::f32 : result), o.at());
    };
    if (result != DType::pred) return dot_general(numbers(x), numbers(y), std::move(d), options);
    options.preferred_element_type.reset();
    return not_equal(dot_general(numbers(x), numbers(y), std::move(d), options), 0);
  }
  const auto operand = [&](const Operand& o, const Operand& other) {
    const bool keeps = options.preferred_element_type && o.dtype() != DType::pred;
    return keeps ? o.array() : lang::convertTo(o.array(), options.preferred_element_type ? other.dtype() : p.dtype);
  };
  const Array l = operand(x, y), r = operand(y, x);
  Shape shape;
  for (const int64_t a : d.lhs_batch) shape.push_back(x.shape()[a]);
  for (const int64_t a : plain::freeDims(x.shape().size(), d.lhs_batch, d.lhs_contracting))
    shape.push_back(x.shape()[a]);
  for (const int64_t a : plain::freeDims(y.shape().size(), d.rhs_batch, d.rhs_contracting))
    shape.push_back(y.shape()[a]);
  return lang::bind1(lang::kDotOps["dot_general"], {l, r}, {result, std::move(shape)},
                     {{"lhs_batching_dimensions", d.lhs_batch},
                      {"rhs_batching_dimensions", d.rhs_batch},
                      {"lhs_contracting_dimensions", d.lhs_contracting},
                      {"rhs_contracting_dimensions", d.rhs_contracting},
                      {"precision_config", precisions(options.precision)}});
}

Array dot(const Operand& x, const Operand& y, DotOptions options) {
  SourceLocationScope place(x.at());
  if (x.rank() < 1 || y.rank() < 1 || x.rank() > 2 || y.rank() > 2) refuseSizes("dot", x, y, "operands of rank 1 or 2");
  if (x.shape().back() != y.shape()[0])
    refuseSizes("dot", x, y, fmt::format("{} rows in the right operand", x.shape().back()));
  return dot_general(x, y, {{x.rank() - 1}, {0}, {}, {}}, options);
}

Array matmul(const Operand& x, const Operand& y, DotOptions options) {
  SourceLocationScope place(x.at());
  if (x.rank() < 1 || y.rank() < 1) refuseSizes("matmul", x, y, "operands of rank 1 or more");
  if (x.rank() <= 1 || y.rank() == 1 || (x.rank() == 2 && y.rank() == 2)) {
    const int64_t inner = std::max<int64_t>(y.rank() - 2, 0);
    if (x.shape().back() != y.shape()[inner])
      refuseSizes("matmul", x, y, fmt::format("{} rows in the right operand", x.shape().back()));
    return dot_general(x, y, {{x.rank() - 1}, {inner}, {}, {}}, options);
  }
  if (x.shape().back() != y.array().dim(-2))
    refuseSizes("matmul", x, y, fmt::format("{} rows in the right operand", x.shape().back()));
  if (y.rank() == 2) return dot_general(x, y, {{x.rank() - 1}, {0}, {}, {}}, options);
  // Batches broadcast to each other.
  const auto batch = [](const Operand& o) {
    return Operand(Array::view({o.dtype(), Shape(o.shape().begin(), o.shape().end() - 2)}, nullptr), o.at());
  };
  const Operand left = batch(x), right = batch(y);
  const Shape common = lang::broadcastShape("matmul", {&left, &right});
  const auto spread = [&](const Operand& o) {
    Shape shape = common;
    shape.insert(shape.end(), o.shape().end() - 2, o.shape().end());
    return Operand(lang::broadcastTo(o.array(), shape), o.at());
  };
  DotDimensionNumbers d;
  const auto rank = static_cast<int64_t>(common.size());
  for (int64_t a = 0; a < rank; ++a) d.lhs_batch.push_back(a), d.rhs_batch.push_back(a);
  d.lhs_contracting = {rank + 1};
  d.rhs_contracting = {rank};
  return dot_general(spread(x), spread(y), std::move(d), options);
}

}  // namespace smalti
