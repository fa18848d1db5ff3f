// Parts of vectors: extract, insert, slices of them, from_elements.
#include <cstring>

#include "base/RowMajor.h"
#include "eval/Shape.h"
#include "machine/flat/ops/Table.h"

namespace smalti::machine::flat {
namespace {

constexpr int64_t kDynamic = INT64_MIN;

/// Leading positions into a vector, some known only at run time.
struct Positions {
  std::vector<int64_t> known;  ///< kDynamic where dynamic
  std::vector<Operand> dynamic;

  /// Row-major element offset; false (and a failed run) when outside of `shape`.
  bool offset(Frame& frame, std::span<const int64_t> shape, int64_t& result) const {
    size_t next = 0;
    int64_t linear = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t position = 0;
      if (d < known.size())
        position = known[d] == kDynamic
                       ? frame.integerUsed(dynamic[next++], UndefinedUse::address, "a position in a vector")
                       : known[d];
      if (position < 0 || position >= shape[d])
        return frame.fail({.code = "SM4014",
                           .message = "position " + std::to_string(position) + " of dimension " + std::to_string(d) +
                                      " is outside the vector",
                           .place = {},
                           .need = "0 ≤ position < " + std::to_string(shape[d]),
                           .have = std::to_string(position)});
      linear = linear * shape[d] + position;
    }
    result = linear;
    return true;
  }
};

Positions positionsOf(const FlatLowering& lowering, mlir::Operation& op, unsigned firstDynamic) {
  Positions p;
  p.known = integersAttribute(op, "static_position");
  for (unsigned k = firstDynamic; k < op.getNumOperands(); ++k) p.dynamic.push_back(lowering.operand(op.getOperand(k)));
  return p;
}

bool fits(const Positions& p, size_t rank) {
  size_t dynamic = 0;
  for (int64_t k : p.known) dynamic += k == kDynamic;
  return p.known.size() <= rank && dynamic == p.dynamic.size();
}

struct Extract : Payload {
  Operand in, out;
  Positions positions;
  bool run(Frame& frame) const {
    int64_t offset = 0;
    if (!positions.offset(frame, in.shape, offset)) return false;
    const Slot& source = frame.slots[in.slot];
    Slot& target = frame.slots[out.slot];
    const int bytes = storage_bytes(out.dtype);
    const int64_t n = out.stored();
    std::memcpy(target.data, source.data + (in.splat ? 0 : offset * bytes), static_cast<size_t>(n * bytes));
    if (!source.mask) {
      target.mask = nullptr;
      return true;
    }
    std::memcpy(frame.newMask(target), source.mask + (in.splat ? 0 : offset), static_cast<size_t>(n));
    frame.tidyMask(out);
    return true;
  }
};

Status lowerExtract(FlatLowering& lowering, mlir::Operation& op) {
  Extract payload;
  payload.in = lowering.operand(op.getOperand(0));
  payload.positions = positionsOf(lowering, op, 1);
  if (!fits(payload.positions, payload.in.shape.size())) return lowering.refuse(op);
  payload.out = lowering.define(op.getResult(0), payload.in.splat);
  lowering.emit(std::move(payload));
  return {};
}

struct Insert : Payload {
  Operand value, into, out;
  Positions positions;
  bool run(Frame& frame) const {
    int64_t offset = 0;
    if (!positions.offset(frame, into.shape, offset)) return false;
    const int bytes = storage_bytes(out.dtype);
    const int64_t all = out.elements(), part = value.elements();
    const Slot &v = frame.slots[value.slot], &whole = frame.slots[into.slot];
    Slot& target = frame.slots[out.slot];
    if (into.splat)
      eval::fill(target.data, whole.data, all, bytes);
    else
      std::memcpy(target.data, whole.data, static_cast<size_t>(all * bytes));
    if (value.splat)
      eval::fill(target.data + offset * bytes, v.data, part, bytes);
    else
      std::memcpy(target.data + offset * bytes, v.data, static_cast<size_t>(part * bytes));
    const uint8_t *valueMask = v.mask, *wholeMask = whole.mask;
    target.mask = nullptr;
    if (!valueMask && !wholeMask) return true;
    uint8_t* mask = frame.newMask(target);
    for (int64_t k = 0; k < all; ++k) mask[k] = !wholeMask || wholeMask[into.splat ? 0 : k];
    for (int64_t k = 0; k < part; ++k) mask[offset + k] = !valueMask || valueMask[value.splat ? 0 : k];
    frame.tidyMask(out);
    return true;
  }
};

Status lowerInsert(FlatLowering& lowering, mlir::Operation& op) {
  Insert payload;
  payload.value = lowering.operand(op.getOperand(0));
  payload.into = lowering.operand(op.getOperand(1));
  payload.positions = positionsOf(lowering, op, 2);
  if (!fits(payload.positions, payload.into.shape.size())) return lowering.refuse(op);
  payload.out = lowering.define(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

struct ExtractSlice : Payload {
  Operand in, out;
  Shape starts, strides;
  void run(Frame& frame) const {
    moveElements(frame, in, out, [&](eval::Input i, eval::Output o) { eval::slice(i, starts, strides, o); });
  }
};

Status lowerExtractSlice(FlatLowering& lowering, mlir::Operation& op) {
  ExtractSlice payload;
  payload.in = lowering.operand(op.getOperand(0));
  payload.starts = integersAttribute(op, "offsets");
  payload.strides = integersAttribute(op, "strides");
  const Shape shape = shapeOf(op.getResult(0).getType());
  payload.starts.resize(shape.size(), 0);  // trailing dimensions may be left out: whole
  payload.strides.resize(shape.size(), 1);
  for (size_t d = 0; d < shape.size(); ++d)
    if (payload.in.shape.size() != shape.size() || payload.starts[d] < 0 || payload.strides[d] < 1 ||
        payload.starts[d] + (shape[d] - 1) * payload.strides[d] >= payload.in.shape[d])
      return lowering.refuse(op, "the slice is outside the vector");
  if (payload.in.splat || payload.in.shape == shape) {
    lowering.alias(op.getResult(0), op.getOperand(0));
    return {};
  }
  payload.out = lowering.define(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

struct InsertSlice : Payload {
  Operand value, into, out;
  Shape valueStrides, outStrides;  ///< of the part, in elements
  int64_t offset = 0;
  void run(Frame& frame) const {
    const Slot &v = frame.slots[value.slot], &whole = frame.slots[into.slot];
    Slot& target = frame.slots[out.slot];
    put(v.data, whole.data, target.data, storage_bytes(out.dtype));
    const uint8_t *valueMask = v.mask, *wholeMask = whole.mask;
    target.mask = nullptr;
    if (!valueMask && !wholeMask) return;
    static constexpr uint8_t kDefined = 1;
    uint8_t* mask = frame.newMask(target);
    put(reinterpret_cast<const std::byte*>(valueMask ? valueMask : &kDefined),
        reinterpret_cast<const std::byte*>(wholeMask ? wholeMask : &kDefined), reinterpret_cast<std::byte*>(mask), 1,
        !valueMask, !wholeMask);
    frame.tidyMask(out);
  }
  void put(const std::byte* v, const std::byte* whole, std::byte* target, int bytes, bool oneValue = false,
           bool oneWhole = false) const {
    const int64_t all = out.elements();
    if (into.splat || oneWhole)
      eval::fill(target, whole, all, bytes);
    else
      std::memcpy(target, whole, static_cast<size_t>(all * bytes));
    const Shape zeros(valueStrides.size(), 0);
    eval::copyStrided(v, value.splat || oneValue ? zeros : valueStrides, target + offset * bytes, outStrides,
                      value.shape, bytes);
  }
};

Status lowerInsertSlice(FlatLowering& lowering, mlir::Operation& op) {
  InsertSlice payload;
  payload.value = lowering.operand(op.getOperand(0));
  payload.into = lowering.operand(op.getOperand(1));
  const Shape shape = shapeOf(op.getResult(0).getType());
  Shape starts = integersAttribute(op, "offsets"), strides = integersAttribute(op, "strides");
  const Shape whole = rowMajorStrides(shape);
  const size_t lead = shape.size() - payload.value.shape.size();
  if (payload.value.shape.size() > shape.size() || starts.size() != shape.size() ||
      strides.size() != payload.value.shape.size())
    return lowering.refuse(op);
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t size = d < lead ? 1 : payload.value.shape[d - lead], stride = d < lead ? 1 : strides[d - lead];
    if (starts[d] < 0 || stride < 1 || starts[d] + (size - 1) * stride >= shape[d])
      return lowering.refuse(op, "the slice is outside the vector");
    payload.offset += starts[d] * whole[d];
    if (d >= lead) payload.outStrides.push_back(whole[d] * stride);
  }
  payload.valueStrides = rowMajorStrides(payload.value.shape);
  payload.out = lowering.define(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

struct FromElements : Payload {
  std::vector<Operand> elements;
  Operand out;
  void run(Frame& frame) const {
    const auto bytes = static_cast<size_t>(storage_bytes(out.dtype));
    Slot& target = frame.slots[out.slot];
    bool masked = false;
    for (size_t k = 0; k < elements.size(); ++k) {
      std::memcpy(target.data + k * bytes, frame.slots[elements[k].slot].data, bytes);
      masked |= frame.undefined(elements[k]);
    }
    target.mask = nullptr;
    if (!masked) return;
    uint8_t* mask = frame.newMask(target);
    for (size_t k = 0; k < elements.size(); ++k) mask[k] = !frame.undefined(elements[k]);
  }
};

Status lowerFromElements(FlatLowering& lowering, mlir::Operation& op) {
  FromElements payload;
  payload.elements = lowering.operands(op.getOperands());
  payload.out = lowering.define(op.getResult(0));
  if (static_cast<int64_t>(payload.elements.size()) != payload.out.elements()) return lowering.refuse(op);
  lowering.emit(std::move(payload));
  return {};
}

constexpr FlatOpRow kVectorTable[] = {
    {"vector.extract", lowerExtract, OpClass::cross},
    {"vector.extract_strided_slice", lowerExtractSlice, OpClass::cross},
    {"vector.from_elements", lowerFromElements, OpClass::vector},
    {"vector.insert", lowerInsert, OpClass::cross},
    {"vector.insert_strided_slice", lowerInsertSlice, OpClass::cross},
};

}  // namespace

std::span<const FlatOpRow> vectorTable() { return kVectorTable; }

}  // namespace smalti::machine::flat
