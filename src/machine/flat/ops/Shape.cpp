// Ops that move elements and compute nothing: broadcast, shape_cast, transpose, concatenate, rotate, gather.
// Moving a splat gives the same splat; masks move through the same functions.
#include <algorithm>
#include <cstring>

#include "eval/Shape.h"
#include "machine/flat/ops/Table.h"

namespace smalti::machine::flat {
namespace {

Status lowerShapeCast(FlatLowering& lowering, mlir::Operation& op) {
  const int64_t n = checkedElements(shapeOf(op.getResult(0).getType()));
  if (n != checkedElements(shapeOf(op.getOperand(0).getType())) || n < 0)
    return lowering.refuse(op, "the number of elements changes");
  lowering.alias(op.getResult(0), op.getOperand(0));
  return {};
}

struct Broadcast : Payload {
  Operand in, out;
  void run(Frame& frame) const {
    moveElements(frame, in, out, [](eval::Input i, eval::Output o) { eval::broadcast(i, o); });
  }
};

Status lowerBroadcast(FlatLowering& lowering, mlir::Operation& op) {
  mlir::Value in = op.getOperand(0), out = op.getResult(0);
  const Operand source = lowering.operand(in);
  const Shape shape = shapeOf(out.getType());
  if (source.stored() == 1) {
    lowering.aliasSplat(out, in);
    return {};
  }
  if (source.shape == shape) {
    lowering.alias(out, in);
    return {};
  }
  const size_t lead = shape.size() - std::min(shape.size(), source.shape.size());
  for (size_t d = 0; d < source.shape.size(); ++d)
    if (source.shape.size() > shape.size() || (source.shape[d] != 1 && source.shape[d] != shape[lead + d]))
      return lowering.refuse(op, "shapes do not broadcast");
  Broadcast payload;
  payload.in = source;
  payload.out = lowering.define(out);
  lowering.emit(std::move(payload));
  return {};
}

struct Transpose : Payload {
  Operand in, out;
  Shape permutation;
  void run(Frame& frame) const {
    moveElements(frame, in, out, [&](eval::Input i, eval::Output o) { eval::transpose(i, permutation, o); });
  }
};

Status lowerTranspose(FlatLowering& lowering, mlir::Operation& op) {
  Transpose payload;
  payload.in = lowering.operand(op.getOperand(0));
  payload.permutation = integersAttribute(op, "permutation");
  const Shape shape = shapeOf(op.getResult(0).getType());
  Shape sorted = payload.permutation, order(shape.size());
  std::sort(sorted.begin(), sorted.end());
  for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int64_t>(d);
  if (sorted != order || payload.in.shape.size() != shape.size())
    return lowering.refuse(op, "no permutation of the dimensions");
  // Only unit dimensions move: the elements stay where they are.
  Shape moved;
  for (int64_t d : payload.permutation)
    if (payload.in.shape[static_cast<size_t>(d)] != 1) moved.push_back(d);
  if (payload.in.splat || std::is_sorted(moved.begin(), moved.end())) {
    lowering.alias(op.getResult(0), op.getOperand(0));
    return {};
  }
  payload.out = lowering.define(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

struct Concatenate : Payload {
  std::vector<Operand> ins;
  Operand out;
  int dim = 0;
  void run(Frame& frame) const {
    std::vector<eval::Input> inputs;
    bool masked = false;
    for (const Operand& o : ins) {
      inputs.push_back(frame.input(o));
      masked |= frame.mask(o) != nullptr;
    }
    eval::concatenate(inputs, dim, frame.output(out));
    frame.setDefined(out);
    if (!masked) return;
    static constexpr std::byte kDefined{1};
    for (size_t k = 0; k < ins.size(); ++k) {
      const uint8_t* mask = frame.mask(ins[k]);
      inputs[k].dtype = DType::pred;
      inputs[k].data = mask ? reinterpret_cast<const std::byte*>(mask) : &kDefined;
      inputs[k].splat = !mask || ins[k].splat;
    }
    eval::concatenate(inputs, dim, {reinterpret_cast<std::byte*>(frame.newMask(out)), DType::pred, out.shape});
    frame.tidyMask(out);
  }
};

Status lowerConcatenate(FlatLowering& lowering, mlir::Operation& op) {
  Concatenate payload;
  payload.ins = lowering.operands(op.getOperands());
  payload.dim = static_cast<int>(integerAttribute(op, "dimension", -1));
  if (payload.ins.empty() || payload.dim < 0 || payload.dim >= static_cast<int>(payload.ins[0].shape.size()))
    return lowering.refuse(op, "there is no such dimension");
  Shape total = payload.ins[0].shape;
  for (size_t k = 1; k < payload.ins.size(); ++k) {
    Shape other = payload.ins[k].shape;
    if (other.size() != total.size()) return lowering.refuse(op, "shapes differ");
    total[static_cast<size_t>(payload.dim)] +=
        std::exchange(other[static_cast<size_t>(payload.dim)], total[static_cast<size_t>(payload.dim)]);
    other[static_cast<size_t>(payload.dim)] = total[static_cast<size_t>(payload.dim)];
    if (other != total) return lowering.refuse(op, "shapes differ");
  }
  if (total != shapeOf(op.getResult(0).getType())) return lowering.refuse(op, "shapes differ");
  if (payload.ins.size() == 1) {
    lowering.alias(op.getResult(0), op.getOperand(0));
    return {};
  }
  payload.out = lowering.define(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

/// tpu.dynamic_rotate (S-E16).
struct Rotate : Payload {
  Operand in, amount, out;
  int dim = 0, strideDim = -1;
  int64_t stride = 0;
  void run(Frame& frame) const {
    const int64_t by = frame.integer(amount);
    moveElements(frame, in, out,
                 [&](eval::Input i, eval::Output o) { eval::dynamicRotate(i, by, dim, stride, strideDim, o); });
    if (frame.undefined(amount)) frame.setUndefined(out);
  }
};

Status lowerRotate(FlatLowering& lowering, mlir::Operation& op) {
  Rotate payload;
  payload.in = lowering.operand(op.getOperand(0));
  payload.amount = lowering.operand(op.getOperand(1));
  const int64_t rank = static_cast<int64_t>(payload.in.shape.size());
  const int64_t dim = integerAttribute(op, "dimension", -1), strideDim = integerAttribute(op, "stride_dimension", -1);
  if (dim < 0 || dim >= rank || strideDim >= rank || strideDim == dim)
    return lowering.refuse(op, "there is no such dimension");
  payload.dim = static_cast<int>(dim);
  payload.stride = integerAttribute(op, "stride", 0);
  payload.strideDim = op.hasAttr("stride") ? static_cast<int>(strideDim) : -1;
  if (payload.in.splat) {
    lowering.alias(op.getResult(0), op.getOperand(0));
    return {};
  }
  payload.out = lowering.define(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

/// tpu.dynamic_gather, take_along_axis (S-E17). An element is defined when its index and the selected element are.
struct Gather : Payload {
  Operand in, indices, out;
  Shape dims;
  void run(Frame& frame) const {
    const eval::Input index = frame.input(indices);
    eval::dynamicGather(frame.input(in), index, dims, frame.output(out));
    const uint8_t *mask = frame.mask(in), *indexMask = frame.mask(indices);
    frame.setDefined(out);
    if (!mask && !indexMask) return;
    const int64_t n = out.elements();
    uint8_t* result = frame.newMask(out);
    if (mask)
      eval::dynamicGather({reinterpret_cast<const std::byte*>(mask), DType::pred, in.shape, in.splat}, index, dims,
                          {reinterpret_cast<std::byte*>(result), DType::pred, out.shape});
    else
      std::memset(result, 1, static_cast<size_t>(n));
    if (indexMask)
      for (int64_t k = 0; k < n; ++k) result[k] &= indexMask[indices.splat ? 0 : k];
    frame.tidyMask(out);
  }
};

Status lowerGather(FlatLowering& lowering, mlir::Operation& op) {
  Gather payload;
  payload.in = lowering.operand(op.getOperand(0));
  payload.indices = lowering.operand(op.getOperand(1));
  payload.dims = integersAttribute(op, "dimensions");
  const Shape shape = shapeOf(op.getResult(0).getType());
  if (payload.indices.shape != shape || payload.in.shape.size() != shape.size() || payload.dims.empty() ||
      !is_integer(payload.indices.dtype))
    return lowering.refuse(op, "indices must have the result's shape");
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool indexed =
        std::find(payload.dims.begin(), payload.dims.end(), static_cast<int64_t>(d)) != payload.dims.end();
    if (!indexed && payload.in.shape[d] != shape[d]) return lowering.refuse(op, "shapes differ");
  }
  for (int64_t d : payload.dims)
    if (d < 0 || d >= static_cast<int64_t>(shape.size())) return lowering.refuse(op, "there is no such dimension");
  payload.out = lowering.define(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

constexpr FlatOpRow kShapeTable[] = {
    {"tpu.concatenate", lowerConcatenate, OpClass::cross}, {"tpu.dynamic_gather", lowerGather, OpClass::cross},
    {"tpu.dynamic_rotate", lowerRotate, OpClass::cross},   {"tpu.transpose", lowerTranspose, OpClass::cross},
    {"vector.broadcast", lowerBroadcast, OpClass::cross},  {"vector.shape_cast", lowerShapeCast, OpClass::cross},
    {"vector.transpose", lowerTranspose, OpClass::cross},
};

}  // namespace

std::span<const FlatOpRow> shapeTable() { return kShapeTable; }

}  // namespace smalti::machine::flat
