// Reductions: what jax.numpy promotes and composes; one op of the language per kind, which drops the axes.
#include "smalti/ops/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "eval/FloatFormats.h"
#include "eval/Reduce.h"
#include "eval/Shape.h"
#include "ir/Tpu.h"
#include "lang/eager/Eager.h"
#include "lang/lower/DialectLowering.h"
#include "lang/ops/OpRecord.h"
#include "lang/ops/RegionOps.h"
#include "lang/ops/Support.h"
#include "lang/trace/HasValue.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/transform/rules/Sums.h"
#include "smalti/error.h"
#include "smalti/ops/create.h"
#include "smalti/ops/elementwise.h"
#include "smalti/ops/shape.h"

namespace smalti::lang {
namespace {

using mlir::vector::CombiningKind;

struct Kind {
  CombiningKind kind;
  double identity;
};

/// `x` (a vector of `type`) without `axes`.
mlir::Value reduceBy(DialectLowering& l, Kind kind, mlir::Value x, ArrayType type, std::vector<int64_t> axes) {
  const bool full = axes.size() == type.shape.size();
  if (full) {
    type.shape.insert(type.shape.begin(), 1);
    for (int64_t& a : axes) ++a;
    x = l.create1("vector.shape_cast", x, l.mlirType(type));
  }
  Shape rest;
  for (size_t a = 0; a < type.shape.size(); ++a)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(a)) == axes.end()) rest.push_back(type.shape[a]);
  const mlir::Type result = l.mlirType({type.dtype, rest});
  mlir::Value reduced =
      l.create1("vector.multi_reduction", {x, l.constant(result, kind.identity)}, result,
                {l.b.getNamedAttr("kind", mlir::vector::CombiningKindAttr::get(l.b.getContext(), kind.kind)),
                 l.b.getNamedAttr("reduction_dims", l.b.getDenseI64ArrayAttr(axes))});
  if (!full) return reduced;
  const Shape ones(type.shape.size(), 1);
  reduced = l.create1("vector.shape_cast", reduced, l.mlirType({type.dtype, ones}));
  return mlir::vector::ExtractOp::create(l.b, l.loc, reduced, std::vector<int64_t>(ones.size(), 0));
}

const std::vector<int64_t>& axesOf(const Op& op) { return std::get<std::vector<int64_t>>(*op.find("axes")); }

void lowerReduce(DialectLowering& l, const Op& op) {
  const ArrayType& type = l.typeOf(op.operands[0]);
  const std::string dtype(name(type.dtype));
  if (is_unsigned_integer(type.dtype))
    refuseOp(op, "Reductions over unsigned integers not implemented", "i32 or a float", dtype,
             "convert the operand with astype(x, i32)");
  if (!is_float(type.dtype) && type.dtype != DType::i32)
    refuseOp(op, "Reductions over " + dtype + " not implemented", "i32 or a float", dtype,
             "convert the operand with astype(x, i32)");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool floats = is_float(type.dtype);
  const Kind kind = op.name == "reduce_sum" ? Kind{CombiningKind::ADD, 0}
                    : op.name == "reduce_max"
                        ? (floats ? Kind{CombiningKind::MAXIMUMF, -kInfinity} : Kind{CombiningKind::MAXSI, INT32_MIN})
                        : (floats ? Kind{CombiningKind::MINIMUMF, kInfinity} : Kind{CombiningKind::MINSI, INT32_MAX});
  l.set(op.results[0], reduceBy(l, kind, l.value(op.operands[0]), type, axesOf(op)));
}

/// any and all: the largest and smallest of 1.0 and 0.0.
void lowerReducePred(DialectLowering& l, const Op& op) {
  ArrayType type = l.typeOf(op.operands[0]);
  type.dtype = DType::f32;
  const mlir::Type floats = l.mlirType(type);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const mlir::Value numbers =
      l.create1("arith.select", {l.value(op.operands[0]), l.constant(floats, 1), l.constant(floats, 0)}, floats);
  const Kind kind =
      op.name == "reduce_or" ? Kind{CombiningKind::MAXIMUMF, -kInfinity} : Kind{CombiningKind::MINIMUMF, kInfinity};
  const mlir::Value reduced = reduceBy(l, kind, numbers, type, axesOf(op));
  l.set(op.results[0], mlir::arith::CmpFOp::create(l.b, l.loc, mlir::arith::CmpFPredicate::OGT, reduced,
                                                   l.constant(reduced.getType(), 0)));
}

void lowerReduceIndex(DialectLowering& l, const Op& op) {
  ArrayType type = l.typeOf(op.operands[0]), result = l.typeOf(op.results[0]);
  if (type.dtype != DType::f32 && type.dtype != DType::bf16)
    refuseOp(op,
             "Unsupported combination of input dtype (" + std::string(name(type.dtype)) +
                 ") and index_dtype (i32) for reduce_index",
             "f32 or bf16", std::string(name(type.dtype)), "convert the operand with astype(x, f32)");
  auto axis = static_cast<int32_t>(std::get<int64_t>(*op.find("axis")));
  mlir::Value x = l.value(op.operands[0]);
  const bool flat = type.shape.size() == 1;  // the op takes two axes or more
  if (flat) {
    type.shape.insert(type.shape.begin(), 1);
    result.shape = {1};
    ++axis;
    x = l.create1("vector.shape_cast", x, l.mlirType(type));
  }
  // Not every TPU has argmax of bf16; the result is the same in f32.
  x = convertTo(l, x, type.dtype, DType::f32);
  mlir::Value found = l.create1(
      "tpu.reduce_index", x, l.mlirType(result),
      {l.b.getNamedAttr("axis", l.b.getI32IntegerAttr(axis)),
       l.b.getNamedAttr(
           "kind", tpu::ReductionKindAttr::get(l.b.getContext(), op.name == "argmax" ? tpu::ReductionKind::arg_max
                                                                                     : tpu::ReductionKind::arg_min))});
  if (flat) found = mlir::vector::ExtractOp::create(l.b, l.loc, found, std::vector<int64_t>{0});
  l.set(op.results[0], found);
}

using eval::ReduceKind, plain::in, plain::PlainCall, plain::PlainResults;

/// The kind for the dtype, and what it starts from.
struct Start {
  ReduceKind kind;
  double identity;
};
Start startOf(std::string_view op, DType t) {
  const bool floats = is_float(t), isUnsigned = is_unsigned_integer(t);
  const int bits = bit_width(t);
  if (op == "reduce_sum") return {ReduceKind::add, 0};
  if (op == "reduce_prod") return {ReduceKind::mul, 1};
  if (op == "reduce_or") return {ReduceKind::ori, 0};
  if (op == "reduce_and") return {ReduceKind::andi, 1};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (op == "reduce_max")
    return floats       ? Start{ReduceKind::maximumf, -kInfinity}
           : isUnsigned ? Start{ReduceKind::maxui, 0}
                        : Start{ReduceKind::maxsi, -std::ldexp(1.0, bits - 1)};
  // The largest i64 and u64 have no double: conversion saturates to them.
  return floats       ? Start{ReduceKind::minimumf, kInfinity}
         : isUnsigned ? Start{ReduceKind::minui, std::ldexp(1.0, bits) - (bits < 64)}
                      : Start{ReduceKind::minsi, std::ldexp(1.0, bits - 1) - (bits < 64)};
}

PlainResults evaluateReduce(PlainCall& call) {
  return into(call, [&](eval::Output reduced) {
    const DType t = reduced.dtype;
    const auto [kind, identity] = startOf(call.op.name, t);
    uint64_t start = 0;
    eval::elementFromDouble(t, identity, &start);
    eval::Input values = in(call.operands[0]);
    eval::Input init{reinterpret_cast<const std::byte*>(&start), t, reduced.shape, true};
    if (t == DType::pred) values.dtype = init.dtype = reduced.dtype = DType::u8;
    if (values.elements() == 0) {
      eval::fill(reduced.data, &start, reduced.elements(), storage_bytes(t));
      return true;
    }
    return eval::multiReduce(kind, values, call.typed().integers("axes"), init, reduced);
  });
}

PlainResults evaluateReduceIndex(PlainCall& call) {
  return into(call, [&](eval::Output to) {
    return eval::reduceIndex(call.op.name == "argmax", in(call.operands[0]),
                             static_cast<int>(call.typed().integer("axis")), to);
  });
}

std::string reducedType(const TypedOp& op) {
  if (op.numOperands() != 1 || op.numResults() != 1) return "has not one operand and one result";
  ArrayType expected{op.operand(0).dtype, {}};
  const auto axes = op.integers("axes");
  for (size_t a = 0; a < op.operand(0).shape.size(); ++a)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(a)) == axes.end())
      expected.shape.push_back(op.operand(0).shape[a]);
  return op.result() == expected ? "" : fmt::format("gives {} instead of {}", op.result().str(), expected.str());
}

std::string indexType(const TypedOp& op) {
  if (op.numOperands() != 1 || op.numResults() != 1) return "has not one operand and one result";
  ArrayType expected{DType::i32, op.operand(0).shape};
  const int64_t axis = op.integer("axis", -1);
  if (axis < 0 || axis >= static_cast<int64_t>(expected.shape.size())) return fmt::format("has no axis {}", axis);
  expected.shape.erase(expected.shape.begin() + axis);
  return op.result() == expected ? "" : fmt::format("gives {} instead of {}", op.result().str(), expected.str());
}

constexpr std::string_view kInProgramsOnly = "only programs hold it, in place of sum, max and the like";

constexpr OpTable kReduceProgramOps{
    OpRecord{.name = "reduce", .run = computeRegionOp, .noJvp = kInProgramsOnly, .noBatch = kInProgramsOnly}};
const OpFamily kReduceProgramFamily(kReduceProgramOps);

/// Arrays and what they start from, reduced together along axes by a function of as many pairs of elements.
std::vector<Array> reduceBy(const std::vector<Array>& operands, std::vector<int64_t> axes,
                            const std::vector<ArrayType>& results,
                            const std::function<std::vector<Array>(std::span<const Array>)>& step) {
  const size_t n = operands.size() / 2;
  std::vector<ArrayType> elements;
  for (size_t i = 0; i < 2 * n; ++i) elements.push_back({operands[i % n].dtype(), {}});
  const Region region{elements, step};
  const Location at = Location::current();
  return bindRegions(kReduceProgramOps["reduce"], operands, results, {&region, 1}, at,
                     {{"dimensions", std::move(axes)}});
}

Array scalarOf(DType t, double value) {
  Array a = unwrap(Array::allocate({t, {}}));
  eval::elementFromDouble(t, value, a.data());
  return a;
}

std::vector<Array> expandReduce(const OpCall& call) {
  const std::string_view op = call.op.name;
  const Array& x = call.operands[0];
  const auto step = [&](std::span<const Array> ab) -> std::vector<Array> {
    const Array &a = ab[0], &b = ab[1];
    return {op == "reduce_sum"    ? add(a, b)
            : op == "reduce_prod" ? multiply(a, b)
            : op == "reduce_max"  ? maximum(a, b)
            : op == "reduce_min"  ? minimum(a, b)
            : op == "reduce_or"   ? bitwise_or(a, b)
                                  : bitwise_and(a, b)};
  };
  return reduceBy({x, scalarOf(x.dtype(), startOf(op, x.dtype()).identity)},
                  call.attribute<std::vector<int64_t>>("axes"), {call.results[0]}, step);
}

/// The extreme and its index together, as JAX does it: NaN before all numbers, then the smaller index.
std::vector<Array> expandReduceIndex(const OpCall& call) {
  const bool largest = call.op.name == "argmax";
  const Array& x = call.operands[0];
  const auto axis = call.attribute<int64_t>("axis");
  const auto step = [&](std::span<const Array> v) -> std::vector<Array> {
    const Array &a = v[0], &i = v[1], &b = v[2], &j = v[3];
    const Array better = (largest ? a > b : a < b) | isnan(a);
    const Array first = better | ((a == b) & (i < j));
    return {where(better, a, b), where(first, i, j)};
  };
  const double start = startOf(largest ? "reduce_max" : "reduce_min", x.dtype()).identity;
  const ArrayType extreme{x.dtype(), call.results[0].shape};
  return {
      reduceBy({x, broadcasted_iota(DType::i32, x.shape(), axis), scalarOf(x.dtype(), start), scalarOf(DType::i32, 0)},
               {axis}, {extreme, call.results[0]}, step)[1]};
}

constexpr OpTable kReduceOps{
    OpRecord{.name = "argmax",
             .types = indexType,
             .evaluate = evaluateReduceIndex,
             .expand = expandReduceIndex,
             .lower = lowerReduceIndex,
             .jvp = jvpZero,
             .batch = batchReduceIndex},
    OpRecord{.name = "argmin",
             .types = indexType,
             .evaluate = evaluateReduceIndex,
             .expand = expandReduceIndex,
             .lower = lowerReduceIndex,
             .jvp = jvpZero,
             .batch = batchReduceIndex},
    OpRecord{.name = "reduce_and",
             .types = reducedType,
             .evaluate = evaluateReduce,
             .expand = expandReduce,
             .lower = lowerReducePred,
             .jvp = jvpZero,
             .batch = batchReduce},
    OpRecord{.name = "reduce_max",
             .types = reducedType,
             .evaluate = evaluateReduce,
             .expand = expandReduce,
             .lower = lowerReduce,
             .jvp = jvpReduceExtreme,
             .batch = batchReduce},
    OpRecord{.name = "reduce_min",
             .types = reducedType,
             .evaluate = evaluateReduce,
             .expand = expandReduce,
             .lower = lowerReduce,
             .jvp = jvpReduceExtreme,
             .batch = batchReduce},
    OpRecord{.name = "reduce_or",
             .types = reducedType,
             .evaluate = evaluateReduce,
             .expand = expandReduce,
             .lower = lowerReducePred,
             .jvp = jvpZero,
             .batch = batchReduce},
    OpRecord{.name = "reduce_prod",
             .types = reducedType,
             .evaluate = evaluateReduce,
             .expand = expandReduce,
             .jvp = jvpReduceProd,
             .batch = batchReduce},
    OpRecord{.name = "reduce_sum",
             .types = reducedType,
             .evaluate = evaluateReduce,
             .expand = expandReduce,
             .lower = lowerReduce,
             .jvp = jvpLinear,
             .transpose = transposeReduceSum,
             .batch = batchReduce},
};
const OpFamily kReduceFamily(kReduceOps);

}  // namespace
}  // namespace smalti::lang

namespace smalti {

using lang::SourceLocationScope;

namespace {

std::vector<int64_t> resolve(std::string_view op, const Operand& x, const Axes& axes) {
  std::vector<int64_t> resolved;
  for (const int64_t a : axes.axes) resolved.push_back(lang::checkedAxis(op, a, x.rank()));
  if (resolved.empty()) {
    resolved.resize(x.rank());
    std::iota(resolved.begin(), resolved.end(), 0);
  }
  std::sort(resolved.begin(), resolved.end());
  if (std::adjacent_find(resolved.begin(), resolved.end()) != resolved.end())
    lang::refuse({.code = "SM6305",
                  .message = fmt::format("'{}' names an axis twice", op),
                  .place = {},
                  .need = "different axes",
                  .have = fmt::format("axis {} twice", *std::adjacent_find(resolved.begin(), resolved.end())),
                  .help = "name each axis once"});
  return resolved;
}

Shape reducedShape(const Shape& shape, const std::vector<int64_t>& axes, bool keepdims) {
  Shape rest;
  for (size_t a = 0; a < shape.size(); ++a) {
    const bool gone = std::find(axes.begin(), axes.end(), static_cast<int64_t>(a)) != axes.end();
    if (!gone || keepdims) rest.push_back(gone ? 1 : shape[a]);
  }
  return rest;
}

Array reduce(const lang::OpRecord& op, const Array& x, const std::vector<int64_t>& axes, bool keepdims) {
  if (axes.empty()) return x;
  const Array reduced = lang::bind1(op, {x}, {x.dtype(), reducedShape(x.shape(), axes, false)}, {{"axes", axes}});
  return (keepdims ? lang::reshapeTo(reduced, reducedShape(x.shape(), axes, true)) : reduced)
      .with_weak_type(x.weak_type());
}

/// The dtype in which sums and products are computed: narrow floats in f32, narrow integers and pred in 32 bits.
DType accumulatorOf(DType t) {
  if (is_float(t)) return bit_width(t) < 32 ? DType::f32 : t;
  if (t == DType::pred) return DType::i32;
  return bit_width(t) >= 32 ? t : is_unsigned_integer(t) ? DType::u32 : DType::i32;
}

Array accumulate(const lang::OpRecord& op, const Operand& x, const Axes& axes) {
  SourceLocationScope place(x.at());
  const DType wide = accumulatorOf(x.dtype());
  const Array result = reduce(op, lang::convertTo(x.array(), wide), resolve(op.name, x, axes), axes.keepdims);
  return is_float(x.dtype()) ? lang::convertTo(result, x.dtype()) : result;
}

Array extreme(const lang::OpRecord& op, const Operand& x, const Axes& axes) {
  SourceLocationScope place(x.at());
  const auto resolved = resolve(op.name, x, axes);
  for (const int64_t a : resolved)
    if (x.shape()[a] == 0)
      lang::refuse({.code = "SM6307",
                    .message = fmt::format("'{}' of no elements", op.name),
                    .place = {},
                    .need = "an axis of size 1 or more",
                    .have = fmt::format("axis {} of size 0", a),
                    .help = "a maximum or minimum of nothing has no value"});
  if (x.dtype() == DType::pred)
    return reduce(op.name == "reduce_max" ? lang::kReduceOps["reduce_or"] : lang::kReduceOps["reduce_and"], x.array(),
                  resolved, axes.keepdims);
  // Formats below 16 bits widen and narrow exactly.
  const bool narrow = is_float(x.dtype()) && bit_width(x.dtype()) < 16;
  const Array wide = narrow ? lang::convertTo(x.array(), DType::f32) : x.array();
  return lang::convertTo(reduce(op, wide, resolved, axes.keepdims), x.dtype());
}

Array logical(const lang::OpRecord& op, const Operand& x, const Axes& axes) {
  SourceLocationScope place(x.at());
  const Array pred = x.dtype() == DType::pred ? x.array() : not_equal(x, 0);
  return reduce(op, pred, resolve(op.name, x, axes), axes.keepdims);
}

Array indexOfExtreme(const lang::OpRecord& op, const Operand& x, int64_t axis) {
  SourceLocationScope place(x.at());
  axis = lang::checkedAxis(op.name, axis, x.rank());
  if (x.shape()[axis] == 0)
    lang::refuse({.code = "SM6307",
                  .message = fmt::format("'{}' of no elements", op.name),
                  .place = {},
                  .need = "an axis of size 1 or more",
                  .have = "size 0",
                  .help = "a maximum or minimum of nothing has no index"});
  Array a = x.array();
  if (a.dtype() == DType::pred) a = lang::convertTo(a, DType::i32);
  if (is_float(a.dtype()) && a.dtype() != DType::bf16 && bit_width(a.dtype()) < 32) a = lang::convertTo(a, DType::f32);
  return lang::bind1(op, {a}, {DType::i32, reducedShape(a.shape(), {axis}, false)}, {{"axis", axis}});
}

int64_t countOf(const Operand& x, const Axes& axes) {
  int64_t n = 1;
  for (const int64_t a : resolve("mean", x, axes)) n *= x.shape()[a];
  return n;
}

/// The mean, not yet narrowed.
Array wideMean(const Operand& x, const Axes& axes) {
  const DType t = is_float(x.dtype()) ? accumulatorOf(x.dtype()) : DType::f32;
  const Array total =
      reduce(lang::kReduceOps["reduce_sum"], lang::convertTo(x.array(), t), resolve("mean", x, axes), axes.keepdims);
  return divide(total, static_cast<double>(countOf(x, axes)));
}
DType floatOf(DType t) { return is_float(t) ? t : DType::f32; }

}  // namespace

Array sum(const Operand& x, Axes axes) { return accumulate(lang::kReduceOps["reduce_sum"], x, axes); }
Array prod(const Operand& x, Axes axes) { return accumulate(lang::kReduceOps["reduce_prod"], x, axes); }
Array max(const Operand& x, Axes axes) { return extreme(lang::kReduceOps["reduce_max"], x, axes); }
Array min(const Operand& x, Axes axes) { return extreme(lang::kReduceOps["reduce_min"], x, axes); }
Array any(const Operand& x, Axes axes) { return logical(lang::kReduceOps["reduce_or"], x, axes); }
Array all(const Operand& x, Axes axes) { return logical(lang::kReduceOps["reduce_and"], x, axes); }
Array argmax(const Operand& x, int64_t axis) { return indexOfExtreme(lang::kReduceOps["argmax"], x, axis); }
Array argmin(const Operand& x, int64_t axis) { return indexOfExtreme(lang::kReduceOps["argmin"], x, axis); }

Array mean(const Operand& x, Axes axes) {
  SourceLocationScope place(x.at());
  return lang::convertTo(wideMean(x, axes), floatOf(x.dtype()));
}

Array var(const Operand& x, Axes axes) {
  SourceLocationScope place(x.at());
  const Array wide = lang::convertTo(x.array(), accumulatorOf(floatOf(x.dtype())));
  const Array centred = subtract(wide, wideMean(wide, {axes.axes, true}));
  return lang::convertTo(wideMean(square(centred), axes), floatOf(x.dtype()));
}

Array lang::maximumOrLowest(const Array& a, const std::vector<int64_t>& axes) {
  if (a.elements() > 0) return max(a, Axes{axes, true});
  Shape shape = a.shape();
  if (axes.empty()) std::fill(shape.begin(), shape.end(), 1);
  for (const int64_t axis : axes) shape[static_cast<size_t>(checkedAxis("max", axis, a.rank()))] = 1;
  return full(std::move(shape), -std::numeric_limits<double>::infinity(), a.dtype());
}

Array softmax(const Operand& x, int64_t axis) {
  SourceLocationScope place(x.at());
  const Array floats = lang::convertTo(x.array(), floatOf(x.dtype()));
  const Array e = exp(subtract(floats, lang::maximumOrLowest(floats, {axis})));
  return divide(e, sum(e, Axes{{axis}, true}));
}

}  // namespace smalti
