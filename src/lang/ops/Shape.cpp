// Ops that give the same elements another shape or order.
#include "smalti/ops/shape.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lang/lower/DialectLowering.h"
#include "lang/ops/OpRecord.h"
#include "lang/ops/Support.h"
#include "lang/transform/rules/Moves.h"

namespace smalti::lang {
namespace {

const std::vector<int64_t>& integers(const Op& op, std::string_view attribute) {
  return std::get<std::vector<int64_t>>(*op.find(attribute));
}

void lowerReshape(DialectLowering& l, const Op& op) {
  l.set(op.results[0], castTo(l, l.value(op.operands[0]), l.typeOf(op.operands[0]), l.typeOf(op.results[0])));
}

void lowerBroadcastInDim(DialectLowering& l, const Op& op) {
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

void lowerTranspose(DialectLowering& l, const Op& op) {
  l.set(op.results[0],
        l.create1("tpu.transpose", l.value(op.operands[0]), l.mlirType(l.typeOf(op.results[0])),
                  {l.b.getNamedAttr("permutation", l.b.getDenseI64ArrayAttr(integers(op, "permutation")))}));
}

constexpr OpTable kShapeOps{
    OpRecord{.name = "broadcast_in_dim",
             .lower = lowerBroadcastInDim,
             .jvp = jvpLinear,
             .transpose = transposeBroadcastInDim,
             .batch = batchBroadcastInDim},
    OpRecord{.name = "reshape",
             .lower = lowerReshape,
             .jvp = jvpLinear,
             .transpose = transposeReshape,
             .batch = batchReshape},
    OpRecord{.name = "transpose",
             .lower = lowerTranspose,
             .jvp = jvpLinear,
             .transpose = transposeTranspose,
             .batch = batchTranspose},
};
const OpFamily kShapeFamily(kShapeOps);

}  // namespace

Array broadcastTo(const Array& a, const Shape& shape) {
  if (a.shape() == shape) return a;
  std::vector<int64_t> dimensions;
  for (int64_t i = 0; i < a.rank(); ++i) dimensions.push_back(static_cast<int64_t>(shape.size()) - a.rank() + i);
  return bind1(kShapeOps["broadcast_in_dim"], {a}, {a.dtype(), shape}, {{"broadcast_dimensions", dimensions}})
      .with_weak_type(a.weak_type());
}

Array reshapeTo(const Array& a, const Shape& shape) {
  if (a.shape() == shape) return a;
  return bind1(kShapeOps["reshape"], {a}, {a.dtype(), shape}).with_weak_type(a.weak_type());
}

}  // namespace smalti::lang

namespace smalti {

using lang::SourceLocationScope;

namespace {

[[noreturn]] void refuseReshape(const Operand& x, const Shape& shape) {
  lang::refuse(
      {.code = "SM6303",
       .message = "'reshape' cannot change the number of elements",
       .place = {},
       .need = fmt::format("{} elements", x.array().elements()),
       .have = fmt::format("shape [{}] for a value of shape [{}]", fmt::join(shape, ", "), fmt::join(x.shape(), ", ")),
       .help = "one entry of the shape may be -1: it is inferred from the others"});
}

}  // namespace

Array reshape(const Operand& x, Shape shape) {
  SourceLocationScope place(x.at());
  const std::optional<Shape> whole = lang::resolveShape(shape, x.array().elements());
  if (!whole) refuseReshape(x, shape);
  return lang::reshapeTo(x.array(), *whole);
}

Array broadcast_to(const Operand& x, Shape shape) {
  SourceLocationScope place(x.at());
  const size_t skip = shape.size() - std::min(shape.size(), x.shape().size());
  bool fits = x.shape().size() <= shape.size();
  for (size_t i = 0; fits && i < x.shape().size(); ++i) fits = x.shape()[i] == shape[skip + i] || x.shape()[i] == 1;
  if (!fits)
    lang::refuse({.code = "SM6301",
                  .message = "a value cannot be broadcast to the shape it is needed in",
                  .place = {},
                  .need = fmt::format("shape [{}], or axes of size 1", fmt::join(shape, ", ")),
                  .have = fmt::format("shape [{}]", fmt::join(x.shape(), ", ")),
                  .help = "reshape the value, or take a slice of the target"});
  return lang::broadcastTo(x.array(), shape);
}

Array broadcast_in_dim(const Operand& x, Shape shape, std::vector<int64_t> dimensions) {
  SourceLocationScope place(x.at());
  bool fits = dimensions.size() == x.shape().size();
  for (size_t i = 0; fits && i < dimensions.size(); ++i) {
    dimensions[i] = lang::checkedAxis("broadcast_in_dim", dimensions[i], static_cast<int64_t>(shape.size()));
    fits = (i == 0 || dimensions[i] > dimensions[i - 1]) && (x.shape()[i] == 1 || x.shape()[i] == shape[dimensions[i]]);
  }
  if (!fits)
    lang::refuse({.code = "SM6301",
                  .message = "'broadcast_in_dim' of axes that do not fit the shape",
                  .place = {},
                  .need = "one ascending result axis per operand axis, of its size or where the operand's is 1",
                  .have = fmt::format("axes [{}] of shape [{}] for a value of shape [{}]", fmt::join(dimensions, ", "),
                                      fmt::join(shape, ", "), fmt::join(x.shape(), ", ")),
                  .help = "axis i of the operand becomes result axis dimensions[i]"});
  return lang::bind1(lang::kShapeOps["broadcast_in_dim"], {x.array()}, {x.dtype(), std::move(shape)},
                     {{"broadcast_dimensions", dimensions}})
      .with_weak_type(x.array().weak_type());
}

Array transpose(const Operand& x, std::vector<int64_t> permutation) {
  SourceLocationScope place(x.at());
  std::vector<int64_t> sorted, identity(x.rank());
  std::iota(identity.begin(), identity.end(), 0);
  for (int64_t& a : permutation) sorted.push_back(a = lang::checkedAxis("transpose", a, x.rank()));
  std::sort(sorted.begin(), sorted.end());
  if (sorted != identity)
    lang::refuse({.code = "SM6305",
                  .message = "'transpose' needs every axis once",
                  .place = {},
                  .need = fmt::format("a permutation of the {} axes", x.rank()),
                  .have = fmt::format("[{}]", fmt::join(permutation, ", ")),
                  .help = "result axis i is operand axis permutation[i]"});
  if (permutation == identity) return x.array();
  Shape shape;
  for (const int64_t a : permutation) shape.push_back(x.shape()[a]);
  return lang::bind1(lang::kShapeOps["transpose"], {x.array()}, {x.dtype(), std::move(shape)},
                     {{"permutation", permutation}});
}

Array transpose(const Operand& x) {
  std::vector<int64_t> reversed(x.rank());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return transpose(x, std::move(reversed));
}

Array swapaxes(const Operand& x, int64_t axis1, int64_t axis2) {
  SourceLocationScope place(x.at());
  std::vector<int64_t> permutation(x.rank());
  std::iota(permutation.begin(), permutation.end(), 0);
  axis1 = lang::checkedAxis("swapaxes", axis1, x.rank());
  axis2 = lang::checkedAxis("swapaxes", axis2, x.rank());
  std::swap(permutation[axis1], permutation[axis2]);
  return transpose(x, std::move(permutation));
}

Array expand_dims(const Operand& x, int64_t axis) {
  SourceLocationScope place(x.at());
  axis = lang::checkedAxis("expand_dims", axis, x.rank() + 1);
  Shape shape = x.shape();
  shape.insert(shape.begin() + axis, 1);
  return lang::reshapeTo(x.array(), shape);
}

Array squeeze(const Operand& x, std::vector<int64_t> axes) {
  SourceLocationScope place(x.at());
  Shape shape = x.shape();
  for (int64_t& a : axes) {
    a = lang::checkedAxis("squeeze", a, x.rank());
    if (shape[a] != 1)
      lang::refuse({.code = "SM6303",
                    .message = "'squeeze' drops axes of size 1 only",
                    .place = {},
                    .need = "size 1",
                    .have = fmt::format("size {} in axis {}", shape[a], a),
                    .help = "use slice for one element of an axis, or reshape"});
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  for (auto a = axes.rbegin(); a != axes.rend(); ++a) shape.erase(shape.begin() + *a);
  return lang::reshapeTo(x.array(), shape);
}

Array squeeze(const Operand& x) {
  std::vector<int64_t> axes;
  for (int64_t a = 0; a < x.rank(); ++a)
    if (x.shape()[a] == 1) axes.push_back(a);
  return squeeze(x, std::move(axes));
}

}  // namespace smalti
