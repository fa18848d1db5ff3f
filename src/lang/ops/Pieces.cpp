// Ops that cut arrays apart, put them together and pick elements.
#include <algorithm>
#include <bit>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "eval/Shape.h"
#include "lang/eager/Eager.h"
#include "lang/lower/DialectLowering.h"
#include "lang/ops/Indexed.h"
#include "lang/ops/OpRecord.h"
#include "lang/ops/Support.h"
#include "lang/transform/rules/Moves.h"
#include "smalti/ops/create.h"
#include "smalti/ops/elementwise.h"
#include "smalti/ops/shape.h"

namespace smalti::lang {
namespace {

const std::vector<int64_t>& integersOf(const Op& op, std::string_view attribute) {
  return std::get<std::vector<int64_t>>(*op.find(attribute));
}

void lowerConcatenate(DialectLowering& l, const Op& op) {
  std::vector<mlir::Value> parts;
  for (const ValueId v : op.operands) parts.push_back(l.value(v));
  const auto axis = static_cast<int32_t>(std::get<int64_t>(*op.find("dimension")));
  l.set(op.results[0], l.create1("tpu.concatenate", parts, l.mlirType(l.typeOf(op.results[0])),
                                 {l.b.getNamedAttr("dimension", l.b.getI32IntegerAttr(axis))}));
}

void lowerSlice(DialectLowering& l, const Op& op) {
  const ArrayType& to = l.typeOf(op.results[0]);
  const auto &starts = integersOf(op, "start_indices"), &strides = integersOf(op, "strides");
  if (std::any_of(strides.begin(), strides.end(), [](int64_t s) { return s != 1; }))
    refuseOp(op, "a slice of a value with strides has no op on the TPU", "strides of 1", "larger strides",
             "read the Ref with ds(start, size, stride)");
  l.set(op.results[0], l.create1("vector.extract_strided_slice", l.value(op.operands[0]), l.mlirType(to),
                                 {l.b.getNamedAttr("offsets", l.b.getI64ArrayAttr(starts)),
                                  l.b.getNamedAttr("sizes", l.b.getI64ArrayAttr(to.shape)),
                                  l.b.getNamedAttr("strides", l.b.getI64ArrayAttr(strides))}));
}

void lowerTakeAlongAxis(DialectLowering& l, const Op& op) {
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

plain::PlainResults evaluateTakeAlongAxis(plain::PlainCall& call) {
  return into(call, [&](eval::Output to) {
    const int64_t axis = call.typed().integer("dimension");
    eval::dynamicGather(plain::in(call.operands[0]), plain::in(call.operands[1]), {&axis, 1}, to);
    return true;
  });
}

std::string takenType(const TypedOp& op) {
  if (op.numOperands() != 2) return "does not take an array and its indices";
  const ArrayType expected{op.operand(0).dtype, op.operand(1).shape};
  return op.result() == expected ? "" : fmt::format("gives {} instead of {}", op.result().str(), expected.str());
}

/// A gather of single elements; the other axes go along with those of the indices.
std::vector<Array> expandTakeAlongAxis(const OpCall& call) {
  const Array &x = call.operands[0], &indices = call.operands[1];
  const auto axis = call.attribute<int64_t>("dimension");
  if (call.results[0].elements() == 0) return {full(call.results[0].shape, 0, call.results[0].dtype)};
  Shape shape = indices.shape();
  shape.push_back(1);
  std::vector<int64_t> others;
  for (int64_t a = 0; a < x.rank(); ++a)
    if (a != axis) others.push_back(a);
  return {gatherElements(x, reshapeTo(mod(indices, x.shape()[axis]), shape), call.results[0],
                         {{"offset_dims", std::vector<int64_t>{}},
                          {"collapsed_slice_dims", std::vector<int64_t>{axis}},
                          {"operand_batching_dims", others},
                          {"start_indices_batching_dims", others},
                          {"start_index_map", std::vector<int64_t>{axis}},
                          {"index_vector_dim", x.rank()},
                          {"slice_sizes", std::vector<int64_t>(x.rank(), 1)}})};
}

constexpr OpTable kPieceOps{
    OpRecord{.name = "concatenate",
             .lower = lowerConcatenate,
             .jvp = jvpLinear,
             .transpose = transposeConcatenate,
             .batch = batchConcatenate},
    OpRecord{.name = "slice", .lower = lowerSlice, .jvp = jvpLinear, .transpose = transposeSlice, .batch = batchSlice},
    OpRecord{.name = "take_along_axis",
             .types = takenType,
             .evaluate = evaluateTakeAlongAxis,
             .expand = expandTakeAlongAxis,
             .lower = lowerTakeAlongAxis,
             .jvp = jvpLinearInFirst,
             .transpose = transposeTakeAlongAxis,
             .batch = batchTakeAlongAxis},
};
const OpFamily kPieceFamily(kPieceOps);

}  // namespace

}  // namespace smalti::lang

namespace smalti {

using lang::SourceLocationScope;

namespace {

/// SM6307: a bound, width, count or shift that the operand's shape does not allow.
[[noreturn]] void refuseBounds(std::string_view op, std::string need, std::string have, std::string help) {
  lang::refuse({.code = "SM6307",
                .message = fmt::format("'{}' reaches outside its operand", op),
                .place = {},
                .need = std::move(need),
                .have = std::move(have),
                .help = std::move(help)});
}

void checkCount(std::string_view op, size_t have, const Operand& x) {
  if (have != x.shape().size())
    refuseBounds(op, fmt::format("one entry per axis, {}", x.rank()), fmt::format("{}", have),
                 "name every axis of the operand");
}

Array concatenateArrays(std::vector<Array> parts, int64_t axis) {
  Shape shape = parts[0].shape();
  shape[axis] = 0;
  for (const Array& p : parts) shape[axis] += p.shape()[axis];
  const ArrayType type{parts[0].dtype(), shape};
  std::erase_if(parts, [&](const Array& p) { return p.shape()[axis] == 0; });
  if (parts.empty()) return zeros(type.shape, type.dtype);
  if (parts.size() == 1) return parts[0];
  return lang::bind(lang::kPieceOps["concatenate"], parts, {&type, 1}, {{"dimension", axis}})[0];
}

Array sliceAxis(const Array& x, int64_t axis, int64_t start, int64_t limit) {
  std::vector<int64_t> starts(x.rank(), 0), limits = x.shape();
  starts[axis] = start;
  limits[axis] = limit;
  return slice(x, std::move(starts), std::move(limits));
}

/// A mask that is true where column - row <= k, over the last two axes.
Array lowerTriangle(std::string_view op, const Operand& x, int64_t k) {
  if (x.rank() < 2) lang::checkedAxis(op, -2, x.rank());
  const Shape plane{x.array().dim(-2), x.array().dim(-1)};
  const Array row = broadcasted_iota(DType::i32, plane, 0, x.at()),
              column = broadcasted_iota(DType::i32, plane, 1, x.at());
  return greater_equal(add(row, k), column);
}

/// Error SM6307 for an op that takes one or more arrays.
void checkSome(std::string_view op, const std::vector<Operand>& parts, const Location& at) {
  if (!parts.empty()) return;
  SourceLocationScope place(at);
  lang::refuse({.code = "SM6307",
                .message = fmt::format("'{}' of no arrays", op),
                .place = {},
                .need = "one or more arrays",
                .have = "none",
                .help = "pass at least one array"});
}

/// The arrays in their common dtype.
std::vector<Array> promoted(std::string_view op, const std::vector<Operand>& parts) {
  std::vector<const Operand*> all;
  for (const Operand& p : parts) all.push_back(&p);
  const lang::Promoted to = lang::promote(op, all);
  std::vector<Array> arrays;
  for (const Operand& p : parts) arrays.push_back(lang::convertTo(p.array(), to.dtype));
  return arrays;
}

}  // namespace

Array concatenate(const std::vector<Operand>& parts, int64_t axis, Location at) {
  checkSome("concatenate", parts, at);
  SourceLocationScope place(parts[0].at());
  axis = lang::checkedAxis("concatenate", axis, parts[0].rank());
  for (const Operand& p : parts) {
    Shape other = p.shape();
    if (other.size() == parts[0].shape().size()) other[axis] = parts[0].shape()[axis];
    if (other != parts[0].shape())
      lang::refuse({.code = "SM6301",
                    .message = fmt::format("'concatenate' of arrays that differ in more than axis {}", axis),
                    .place = {},
                    .need = fmt::format("shape [{}], but for axis {}", fmt::join(parts[0].shape(), ", "), axis),
                    .have = fmt::format("shape [{}]", fmt::join(p.shape(), ", ")),
                    .help = "pad, slice or reshape the array"});
  }
  return concatenateArrays(promoted("concatenate", parts), axis);
}

Array stack(const std::vector<Operand>& parts, int64_t axis, Location at) {
  checkSome("stack", parts, at);
  SourceLocationScope place(parts[0].at());
  axis = lang::checkedAxis("stack", axis, parts[0].rank() + 1);
  for (const Operand& p : parts)
    if (p.shape() != parts[0].shape())
      lang::refuse({.code = "SM6301",
                    .message = "'stack' of arrays of different shapes",
                    .place = {},
                    .need = fmt::format("shape [{}]", fmt::join(parts[0].shape(), ", ")),
                    .have = fmt::format("shape [{}]", fmt::join(p.shape(), ", ")),
                    .help = "pad, slice or reshape the array"});
  std::vector<Array> expanded;
  for (Array& part : promoted("stack", parts)) expanded.push_back(expand_dims({part, parts[0].at()}, axis));
  return concatenateArrays(std::move(expanded), axis);
}

Array slice(const Operand& x, std::vector<int64_t> starts, std::vector<int64_t> limits, std::vector<int64_t> strides) {
  SourceLocationScope place(x.at());
  for (const auto* entries : {&starts, &limits, &strides}) checkCount("slice", entries->size(), x);
  Shape shape;
  for (int64_t a = 0; a < x.rank(); ++a) {
    if (starts[a] < 0 || limits[a] < starts[a] || limits[a] > x.shape()[a])
      refuseBounds("slice", fmt::format("0 <= start <= limit <= {} in axis {}", x.shape()[a], a),
                   fmt::format("start {} and limit {}", starts[a], limits[a]), "keep to the operand's shape");
    if (strides[a] < 1)
      refuseBounds("slice", "strides of 1 or more", fmt::format("stride {} in axis {}", strides[a], a),
                   "there are no negative strides");
    shape.push_back((limits[a] - starts[a] + strides[a] - 1) / strides[a]);
  }
  if (shape == x.shape()) return x.array();
  return lang::bind1(lang::kPieceOps["slice"], {x.array()}, {x.dtype(), std::move(shape)},
                     {{"start_indices", starts}, {"limit_indices", limits}, {"strides", strides}});
}

Array slice(const Operand& x, std::vector<int64_t> starts, std::vector<int64_t> limits) {
  std::vector<int64_t> ones(starts.size(), 1);
  return slice(x, std::move(starts), std::move(limits), std::move(ones));
}

Array pad(const Operand& x, std::vector<std::pair<int64_t, int64_t>> widths, const Operand& value) {
  SourceLocationScope place(x.at());
  checkCount("pad", widths.size(), x);
  if (value.rank() != 0)
    lang::refuse({.code = "SM6301",
                  .message = "'pad' fills with one value",
                  .place = {},
                  .need = "a scalar",
                  .have = fmt::format("shape [{}]", fmt::join(value.shape(), ", ")),
                  .help = "use concatenate to add an array"});
  Array result = x.array();
  for (int64_t a = 0; a < x.rank(); ++a) {
    const auto [before, after] = widths[a];
    if (before < 0 || after < 0)
      refuseBounds("pad", "widths of 0 or more", fmt::format("({}, {}) in axis {}", before, after, a),
                   "use slice to take elements away");
    const auto filled = [&](int64_t n) {
      Shape shape = result.shape();
      shape[a] = n;
      return full(shape, value, x.dtype());
    };
    std::vector<Array> parts;
    if (before > 0) parts.push_back(filled(before));
    parts.push_back(result);
    if (after > 0) parts.push_back(filled(after));
    result = concatenateArrays(std::move(parts), a);
  }
  return result;
}

Array tile(const Operand& x, std::vector<int64_t> repeats) {
  SourceLocationScope place(x.at());
  Shape shape = x.shape();
  while (shape.size() < repeats.size()) shape.insert(shape.begin(), 1);
  while (repeats.size() < shape.size()) repeats.insert(repeats.begin(), 1);
  Array result = lang::reshapeTo(x.array(), shape);
  for (size_t a = 0; a < shape.size(); ++a) {
    if (repeats[a] < 0)
      refuseBounds("tile", "counts of 0 or more", fmt::format("{}", repeats[a]), "say how often each axis comes");
    if (repeats[a] == 0) {
      shape = result.shape();
      shape[a] = 0;
      result = zeros(shape, x.dtype(), x.at());
    } else if (repeats[a] > 1) {
      Shape wide = result.shape(), flat = wide;
      if (__builtin_mul_overflow(flat[a], repeats[a], &flat[a]))
        refuseBounds("tile", "fewer than 2^63 elements", fmt::format("{} times {}", wide[a], repeats[a]),
                     "repeat it less");
      wide.insert(wide.begin() + static_cast<ptrdiff_t>(a), repeats[a]);
      result = lang::reshapeTo(broadcast_to(expand_dims(Operand(result, x.at()), static_cast<int64_t>(a)), wide), flat);
    }
  }
  return result;
}

Array repeat(const Operand& x, int64_t count, int64_t axis) {
  SourceLocationScope place(x.at());
  axis = lang::checkedAxis("repeat", axis, x.rank());
  if (count < 0)
    refuseBounds("repeat", "a count of 0 or more", fmt::format("{}", count), "say how often each element comes");
  Shape wide = x.shape(), flat = x.shape();
  wide.insert(wide.begin() + axis + 1, count);
  flat[axis] *= count;
  return lang::reshapeTo(broadcast_to(expand_dims(x, axis + 1), wide), flat);
}

Array take_along_axis(const Operand& x, const Operand& indices, int64_t axis) {
  SourceLocationScope place(x.at());
  axis = lang::checkedAxis("take_along_axis", axis, x.rank());
  if (!is_integer(indices.dtype())) lang::refuseDType("take_along_axis", indices.dtype(), "integer indices");
  if (indices.rank() != x.rank())
    lang::refuse({.code = "SM6301",
                  .message = "'take_along_axis' with indices of the wrong rank",
                  .place = {},
                  .need = fmt::format("rank {}", x.rank()),
                  .have = fmt::format("rank {}", indices.rank()),
                  .help = "add axes of size 1 to the indices"});
  // Both broadcast to each other, but for the axis.
  Shape from = x.shape(), to = indices.shape();
  from[axis] = to[axis] = 1;
  const Array fromShape = Array::view({x.dtype(), from}, nullptr), toShape = Array::view({x.dtype(), to}, nullptr);
  const Operand a(fromShape, x.at()), b(toShape, indices.at());
  from = to = lang::broadcastShape("take_along_axis", {&a, &b});
  from[axis] = x.shape()[axis];
  to[axis] = indices.shape()[axis];
  // The op takes unsigned indices modulo the size, which of negative ones is another element unless it divides 2³².
  Array at = lang::prepare(indices, DType::i32, to);
  const bool dividesAll = std::has_single_bit(static_cast<uint64_t>(from[axis]));
  if (!is_unsigned_integer(indices.dtype()) && from[axis] > 0 && !dividesAll)
    at = mod(at, static_cast<int32_t>(from[axis]));
  return lang::bind1(lang::kPieceOps["take_along_axis"], {lang::broadcastTo(x.array(), from), at}, {x.dtype(), to},
                     {{"dimension", axis}});
}

std::vector<Array> split(const Operand& x, int64_t parts, int64_t axis) {
  SourceLocationScope place(x.at());
  axis = lang::checkedAxis("split", axis, x.rank());
  const int64_t n = x.shape()[axis];
  if (parts < 1 || n % parts != 0)
    refuseBounds("split", fmt::format("a number of parts that divides {}", n), fmt::format("{} parts", parts),
                 "pad the axis, or take slices");
  std::vector<Array> result;
  for (int64_t i = 0; i < parts; ++i)
    result.push_back(sliceAxis(x.array(), axis, i * (n / parts), (i + 1) * (n / parts)));
  return result;
}

Array tril(const Operand& x, int64_t k) {
  SourceLocationScope place(x.at());
  return where(lowerTriangle("tril", x, k), x, full({}, 0, x.dtype()));
}
Array triu(const Operand& x, int64_t k) {
  SourceLocationScope place(x.at());
  return where(lowerTriangle("triu", x, k - 1), full({}, 0, x.dtype()), x);
}

}  // namespace smalti
