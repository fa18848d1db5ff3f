// Reductions: vector.multi_reduction from the kind's identity. A full reduction adds a leading axis first and takes the
// one element out of the result, as Pallas does.
#include <algorithm>
#include <array>
#include <limits>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "ir/Tpu.h"
#include "lang/lower/Lowering.h"

namespace smalti::lang {
namespace {

using mlir::vector::CombiningKind;

struct Kind {
  CombiningKind kind;
  double identity;
};

/// `x` (a vector of `type`) without `axes`.
mlir::Value reduceBy(Lowering& l, Kind kind, mlir::Value x, ArrayType type, std::vector<int64_t> axes) {
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

void reduce(Lowering& l, const Op& op) {
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
void reducePred(Lowering& l, const Op& op) {
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

void reduceIndex(Lowering& l, const Op& op) {
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
  // Not every TPU looks for extremes among bf16; among f32 they are the same.
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

constexpr std::array kReduceRules{
    LowerRow{"argmax", reduceIndex}, LowerRow{"argmin", reduceIndex}, LowerRow{"reduce_and", reducePred},
    LowerRow{"reduce_max", reduce},  LowerRow{"reduce_min", reduce},  LowerRow{"reduce_or", reducePred},
    LowerRow{"reduce_sum", reduce},
};

}  // namespace

std::span<const LowerRow> reduceRules() { return kReduceRules; }

}  // namespace smalti::lang
