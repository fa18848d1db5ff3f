// Reductions. A result is defined when everything that went into it is.
#include <algorithm>
#include <cstring>

#include "eval/Reduce.h"
#include "machine/Shadow.h"
#include "machine/flat/ops/Table.h"

namespace smalti::machine::flat {
namespace {

/// ANDs a dense mask over the dims that `outStrides` maps to 0.
void reduceMask(const uint8_t* in, std::span<const int64_t> shape, std::span<const int64_t> outStrides, uint8_t* out) {
  const size_t rank = shape.size();
  std::array<int64_t, kMaxRank> index{};
  int64_t at = 0;
  const int64_t n = num_elements(shape);
  for (int64_t k = 0; k < n; ++k) {
    out[at] &= in[k];
    for (size_t d = rank; d-- > 0;) {
      at += outStrides[d];
      if (++index[d] < shape[d]) break;
      at -= outStrides[d] * shape[d];
      index[d] = 0;
    }
  }
}

/// Row-major strides of the result per dim of the input; 0 for reduced dims.
Shape outputStrides(std::span<const int64_t> shape, std::span<const int64_t> dims) {
  Shape strides(shape.size(), 0);
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end()) continue;
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

struct Reduce : Payload {
  eval::ReduceKind kind = eval::ReduceKind::add;
  Operand in, acc, out;
  Shape dims, strides;
  void run(Frame& frame) const {
    eval::multiReduce(kind, frame.input(in), dims, frame.input(acc), frame.output(out));
    const uint8_t *mask = frame.mask(in), *accMask = frame.mask(acc);
    frame.setDefined(out);
    if (!mask && !accMask) return;
    uint8_t* result = frame.newMask(out);
    const int64_t n = out.stored();
    for (int64_t k = 0; k < n; ++k) result[k] = !accMask || accMask[acc.splat ? 0 : k];
    if (mask && in.splat)
      for (int64_t k = 0; k < n; ++k) result[k] &= *mask;
    else if (mask)
      reduceMask(mask, in.shape, strides, result);
    frame.tidyMask(out);
  }
};

Status emitReduce(Lowering& lowering, mlir::Operation& op, Reduce payload) {
  const Shape shape = payload.in.shape;
  Shape rest;
  for (int64_t d : payload.dims)
    if (d < 0 || d >= static_cast<int64_t>(shape.size())) return lowering.refuse(op, "there is no such dimension");
  for (size_t d = 0; d < shape.size(); ++d)
    if (std::find(payload.dims.begin(), payload.dims.end(), static_cast<int64_t>(d)) == payload.dims.end())
      rest.push_back(shape[d]);
  if (rest != shapeOf(op.getResult(0).getType()) || payload.acc.shape != rest)
    return lowering.refuse(op, "shapes do not fit");
  payload.strides = outputStrides(shape, payload.dims);
  // Does the kind exist for the dtype? Asked with one element.
  uint64_t one = 0, result = 0;
  const Shape unit(shape.size(), 1), unitRest(rest.size(), 1);
  const eval::Input probe{reinterpret_cast<const std::byte*>(&one), payload.in.dtype, unit, false};
  const eval::Input probeAcc{reinterpret_cast<const std::byte*>(&one), payload.acc.dtype, unitRest, true};
  if (!eval::multiReduce(payload.kind, probe, payload.dims, probeAcc,
                         {reinterpret_cast<std::byte*>(&result), payload.acc.dtype, unitRest}))
    return lowering.refuse(op, "there is no such reduction of this dtype");
  payload.out = lowering.define(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

Status lowerMultiReduction(Lowering& lowering, mlir::Operation& op) {
  const auto kind = eval::reduceKindFromName(keywordAttribute(op, "kind"));
  if (!kind) return lowering.refuse(op, "unknown kind");
  Reduce payload;
  payload.kind = *kind;
  payload.in = lowering.operand(op.getOperand(0));
  payload.acc = lowering.operand(op.getOperand(1));
  payload.dims = integersAttribute(op, "reduction_dims");
  return emitReduce(lowering, op, std::move(payload));
}

/// vector.reduction: a vector of one dimension to a scalar, with or without an accumulator.
Status lowerReduction(Lowering& lowering, mlir::Operation& op) {
  const auto kind = eval::reduceKindFromName(keywordAttribute(op, "kind"));
  if (!kind || op.getNumOperands() != 2) return lowering.refuse(op, "only reductions with an accumulator are known");
  Reduce payload;
  payload.kind = *kind;
  payload.in = lowering.operand(op.getOperand(0));
  payload.acc = lowering.operand(op.getOperand(1));
  payload.dims = {0};
  return emitReduce(lowering, op, std::move(payload));
}

/// tpu.reduce_index: argmax and argmin (S-E13).
struct ReduceIndex : Payload {
  Operand in, out;
  Shape strides;
  int axis = 0;
  bool isMax = true;
  void run(Frame& frame) const {
    eval::reduceIndex(isMax, frame.input(in), axis, frame.output(out));
    const uint8_t* mask = frame.mask(in);
    frame.setDefined(out);
    if (!mask) return;
    uint8_t* result = frame.newMask(out);
    std::memset(result, in.splat ? *mask : 1, static_cast<size_t>(out.stored()));
    if (!in.splat) reduceMask(mask, in.shape, strides, result);
    frame.tidyMask(out);
  }
};

Status lowerReduceIndex(Lowering& lowering, mlir::Operation& op) {
  ReduceIndex payload;
  payload.in = lowering.operand(op.getOperand(0));
  payload.axis = static_cast<int>(integerAttribute(op, "axis", -1));
  const std::string kind = keywordAttribute(op, "kind");
  payload.isMax = kind == "arg_max";
  if ((kind != "arg_max" && kind != "arg_min") || payload.axis < 0 ||
      payload.axis >= static_cast<int>(payload.in.shape.size()))
    return lowering.refuse(op, "only arg_max and arg_min over one dimension are known");
  Shape rest = payload.in.shape;
  rest.erase(rest.begin() + payload.axis);
  if (rest != shapeOf(op.getResult(0).getType())) return lowering.refuse(op, "shapes do not fit");
  uint64_t one = 0, result = 0;
  const Shape unit(payload.in.shape.size(), 1), unitRest(rest.size(), 1);
  if (!eval::reduceIndex(payload.isMax, {reinterpret_cast<const std::byte*>(&one), payload.in.dtype, unit, false},
                         payload.axis,
                         {reinterpret_cast<std::byte*>(&result), elementDType(op.getResult(0).getType()), unitRest}))
    return lowering.refuse(op, "there is no such reduction of this dtype");
  const Shape dims{payload.axis};
  payload.strides = outputStrides(payload.in.shape, dims);
  payload.out = lowering.define(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

constexpr LowerRow kTable[] = {
    {"tpu.reduce_index", lowerReduceIndex},
    {"vector.multi_reduction", lowerMultiReduction},
    {"vector.reduction", lowerReduction},
};

}  // namespace

std::span<const LowerRow> reduceTable() { return kTable; }

}  // namespace smalti::machine::flat
