// tpu.vector_store, tpu.strided_store, vector.store, memref.store.
#include <cstring>

#include "eval/Shape.h"
#include "machine/flat/Box.h"
#include "machine/flat/ops/Memory.h"
#include "machine/flat/ops/Table.h"

namespace smalti::machine::flat {
namespace {

/// Calls fn(element of the vector, offset in the buffer) for each element of the box, row-major.
template <class Fn>
void forEachElement(const BoxShape& shape, const Box& box, Fn&& fn) {
  const size_t rank = shape.sizes.size();
  const int64_t n = num_elements(shape.sizes);
  std::array<int64_t, kMaxRank> index{};
  int64_t offset = box.offset;
  for (int64_t k = 0; k < n; ++k) {
    fn(k, offset, index);
    for (size_t d = rank; d-- > 0;) {
      offset += box.steps[d];
      if (++index[d] < shape.sizes[d]) break;
      offset -= box.steps[d] * shape.sizes[d];
      index[d] = 0;
    }
  }
}

struct Store : Payload {
  BoxShape box;
  Operand value;
  bool masked = false, add = false;
  Operand selection;  ///< i1 vector, if masked
  eval::BinaryKernel adder = nullptr;
  Shape dense, constant;  ///< row-major strides, and all-zero ones for splats

  bool run(Frame& frame) const {
    Box at;
    if (!resolveBox(frame, box, Reach::store, at, masked)) return false;
    if (masked && !isInside(box, at) && !selectionInside(frame, at)) return false;
    tellAccess(frame, box, at, Access::Kind::store, masked);
    const std::byte* data = frame.slots[value.slot].data;
    const uint8_t* mask = frame.slots[value.slot].mask;
    bool splat = value.splat;
    const bool kept = keptUnsigned(at.ref->dtype());
    const bool overlaps = !splat && reaches(*at.ref->buffer, data);
    if (add || kept || (masked && !at.ref->strided()) || (overlaps && !at.contiguous)) {
      if (!prepare(frame, at, data, mask)) return false;
      splat = false;
    }
    if (masked && at.ref->strided())
      storeSelected(frame, at, data, mask, splat);
    else if (at.ref->strided())
      storeStrided(frame, at, data, mask, splat);
    else
      writeBox(frame, box, at, splat ? spread(frame, data) : data, splat && mask ? spreadMask(frame, mask) : mask);
    return true;
  }

 private:
  int bytes() const { return storage_bytes(value.dtype); }

  static bool reaches(const Buffer& buffer, const std::byte* data) {
    const std::byte* begin = buffer.storage.data();
    return data >= begin && data < begin + buffer.storage.bytes();
  }

  /// The value as a dense copy: with the old contents added, selected, without sign bits, as the op asks.
  bool prepare(Frame& frame, const Box& at, const std::byte*& data, const uint8_t*& mask) const {
    const int64_t n = num_elements(box.sizes);
    std::byte* copy = frame.temporary(0, n * bytes());
    auto* copyMask = reinterpret_cast<uint8_t*>(frame.temporary(1, n));
    for (int64_t k = 0; k < n; ++k) copyMask[k] = !mask || mask[value.splat ? 0 : k];
    if (value.splat)
      eval::fill(copy, data, n, bytes());
    else
      std::memcpy(copy, data, static_cast<size_t>(n * bytes()));
    const bool readsOld = add || (masked && !at.ref->strided());
    if (readsOld) {
      if (!isInside(box, at)) return frame.fail(outOfBounds(box, at, Reach::store));
      std::vector<std::byte> old(static_cast<size_t>(n * bytes()));
      std::vector<uint8_t> oldMask(static_cast<size_t>(n));
      readBox(frame, box, at, old.data(), oldMask.data());
      if (keptUnsigned(at.ref->dtype())) signExtend(at.ref->dtype(), old.data(), n);
      if (!frame.tracks) std::fill(oldMask.begin(), oldMask.end(), 1);
      if (add) {
        adder(old.data(), copy, copy, n, eval::Splat::none);
        for (int64_t k = 0; k < n; ++k) copyMask[k] &= oldMask[static_cast<size_t>(k)];
      }
      if (masked)
        for (int64_t k = 0; k < n; ++k) {
          if (!selected(frame, k)) {
            std::memcpy(copy + k * bytes(), old.data() + k * bytes(), static_cast<size_t>(bytes()));
            copyMask[k] = oldMask[static_cast<size_t>(k)];
          }
          copyMask[k] &= selectionDefined(frame, k);
        }
    }
    if (keptUnsigned(at.ref->dtype())) zeroExtend(at.ref->dtype(), copy, n);
    data = copy;
    mask = std::memchr(copyMask, 0, static_cast<size_t>(n)) ? copyMask : nullptr;
    return true;
  }

  bool selected(const Frame& frame, int64_t k) const {
    return static_cast<bool>(frame.slots[selection.slot].data[selection.splat ? 0 : k]);
  }
  uint8_t selectionDefined(const Frame& frame, int64_t k) const {
    const uint8_t* mask = frame.slots[selection.slot].mask;
    return !mask || mask[selection.splat ? 0 : k];
  }

  /// S-D9: a masked store may reach outside where nothing is selected.
  bool selectionInside(Frame& frame, const Box& at) const {
    const Shape& bounds = at.ref->viewShape();
    bool inside = true;
    forEachElement(box, at, [&](int64_t k, int64_t, const std::array<int64_t, kMaxRank>& index) {
      if (!selected(frame, k)) return;
      for (size_t d = 0; d < bounds.size(); ++d) {
        const int64_t position = at.starts[d] + index[d] * box.stride(d);
        inside &= position >= 0 && position < bounds[d];
      }
    });
    if (inside && !at.ref->strided()) inside = false;  // rare enough to be refused
    return inside || frame.fail(outOfBounds(box, at, Reach::store));
  }

  void storeStrided(Frame& frame, const Box& at, const std::byte* data, const uint8_t* mask, bool splat) const {
    Buffer& buffer = *at.ref->buffer;
    std::byte* target = buffer.data() + at.offset * bytes();
    const int64_t n = num_elements(box.sizes);
    if (!at.contiguous)
      eval::copyStrided(data, splat ? constant : dense, target, {at.steps.data(), dense.size()}, box.sizes, bytes());
    else if (splat)
      eval::fill(target, data, n, bytes());
    else if (data != target)  // equal: it was computed there
      std::memmove(target, data, static_cast<size_t>(n * bytes()));
    if (!mask && buffer.allDefined) return;
    shadow(frame, at, splat && mask ? spreadMask(frame, mask) : mask);
  }

  [[gnu::noinline]] void shadow(Frame&, const Box& at, const uint8_t* mask) const {
    Buffer& buffer = *at.ref->buffer;
    const int64_t n = num_elements(box.sizes);
    if (at.contiguous && n != buffer.type.elements()) {
      buffer.materialiseShadow();
      if (mask)
        std::memmove(buffer.defined.data() + at.offset, mask, static_cast<size_t>(n));
      else
        std::memset(buffer.defined.data() + at.offset, 1, static_cast<size_t>(n));
      return;
    }
    Ref ref = *at.ref;
    ref.offset = at.offset;
    ref.shape = box.sizes;
    ref.strides.assign(at.steps.begin(), at.steps.begin() + static_cast<ptrdiff_t>(box.sizes.size()));
    ref.writeShadow(mask);
  }

  void storeSelected(Frame& frame, const Box& at, const std::byte* data, const uint8_t* mask, bool splat) const {
    Buffer& buffer = *at.ref->buffer;
    const auto size = static_cast<size_t>(bytes());
    const bool shadowed = !buffer.allDefined || mask || frame.slots[selection.slot].mask;
    if (shadowed) buffer.materialiseShadow();
    forEachElement(box, at, [&](int64_t k, int64_t offset, const auto&) {
      if (selected(frame, k)) {
        std::memcpy(buffer.data() + offset * static_cast<int64_t>(size),
                    data + (splat ? 0 : k * static_cast<int64_t>(size)), size);
        if (shadowed)
          buffer.defined[static_cast<size_t>(offset)] = (!mask || mask[splat ? 0 : k]) && selectionDefined(frame, k);
      } else if (shadowed && !selectionDefined(frame, k) && offset >= 0 && offset < buffer.type.elements()) {
        buffer.defined[static_cast<size_t>(offset)] = 0;
      }
    });
  }

  const std::byte* spread(Frame& frame, const std::byte* element) const {
    const int64_t n = num_elements(box.sizes);
    std::byte* all = frame.temporary(0, n * bytes());
    eval::fill(all, element, n, bytes());
    return all;
  }
  const uint8_t* spreadMask(Frame& frame, const uint8_t* element) const {
    const int64_t n = num_elements(box.sizes);
    auto* all = reinterpret_cast<uint8_t*>(frame.temporary(1, n));
    std::memset(all, *element, static_cast<size_t>(n));
    return all;
  }
};

/// Before an element-wise instruction whose only use is a store: lets it compute in the store's memory, if that is
/// one piece and no operand lies across it.
struct ComputeInPlace : Payload {
  BoxShape box;
  int32_t out = -1;
  std::vector<int32_t> operands;
  int64_t bytes = 0;
  int elementBytes = 0;

  void run(Frame& frame) const {
    Slot& slot = frame.slots[out];
    slot.data = slot.home;
    const Ref& ref = frame.refs[box.ref];
    if (!ref.strided() || ref.shape.size() != box.sizes.size() || keptUnsigned(ref.buffer->type.dtype)) return;
    int64_t expected = 1, offset = ref.offset;
    for (size_t d = box.sizes.size(); d-- > 0;) {
      const auto start = static_cast<int64_t>(frame.slots[box.indices[d].slot].bits);
      if (start < 0 || start > ref.shape[d] || box.sizes[d] > ref.shape[d] - start) return;  // the store will tell
      if (box.sizes[d] != 1 && ref.strides[d] != expected) return;
      expected *= box.sizes[d];
      offset += start * ref.strides[d];
    }
    std::byte* target = ref.buffer->data() + offset * elementBytes;
    for (int32_t operand : operands) {
      const std::byte* data = frame.slots[operand].data;
      // Operands have at most 8 bytes an element; the same place in the same element size is harmless.
      if (data != target && data < target + bytes && target < data + 8 * bytes) return;
    }
    slot.data = target;
  }
};

/// Values of fewer bytes are copied faster than this is arranged.
constexpr int64_t kWorthComputingInPlace = 4096;

void computeInPlace(Lowering& lowering, mlir::Operation& op, mlir::Value value, const BoxShape& box) {
  const int index = lowering.latestInstruction(value, op.getBlock());
  if (index < 0 || !box.strides.empty()) return;
  const Instruction& instruction = lowering.at(index);
  const Operand operand = lowering.operand(value);
  ComputeInPlace payload;
  payload.operands = elementwiseOperands(instruction);
  payload.elementBytes = storage_bytes(operand.dtype);
  payload.bytes = operand.elements() * payload.elementBytes;
  if (payload.operands.empty() || operand.splat || payload.bytes < kWorthComputingInPlace) return;
  payload.box = box;
  payload.out = operand.slot;
  lowering.emitBefore(index, std::move(payload));
}

Status emitStore(Lowering& lowering, mlir::Operation& op, mlir::Value value, mlir::Value ref, mlir::ValueRange indices,
                 mlir::Value selection = nullptr) {
  const bool scalar = op.getName().getStringRef() == "memref.store";
  Result<BoxShape> box = boxOf(lowering, op, ref, indices, shapeOf(value.getType()), scalar);
  if (!box) return tl::unexpected(box.error());
  Store payload;
  payload.box = std::move(*box);
  payload.value = lowering.operand(value);
  if (scalar) payload.value.splat = true;
  if (storage_bytes(payload.value.dtype) != storage_bytes(elementDType(ref.getType())))
    return lowering.refuse(op, "dtypes differ");
  payload.dense = rowMajorStrides(payload.box.sizes);
  payload.constant = Shape(payload.dense.size(), 0);
  for (int64_t stride : payload.box.strides)
    if (stride < 1) return lowering.refuse(op, "stores need strides of at least 1");
  if (selection) {
    payload.masked = true;
    payload.selection = lowering.operand(selection);
    if (payload.selection.shape != payload.value.shape || payload.selection.dtype != DType::pred)
      return lowering.refuse(op, "the mask has another shape");
  }
  if (boolAttribute(op, "add")) {
    payload.add = true;
    payload.adder = eval::findBinary(is_float(payload.value.dtype) ? "arith.addf" : "arith.addi", payload.value.dtype);
    if (!payload.adder) return lowering.refuse(op);
  }
  if (!payload.masked && !payload.add) computeInPlace(lowering, op, value, payload.box);
  lowering.emit(std::move(payload));
  return {};
}

/// Operand segments: value, base, indices, mask.
Status lowerVectorStore(Lowering& lowering, mlir::Operation& op) {
  const std::vector<int64_t> segments = integersAttribute(op, "operandSegmentSizes");
  const unsigned operands = op.getNumOperands();
  if (segments.size() != 4 || segments[0] != 1 || segments[1] != 1 || segments[2] < 0 || segments[3] < 0 ||
      segments[3] > 1 || segments[2] + segments[3] + 2 != operands)
    return lowering.refuse(op, "operand segments do not fit");
  return emitStore(lowering, op, op.getOperand(0), op.getOperand(1),
                   op.getOperands().slice(2, static_cast<unsigned>(segments[2])),
                   segments[3] == 1 ? op.getOperand(operands - 1) : mlir::Value());
}

/// Operands: value, base, indices.
Status lowerStore(Lowering& lowering, mlir::Operation& op) {
  return emitStore(lowering, op, op.getOperand(0), op.getOperand(1), op.getOperands().drop_front(2));
}

constexpr LowerRow kTable[] = {
    {"memref.store", lowerStore},
    {"tpu.strided_store", lowerStore},
    {"tpu.vector_store", lowerVectorStore},
    {"vector.store", lowerStore},
};

}  // namespace

std::span<const LowerRow> storeTable() { return kTable; }

}  // namespace smalti::machine::flat
