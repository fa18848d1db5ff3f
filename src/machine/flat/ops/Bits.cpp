// Ops on bit patterns: bitcasts, packing, stochastic rounding, and the hardware's random numbers.
#include <cstring>

#include "eval/Bits.h"
#include "machine/Shadow.h"
#include "machine/flat/ops/Table.h"

namespace smalti::machine::flat {
namespace {

// ---- tpu.bitcast (S-D8)

struct Bitcast : Payload {
  Operand in, out;
  void run(Frame& frame) const {
    if (out.splat)  // one element stands for all on both sides
      eval::bitcast({frame.input(in).data, in.dtype, {}}, {frame.output(out).data, out.dtype, {}});
    else
      eval::bitcast(frame.input(in), frame.output(out));
    const uint8_t* mask = frame.mask(in);
    frame.setDefined(out);
    if (!mask) return;
    if (in.splat)
      std::memset(frame.newMask(out), *mask, static_cast<size_t>(out.stored()));
    else
      bitcastMask(mask, in.shape, bit_width(in.dtype), frame.newMask(out), bit_width(out.dtype));
    frame.tidyMask(out);
  }
};

Status lowerBitcast(FlatLowering& lowering, mlir::Operation& op) {
  Bitcast payload;
  payload.in = lowering.operand(op.getOperand(0));
  const Shape shape = shapeOf(op.getResult(0).getType());
  const int64_t inBits = bit_width(payload.in.dtype), outBits = bit_width(elementDType(op.getResult(0).getType()));
  Shape expected = payload.in.shape;
  if (inBits != outBits) {
    if (expected.size() < 2 || expected[expected.size() - 2] * inBits % outBits != 0)
      return lowering.refuse(op, "shapes do not fit");
    expected[expected.size() - 2] = expected[expected.size() - 2] * inBits / outBits;
  }
  if (shape != expected) return lowering.refuse(op, "shapes do not fit");
  payload.out = lowering.define(op.getResult(0), payload.in.splat && inBits == outBits);
  lowering.emit(std::move(payload));
  return {};
}

// ---- packing (S-E18): results depend on the same element of every operand

/// ANDs the masks of element-wise operands into out's.
void combine(Frame& frame, std::span<const Operand> operands, const Operand& out) {
  frame.setDefined(out);
  bool masked = false;
  for (const Operand& o : operands) masked |= frame.mask(o) != nullptr;
  if (!masked) return;
  uint8_t* result = frame.newMask(out);
  const int64_t n = out.stored();
  std::memset(result, 1, static_cast<size_t>(n));
  for (const Operand& o : operands)
    if (const uint8_t* mask = frame.mask(o))
      for (int64_t k = 0; k < n; ++k) result[k] &= mask[o.splat ? 0 : k];
  frame.tidyMask(out);
}

struct Pack : Payload {
  std::vector<Operand> ins;
  Operand out;
  DType target = DType::bf16;
  void run(Frame& frame) const {
    std::vector<eval::Input> inputs;
    for (const Operand& o : ins) inputs.push_back(frame.input(o));
    eval::packElementwise(inputs, target, frame.output(out));
    combine(frame, ins, out);
  }
};

std::optional<DType> typeAttribute(mlir::Operation& op, llvm::StringRef name) {
  auto type = op.getAttrOfType<mlir::TypeAttr>(name);
  return type ? dtypeOf(type.getValue()) : std::nullopt;
}

Status lowerPack(FlatLowering& lowering, mlir::Operation& op) {
  Pack payload;
  payload.ins = lowering.operands(op.getOperands());
  const auto target = typeAttribute(op, "target_type");
  const DType outType = elementDType(op.getResult(0).getType());
  if (!target || payload.ins.empty()) return lowering.refuse(op);
  payload.target = *target;
  if (bit_width(*target) * static_cast<int>(payload.ins.size()) > bit_width(outType))
    return lowering.refuse(op, "too many parts for one word");
  for (const Operand& in : payload.ins)
    if (in.shape != shapeOf(op.getResult(0).getType()) || in.dtype != payload.ins[0].dtype)
      return lowering.refuse(op, "shapes or dtypes differ");
  uint64_t zero = 0, word = 0;
  const Shape unit(payload.ins[0].shape.size(), 1);
  const std::vector<eval::Input> probe(payload.ins.size(),
                                       {reinterpret_cast<const std::byte*>(&zero), payload.ins[0].dtype, unit, false});
  if (!eval::packElementwise(probe, *target, {reinterpret_cast<std::byte*>(&word), outType, unit}))
    return lowering.refuse(op);
  payload.out = lowering.define(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

struct Unpack : Payload {
  Operand in, out;
  DType source = DType::bf16;
  int index = 0;
  void run(Frame& frame) const {
    eval::unpackElementwise(frame.input(in), source, index, frame.output(out));
    combine(frame, {&in, 1}, out);
  }
};

Status lowerUnpack(FlatLowering& lowering, mlir::Operation& op) {
  Unpack payload;
  payload.in = lowering.operand(op.getOperand(0));
  payload.index = static_cast<int>(integerAttribute(op, "index", 0));
  const auto source = typeAttribute(op, "source_type");
  const DType outType = elementDType(op.getResult(0).getType());
  if (!source || payload.index < 0 || (payload.index + 1) * bit_width(*source) > bit_width(payload.in.dtype) ||
      payload.in.shape != shapeOf(op.getResult(0).getType()))
    return lowering.refuse(op);
  payload.source = *source;
  uint64_t zero = 0, word = 0;
  const Shape unit(payload.in.shape.size(), 1);
  if (!eval::unpackElementwise({reinterpret_cast<const std::byte*>(&zero), payload.in.dtype, unit, false}, *source,
                               payload.index, {reinterpret_cast<std::byte*>(&word), outType, unit}))
    return lowering.refuse(op);
  payload.out = lowering.define(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

// ---- tpu.stochastic_convert (S-E19)

struct StochasticConvert : Payload {
  std::array<Operand, 2> ins;
  Operand out;
  void run(Frame& frame) const {
    eval::stochasticConvert(frame.input(ins[0]), frame.input(ins[1]), frame.output(out));
    combine(frame, ins, out);
  }
};

Status lowerStochasticConvert(FlatLowering& lowering, mlir::Operation& op) {
  StochasticConvert payload;
  payload.ins = {lowering.operand(op.getOperand(0)), lowering.operand(op.getOperand(1))};
  const DType outType = elementDType(op.getResult(0).getType());
  if (payload.ins[0].shape != payload.ins[1].shape || payload.ins[0].shape != shapeOf(op.getResult(0).getType()))
    return lowering.refuse(op);
  uint64_t zero = 0, word = 0;
  const Shape unit(payload.ins[0].shape.size(), 1);
  const auto* data = reinterpret_cast<const std::byte*>(&zero);
  if (!eval::stochasticConvert({data, payload.ins[0].dtype, unit, false}, {data, payload.ins[1].dtype, unit, false},
                               {reinterpret_cast<std::byte*>(&word), outType, unit}))
    return lowering.refuse(op);
  payload.out = lowering.define(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

// ---- tpu.reduce_precision

struct ReducePrecision : Payload {
  Operand in, out;
  int exponentBits = 0, mantissaBits = 0;
  void run(Frame& frame) const {
    eval::reducePrecision(in.dtype, frame.slots[in.slot].data, out.stored(), exponentBits, mantissaBits,
                          frame.slots[out.slot].data);
    combine(frame, {&in, 1}, out);
  }
};

Status lowerReducePrecision(FlatLowering& lowering, mlir::Operation& op) {
  ReducePrecision payload;
  payload.in = lowering.operand(op.getOperand(0));
  payload.exponentBits = static_cast<int>(integerAttribute(op, "exponent_bits", 0));
  payload.mantissaBits = static_cast<int>(integerAttribute(op, "mantissa_bits", 0));
  if (!eval::reducePrecision(payload.in.dtype, nullptr, 0, payload.exponentBits, payload.mantissaBits, nullptr))
    return lowering.refuse(op);
  payload.out = lowering.define(op.getResult(0), payload.in.splat);
  lowering.emit(std::move(payload));
  return {};
}

// ---- the hardware's random numbers (S-L2)

struct PrngSeed : Payload {
  std::vector<Operand> words;
  void run(Frame& frame) const {
    std::vector<int32_t> seed;
    for (const Operand& word : words) seed.push_back(static_cast<int32_t>(frame.integer(word)));
    frame.core->prngSeed(seed);
  }
};

Status lowerPrngSeed(FlatLowering& lowering, mlir::Operation& op) {
  PrngSeed payload;
  payload.words = lowering.operands(op.getOperands());
  for (const Operand& word : payload.words)
    if (!is_integer(word.dtype) || !word.shape.empty()) return lowering.refuse(op, "seeds are integers");
  lowering.emit(std::move(payload));
  return {};
}

struct PrngBits : Payload {
  Operand out;
  void run(Frame& frame) const {
    frame.core->prngFill(reinterpret_cast<uint32_t*>(frame.slots[out.slot].data), out.stored());
    frame.setDefined(out);
  }
};

Status lowerPrngBits(FlatLowering& lowering, mlir::Operation& op) {
  PrngBits payload;
  payload.out = lowering.define(op.getResult(0));
  if (payload.out.dtype != DType::i32) return lowering.refuse(op, "random bits come in 32-bit words");
  lowering.emit(std::move(payload));
  return {};
}

constexpr FlatOpRow kBitsTable[] = {
    {"tpu.bitcast", lowerBitcast, OpClass::vector},
    {"tpu.pack_elementwise", lowerPack, OpClass::vector},
    {"tpu.prng_random_bits", lowerPrngBits, OpClass::vector},
    {"tpu.prng_set_seed_32", lowerPrngSeed, OpClass::scalar},
    {"tpu.reduce_precision", lowerReducePrecision, OpClass::vector},
    {"tpu.stochastic_convert", lowerStochasticConvert, OpClass::vector},
    {"tpu.unpack_elementwise", lowerUnpack, OpClass::vector},
};

}  // namespace

std::span<const FlatOpRow> bitsTable() { return kBitsTable; }

}  // namespace smalti::machine::flat
