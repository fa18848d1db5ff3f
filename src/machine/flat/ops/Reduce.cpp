// Reductions. A result is defined when everything that went into it is.
#include <algorithm>

#include "eval/Reduce.h"
#include "machine/Shadow.h"
#include "machine/flat/ops/Table.h"

namespace smalti::machine::flat {
namespace {

constexpr std::byte kDefined{1};

/// An operand's mask as evaluators see it; none: all defined.
eval::Input maskInput(const Operand& operand, const uint8_t* mask) {
  return {mask ? reinterpret_cast<const std::byte*>(mask) : &kDefined, DType::pred, operand.shape,
          !mask || operand.splat};
}

/// The conjunction of the masks of the elements that are reduced to each element of `out`.
void reduceMask(eval::Input in, std::span<const int64_t> dims, eval::Input acc, const Operand& out, uint8_t* result) {
  eval::multiReduce(eval::ReduceKind::andi, in, dims, acc,
                    {reinterpret_cast<std::byte*>(result), DType::pred, out.shape});
}

struct Reduce : Payload {
  eval::ReduceKind kind = eval::ReduceKind::add;
  Operand in, acc, out;
  Shape dims;
  void run(Frame& frame) const {
    eval::multiReduce(kind, frame.input(in), dims, frame.input(acc), frame.output(out));
    const uint8_t *mask = frame.mask(in), *accMask = frame.mask(acc);
    frame.setDefined(out);
    if (!mask && !accMask) return;
    reduceMask(maskInput(in, mask), dims, maskInput(acc, accMask), out, frame.newMask(out));
    frame.tidyMask(out);
  }
};

Status emitReduce(FlatLowering& lowering, mlir::Operation& op, Reduce payload) {
  const Shape shape = payload.in.shape;
  Shape rest;
  for (int64_t d : payload.dims)
    if (d < 0 || d >= static_cast<int64_t>(shape.size())) return lowering.refuse(op, "there is no such dimension");
  for (size_t d = 0; d < shape.size(); ++d)
    if (std::find(payload.dims.begin(), payload.dims.end(), static_cast<int64_t>(d)) == payload.dims.end())
      rest.push_back(shape[d]);
  if (rest != shapeOf(op.getResult(0).getType()) || payload.acc.shape != rest)
    return lowering.refuse(op, "shapes do not fit");
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

Status lowerMultiReduction(FlatLowering& lowering, mlir::Operation& op) {
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
Status lowerReduction(FlatLowering& lowering, mlir::Operation& op) {
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
  int axis = 0;
  bool isMax = true;
  void run(Frame& frame) const {
    eval::reduceIndex(isMax, frame.input(in), axis, frame.output(out));
    const uint8_t* mask = frame.mask(in);
    frame.setDefined(out);
    if (!mask) return;
    const int64_t dims[] = {axis};
    reduceMask(maskInput(in, mask), dims, maskInput(out, nullptr), out, frame.newMask(out));
    frame.tidyMask(out);
  }
};

Status lowerReduceIndex(FlatLowering& lowering, mlir::Operation& op) {
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
  payload.out = lowering.define(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

constexpr FlatOpRow kReduceTable[] = {
    {"tpu.reduce_index", lowerReduceIndex, OpClass::cross},
    {"vector.multi_reduction", lowerMultiReduction, OpClass::cross},
    {"vector.reduction", lowerReduction, OpClass::cross},
};

}  // namespace

std::span<const FlatOpRow> reduceTable() { return kReduceTable; }

}  // namespace smalti::machine::flat
