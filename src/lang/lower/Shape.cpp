// Ops that move elements.
#include <algorithm>
#include <array>

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "ir/Tpu.h"
#include "lang/lower/Lowering.h"

namespace smalti::lang {
namespace {

const std::vector<int64_t>& integers(const Op& op, std::string_view attribute) {
  return std::get<std::vector<int64_t>>(*op.find(attribute));
}

/// The same elements in another shape; a scalar is taken out of a vector of one element, or spread into it.
mlir::Value castTo(Lowering& l, mlir::Value x, const ArrayType& from, const ArrayType& to) {
  if (from.shape == to.shape) return x;
  if (from.shape.empty()) return l.create1("vector.broadcast", x, l.mlirType(to));
  if (to.shape.empty())
    return mlir::vector::ExtractOp::create(l.b, l.loc, x, std::vector<int64_t>(from.shape.size(), 0));
  return l.create1("vector.shape_cast", x, l.mlirType(to));
}

void reshape(Lowering& l, const Op& op) {
  l.set(op.results[0], castTo(l, l.value(op.operands[0]), l.typeOf(op.operands[0]), l.typeOf(op.results[0])));
}

void broadcastInDim(Lowering& l, const Op& op) {
  const ArrayType &from = l.typeOf(op.operands[0]), &to = l.typeOf(op.results[0]);
  const auto& dims = integers(op, "broadcast_dimensions");
  mlir::Value x = l.value(op.operands[0]);
  if (!from.shape.empty()) {  // axes to their places first, with size 1 between
    Shape spread(to.shape.size(), 1);
    for (size_t i = 0; i < dims.size(); ++i) spread[dims[i]] = from.shape[i];
    x = castTo(l, x, from, {from.dtype, spread});
    if (spread == to.shape) {
      l.set(op.results[0], x);
      return;
    }
  }
  l.set(op.results[0], to.shape.empty() ? x : l.create1("vector.broadcast", x, l.mlirType(to)));
}

void transpose(Lowering& l, const Op& op) {
  l.set(op.results[0],
        l.create1("tpu.transpose", l.value(op.operands[0]), l.mlirType(l.typeOf(op.results[0])),
                  {l.b.getNamedAttr("permutation", l.b.getDenseI64ArrayAttr(integers(op, "permutation")))}));
}

void concatenate(Lowering& l, const Op& op) {
  std::vector<mlir::Value> parts;
  for (const ValueId v : op.operands) parts.push_back(l.value(v));
  const auto axis = static_cast<int32_t>(std::get<int64_t>(*op.find("dimension")));
  l.set(op.results[0], l.create1("tpu.concatenate", parts, l.mlirType(l.typeOf(op.results[0])),
                                 {l.b.getNamedAttr("dimension", l.b.getI32IntegerAttr(axis))}));
}

void slice(Lowering& l, const Op& op) {
  const ArrayType& to = l.typeOf(op.results[0]);
  const auto &starts = integers(op, "start_indices"), &strides = integers(op, "strides");
  if (std::any_of(strides.begin(), strides.end(), [](int64_t s) { return s != 1; }))
    refuseOp(op, "a slice of a value with strides has no op on the TPU", "strides of 1", "larger strides",
             "read the Ref with ds(start, size, stride)");
  l.set(op.results[0], l.create1("vector.extract_strided_slice", l.value(op.operands[0]), l.mlirType(to),
                                 {l.b.getNamedAttr("offsets", l.b.getI64ArrayAttr(starts)),
                                  l.b.getNamedAttr("sizes", l.b.getI64ArrayAttr(to.shape)),
                                  l.b.getNamedAttr("strides", l.b.getI64ArrayAttr(strides))}));
}

/// tpu.iota needs two axes or more.
void iota(Lowering& l, const Op& op) {
  const ArrayType& to = l.typeOf(op.results[0]);
  auto axis = static_cast<int32_t>(std::get<int64_t>(*op.find("iota_dimension")));
  ArrayType made{is_float(to.dtype) || bit_width(to.dtype) < 32 ? DType::i32 : to.dtype, to.shape};
  if (to.shape.size() == 1) {
    made.shape.insert(made.shape.begin(), 1);
    ++axis;
  }
  mlir::Value x =
      l.create1("tpu.iota", {}, l.mlirType(made), {l.b.getNamedAttr("dimensions", l.b.getDenseI32ArrayAttr({axis}))});
  x = castTo(l, x, made, {made.dtype, to.shape});
  l.set(op.results[0], convertTo(l, x, made.dtype, to.dtype));
}

void takeAlongAxis(Lowering& l, const Op& op) {
  const ArrayType& from = l.typeOf(op.operands[0]);
  const auto rank = static_cast<int64_t>(from.shape.size()), axis = std::get<int64_t>(*op.find("dimension"));
  if (rank < 2 || axis < rank - 2)
    refuseOp(op, "Only gathers along the two minormost dimensions supported on TC", "one of the last two axes",
             rank < 2 ? "an operand of rank 1" : "axis " + std::to_string(axis) + " of rank " + std::to_string(rank),
             "transpose the operand, or add an axis");
  l.set(op.results[0],
        l.create1("tpu.dynamic_gather", {l.value(op.operands[0]), l.value(op.operands[1])},
                  l.mlirType(l.typeOf(op.results[0])),
                  {l.b.getNamedAttr("dimensions", l.b.getDenseI32ArrayAttr({static_cast<int32_t>(axis)}))}));
}

constexpr std::array kShapeRules{
    LowerRow{"broadcast_in_dim", broadcastInDim},
    LowerRow{"concatenate", concatenate},
    LowerRow{"iota", iota},
    LowerRow{"reshape", reshape},
    LowerRow{"slice", slice},
    LowerRow{"take_along_axis", takeAlongAxis},
    LowerRow{"transpose", transpose},
};

}  // namespace

std::span<const LowerRow> shapeRules() { return kShapeRules; }

}  // namespace smalti::lang
