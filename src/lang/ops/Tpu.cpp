// The TPU's own ops on registers.
#include "smalti/ops/tpu.h"

#include <algorithm>

#include <fmt/format.h>

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "eval/Bits.h"
#include "eval/Elementwise.h"
#include "eval/Shape.h"
#include "ir/Tpu.h"
#include "ir/program/TypeRules.h"
#include "lang/eager/Eager.h"
#include "lang/lower/DialectLowering.h"
#include "lang/ops/OpRecord.h"
#include "lang/ops/Roll.h"
#include "lang/ops/Support.h"
#include "lang/transform/rules/Elementwise.h"
#include "lang/transform/rules/Moves.h"
#include "smalti/ops/create.h"
#include "smalti/ops/elementwise.h"
#include "smalti/ops/shape.h"

namespace smalti::lang {
namespace {

void lowerReciprocal(DialectLowering& l, const Op& op) {
  const mlir::Value x = l.value(op.operands[0]);
  if (l.typeOf(op.operands[0]).shape.empty()) {  // the op is the vector unit's
    l.set(op.results[0], l.create1("arith.divf", {l.constant(x.getType(), 1), x}, x.getType()));
    return;
  }
  l.set(op.results[0],
        emitOne(l, op, "tpu.reciprocal",
                {l.b.getNamedAttr("approx", l.b.getBoolAttr(std::get<bool>(*op.find("approx")))),
                 l.b.getNamedAttr("full_range", l.b.getBoolAttr(std::get<bool>(*op.find("full_range"))))}));
}

void lowerRoll(DialectLowering& l, const Op& op) {
  std::vector<mlir::NamedAttribute> attributes;
  for (const char* name : {"dimension", "stride", "stride_dimension"}) copyInteger(l, op, name, attributes, true);
  l.set(op.results[0], emitOne(l, op, "tpu.dynamic_rotate", attributes));
}

void lowerBitcast(DialectLowering& l, const Op& op) { l.set(op.results[0], emitOne(l, op, "tpu.bitcast")); }
void lowerStochasticRound(DialectLowering& l, const Op& op) {
  l.set(op.results[0], emitOne(l, op, "tpu.stochastic_convert"));
}

mlir::TypeAttr packedElement(DialectLowering& l, const Op& op) {
  const DType t = *dtype_from_name(std::get<std::string>(*op.find("packed_dtype")));
  return mlir::TypeAttr::get(l.mlirType({t, {}}));
}

void lowerPack(DialectLowering& l, const Op& op) {
  l.set(op.results[0], emitOne(l, op, "tpu.pack_elementwise", {l.b.getNamedAttr("target_type", packedElement(l, op))}));
}

void lowerUnpack(DialectLowering& l, const Op& op) {
  std::vector<mlir::NamedAttribute> attributes{l.b.getNamedAttr("source_type", packedElement(l, op))};
  copyInteger(l, op, "index", attributes);
  l.set(op.results[0], emitOne(l, op, "tpu.unpack_elementwise", attributes));
}

void lowerPrngSeed(DialectLowering& l, const Op& op) { l.create("tpu.prng_set_seed_32", valuesOf(l, op.operands), {}); }
void lowerPrngRandomBits(DialectLowering& l, const Op& op) {
  l.set(op.results[0], emitOne(l, op, "tpu.prng_random_bits"));
}

void lowerMultipleOf(DialectLowering& l, const Op& op) {
  std::vector<mlir::NamedAttribute> attributes;
  copyInteger(l, op, "multiple", attributes);
  l.set(op.results[0], emitOne(l, op, "tpu.assume_multiple", attributes));
}

using plain::in, plain::PlainCall, plain::PlainResults;

PlainResults evaluateReciprocal(PlainCall& call) {
  const bool approx = std::get<bool>(*call.op.find("approx"));
  return into(call, [&](eval::Output to) {
    const std::byte* from = call.operands[0].data();
    if (approx)
      eval::reciprocalApprox(reinterpret_cast<const float*>(from), reinterpret_cast<float*>(to.data), to.elements());
    else
      eval::findUnary("tpu.reciprocal", to.dtype)(from, to.data, to.elements());
    return true;
  });
}

PlainResults evaluateRoll(PlainCall& call) {
  return into(call, [&](eval::Output to) {
    eval::dynamicRotate(in(call.operands[0]), plain::indexAt(call.operands[1], 0),
                        static_cast<int>(call.typed().integer("dimension")), call.typed().integer("stride"),
                        static_cast<int>(call.typed().integer("stride_dimension", -1)), to);
    return true;
  });
}

PlainResults evaluateBitcast(PlainCall& call) {
  return into(call, [&](eval::Output to) {
    eval::bitcast(in(call.operands[0]), to);
    return true;
  });
}

DType packedType(const PlainCall& call) { return *dtype_from_name(call.typed().text("packed_dtype")); }

PlainResults evaluatePack(PlainCall& call) {
  return into(call, [&](eval::Output to) {
    std::vector<eval::Input> sources;
    for (const Array& a : call.operands) sources.push_back(in(a));
    return eval::packElementwise(sources, packedType(call), to);
  });
}

PlainResults evaluateUnpack(PlainCall& call) {
  return into(call, [&](eval::Output to) {
    return eval::unpackElementwise(in(call.operands[0]), packedType(call),
                                   static_cast<int>(call.typed().integer("index")), to);
  });
}

PlainResults evaluateStochasticRound(PlainCall& call) {
  return into(call,
              [&](eval::Output to) { return eval::stochasticConvert(in(call.operands[0]), in(call.operands[1]), to); });
}

std::vector<Array> expandMultipleOf(const OpCall& call) { return {call.operands[0]}; }

/// The approximation is the TPU's own: a program has the quotient.
std::vector<Array> expandReciprocal(const OpCall& call) { return {div(Operand(1.0), Operand(call.operands[0]))}; }

/// A slice, at the shift, of two copies of the array.
std::vector<Array> expandRoll(const OpCall& call) {
  const Array &x = call.operands[0], &shift = call.operands[1];
  const auto axis = call.attribute<int64_t>("dimension");
  const int64_t size = x.shape()[axis];
  if (x.elements() == 0) return {x};
  if (isStrided(call)) return {take_along_axis(x, rollSources(call, x.shape(), axis, shift), axis)};
  return {dynamicSlice(concatenate({x, x}, axis), axis, size - mod(shift, size), size)};
}

constexpr std::string_view kOfTheCore = "it is the state of a core, which kernels alone have";

constexpr OpTable kTpuOps{
    OpRecord{.name = "bitcast",
             .types = oneResult,
             .evaluate = evaluateBitcast,
             .lower = lowerBitcast,
             .noJvp = "the bits of a number have no derivative",
             .noBatch = "it moves bits between rows, which differ by example"},
    OpRecord{.name = "multiple_of",
             .types = likeOperand,
             .expand = expandMultipleOf,
             .lower = lowerMultipleOf,
             .jvp = jvpZero,
             .batch = batchElementwise},
    OpRecord{.name = "pack_elementwise",
             .types = oneResult,
             .evaluate = evaluatePack,
             .lower = lowerPack,
             .batch = batchElementwise,
             .noJvp = "the bits of a number have no derivative"},
    OpRecord{.name = "prng_random_bits",
             .types = oneResult,
             .lower = lowerPrngRandomBits,
             .effect = true,
             .noJvp = kOfTheCore,
             .noBatch = kOfTheCore},
    OpRecord{.name = "prng_seed",
             .types = noResults,
             .lower = lowerPrngSeed,
             .effect = true,
             .noJvp = kOfTheCore,
             .noBatch = kOfTheCore},
    OpRecord{.name = "reciprocal",
             .types = likeOperand,
             .evaluate = evaluateReciprocal,
             .expand = expandReciprocal,
             .lower = lowerReciprocal,
             .jvp = jvpUnary<slopes::reciprocal>,
             .batch = batchElementwise},
    OpRecord{.name = "roll",
             .types = likeOperand,
             .evaluate = evaluateRoll,
             .expand = expandRoll,
             .lower = lowerRoll,
             .jvp = jvpLinearInFirst,
             .transpose = transposeRoll,
             .batch = batchRoll},
    OpRecord{.name = "stochastic_round",
             .types = oneResult,
             .evaluate = evaluateStochasticRound,
             .lower = lowerStochasticRound,
             .batch = batchElementwise,
             .noJvp = "it rounds at random"},
    OpRecord{.name = "unpack_elementwise",
             .types = oneResult,
             .evaluate = evaluateUnpack,
             .lower = lowerUnpack,
             .batch = batchElementwise,
             .noJvp = "the bits of a number have no derivative"},
};
const OpFamily kTpuFamily(kTpuOps);

}  // namespace

bool isStrided(const OpCall& call) {
  return std::any_of(call.attributes.begin(), call.attributes.end(), [](const auto& a) { return a.first == "stride"; });
}
Array rollSources(const OpCall& call, const Shape& shape, int64_t axis, const Array& shift) {
  Array by = shift;
  if (isStrided(call)) {
    const auto stride = static_cast<int>(call.attribute<int64_t>("stride"));
    const auto along = call.attribute<int64_t>("stride_dimension") + (axis - call.attribute<int64_t>("dimension"));
    by = by + broadcasted_iota(DType::i32, shape, along) * stride;
  }
  return mod(broadcasted_iota(DType::i32, shape, axis) - by, shape[axis]);
}

Array assumeMultiple(const Array& x, int64_t n) {
  return bind1(kTpuOps["multiple_of"], {x}, x.type(), {{"multiple", n}});
}

}  // namespace smalti::lang

namespace smalti {

using lang::SourceLocationScope;

namespace {

DType uintOfWidth(int bits) {
  switch (bits) {
    case 4:
      return DType::u4;
    case 8:
      return DType::u8;
    case 16:
      return DType::u16;
    default:
      return DType::u32;
  }
}

[[noreturn]] void refuseArgument(std::string message, std::string need, std::string have, std::string help) {
  lang::refuse({.code = "SM6307",
                .message = std::move(message),
                .place = {},
                .need = std::move(need),
                .have = std::move(have),
                .help = std::move(help)});
}

int64_t partsPerWord(std::string_view op, DType wide, DType packed) {
  const bool floats = wide == DType::f32 && packed == DType::bf16;
  if (!floats && !(is_integer(wide) && is_integer(packed)))
    lang::refuse({.code = "SM6302",
                  .message = fmt::format("'{}' between {} and {}: only f32 and bf16, or integers, are supported", op,
                                         name(wide), name(packed)),
                  .place = {},
                  .need = "f32 with bf16, or integers",
                  .have = fmt::format("{} and {}", name(wide), name(packed)),
                  .help = "convert with astype first"});
  if (bit_width(packed) >= bit_width(wide))
    refuseArgument(fmt::format("'{}' needs a packed dtype narrower than the word", op),
                   fmt::format("fewer than {} bits", bit_width(wide)), fmt::format("{} bits", bit_width(packed)),
                   "pack into a narrower dtype");
  return bit_width(wide) / bit_width(packed);
}

Array rollBy(const Operand& x, const Operand& shift, int64_t axis, lang::Attributes stride) {
  SourceLocationScope place(x.at());
  axis = lang::checkedAxis("roll", axis, x.rank());
  if (!is_integer(shift.dtype()) || shift.rank() != 0)
    lang::refuseDType("roll", shift.dtype(), "an integer scalar as shift");
  const Array by = lang::convertTo(shift.array(), DType::i32);
  if (!by.is_traced() && *by.as<int32_t>() < 0)
    refuseArgument("shift must be non-negative", "0 or more", fmt::format("{}", *by.as<int32_t>()),
                   "add the size of the axis to the shift");
  stride.insert(stride.begin(), {"dimension", axis});
  return lang::bind1(lang::kTpuOps["roll"], {x.array(), by}, x.array().type(), std::move(stride));
}

}  // namespace

Array reciprocal(const Operand& x, bool approx, bool full_range) {
  SourceLocationScope place(x.at());
  if (x.dtype() != DType::f32) lang::refuseDType("reciprocal", x.dtype(), "f32");
  return lang::bind1(lang::kTpuOps["reciprocal"], {x.array()}, x.array().type(),
                     {{"approx", approx}, {"full_range", full_range}});
}

Array roll(const Operand& x, const Operand& shift, int64_t axis) { return rollBy(x, shift, axis, {}); }

Array roll(const Operand& x, const Operand& shift, int64_t axis, int64_t stride, int64_t stride_axis) {
  SourceLocationScope place(x.at());
  axis = lang::checkedAxis("roll", axis, x.rank());
  stride_axis = lang::checkedAxis("roll", stride_axis, x.rank());
  if (stride < 0)
    refuseArgument("stride must be non-negative", "0 or more", fmt::format("{}", stride), "roll the other way");
  if (axis == stride_axis)
    refuseArgument("expected axis and stride_axis are different", "another stride_axis",
                   fmt::format("axis {} twice", axis), "rows of stride_axis shift by stride more each");
  return rollBy(x, shift, axis, {{"stride", stride}, {"stride_dimension", stride_axis}});
}

Array bitcast(const Operand& x, DType dtype) {
  SourceLocationScope place(x.at());
  if (x.dtype() == dtype) return x.array();
  const int64_t from = bit_width(x.dtype()), to = bit_width(dtype);
  Shape shape = x.shape();
  const bool fits = shape.size() >= 2 && shape[shape.size() - 2] * from % to == 0;
  if (!fits || x.dtype() == DType::pred || dtype == DType::pred)
    lang::refuse({.code = "SM6306",
                  .message = shape.size() < 2 ? "'bitcast' of fewer than two axes"
                                              : "the second minor axis can not be perfectly packed or unpacked",
                  .place = {},
                  .need = fmt::format("two axes or more, the last but one times {} bits a multiple of {}", from, to),
                  .have = fmt::format("{}", x.array().type().str()),
                  .help = "add an axis, or pad the last but one"});
  shape[shape.size() - 2] = shape[shape.size() - 2] * from / to;
  return lang::bind1(lang::kTpuOps["bitcast"], {x.array()}, {dtype, std::move(shape)});
}

Array pack_elementwise(const std::vector<Operand>& sources, DType packed_dtype) {
  if (sources.empty())
    refuseArgument("At least one source is required", "one source or more", "none", "pass what is to be packed");
  const Operand& first = sources[0];
  SourceLocationScope place(first.at());
  const int64_t parts = partsPerWord("pack_elementwise", first.dtype(), packed_dtype);
  if (static_cast<int64_t>(sources.size()) != parts)
    refuseArgument("the number of sources must match the packing factor", fmt::format("{}", parts),
                   fmt::format("{}", sources.size()), "a word holds a fixed number of parts");
  std::vector<Array> arrays;
  for (const Operand& s : sources) {
    if (s.array().type() != first.array().type())
      refuseArgument("All sources must have the same shape and dtype", first.array().type().str(),
                     s.array().type().str(), "broadcast or convert the sources first");
    arrays.push_back(s.array());
  }
  const ArrayType type{uintOfWidth(bit_width(first.dtype())), first.shape()};
  return lang::bind(lang::kTpuOps["pack_elementwise"], arrays, {&type, 1},
                    {{"packed_dtype", std::string(name(packed_dtype))}})[0];
}

Array unpack_elementwise(const Operand& x, int index, DType packed_dtype, DType unpacked_dtype) {
  SourceLocationScope place(x.at());
  const int64_t parts = partsPerWord("unpack_elementwise", unpacked_dtype, packed_dtype);
  if (!is_integer(x.dtype()) || bit_width(x.dtype()) != bit_width(unpacked_dtype))
    lang::refuseDType("unpack_elementwise", x.dtype(), fmt::format("integers of {} bits", bit_width(unpacked_dtype)));
  if (index < 0 || index >= parts)
    refuseArgument(fmt::format("Index {} is out of bounds for packing factor {}", index, parts),
                   fmt::format("an index in [0, {})", parts), fmt::format("{}", index), "parts count from the lowest");
  return lang::bind1(lang::kTpuOps["unpack_elementwise"], {x.array()}, {unpacked_dtype, x.shape()},
                     {{"index", int64_t{index}}, {"packed_dtype", std::string(name(packed_dtype))}});
}

Array stochastic_round(const Operand& x, const Operand& random_bits, DType target_dtype) {
  SourceLocationScope place(x.at());
  if (x.dtype() != DType::f32) lang::refuseDType("stochastic_round", x.dtype(), "f32");
  if (random_bits.dtype() != DType::u32) lang::refuseDType("stochastic_round", random_bits.dtype(), "u32 random bits");
  if (random_bits.shape() != x.shape())
    refuseArgument("'stochastic_round' needs random bits for each element", x.array().type().str(),
                   random_bits.array().type().str(), "draw bits of the shape of x");
  if (bit_width(target_dtype) >= 32 || !(is_float(target_dtype) || is_signed_integer(target_dtype)))
    lang::refuseDType("stochastic_round", target_dtype, "a target of fewer than 32 bits");
  return lang::bind1(lang::kTpuOps["stochastic_round"], {x.array(), random_bits.array()}, {target_dtype, x.shape()});
}

void detail::prng_seed(const std::vector<Operand>& seeds, const Location& at) {
  SourceLocationScope place(at);
  std::vector<Array> words;
  for (const Operand& s : seeds) {
    if (!is_integer(s.dtype()) || s.rank() != 0) lang::refuseDType("prng_seed", s.dtype(), "integer scalars");
    words.push_back(lang::convertTo(s.array(), DType::i32));
  }
  lang::bind(lang::kTpuOps["prng_seed"], words, {});
}

Array prng_random_bits(Shape shape, Location at) {
  SourceLocationScope place(at);
  if (shape.size() < 2)
    refuseArgument("random_bits only supports rank>=2 outputs", "two axes or more", fmt::format("{}", shape.size()),
                   "draw more and take a slice");
  return lang::bind1(lang::kTpuOps["prng_random_bits"], {}, {DType::i32, std::move(shape)});
}

Array multiple_of(const Operand& x, int64_t n) {
  SourceLocationScope place(x.at());
  if (!is_integer(x.dtype()) || x.rank() != 0) lang::refuseDType("multiple_of", x.dtype(), "an integer scalar");
  if (n < 1)
    refuseArgument("'multiple_of' needs a positive number", "1 or more", fmt::format("{}", n), "name the divisor");
  if (!x.array().is_traced()) return x.array();
  return lang::assumeMultiple(x.array(), n);
}

}  // namespace smalti
