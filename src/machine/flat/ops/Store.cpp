// tpu.vector_store, tpu.strided_store, vector.store, memref.store.
#include <cstring>

#include "eval/Shape.h"
#include "machine/flat/Box.h"
#include "machine/flat/ops/Memory.h"
#include "machine/flat/ops/Table.h"

namespace smalti::machine::flat {
namespace {

using Index = std::array<int64_t, kMaxRank>;

/// Calls fn(number of the element in the vector, its index there) for each element of the box, row-major.
template <class Fn>
void forEachElement(const BoxShape& shape, Fn&& fn) {
  const int64_t n = num_elements(shape.sizes);
  Index index{};
  for (int64_t k = 0; k < n; ++k) {
    fn(k, index);
    for (size_t d = shape.sizes.size(); d-- > 0;) {
      if (++index[d] < shape.sizes[d]) break;
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
    const bool reachesOutside = masked && !isInside(box, at);
    if (reachesOutside && !selectionInside(frame, at)) return false;
    reportAccess(frame, box, at, MemoryAccess::Kind::store, masked ? selectionOf(frame) : std::span<const uint8_t>());
    if (reachesOutside && (add || !at.ref->strided())) {
      storeThroughView(frame, at);
      return true;
    }
    const std::byte* data = frame.slots[value.slot].data;
    const uint8_t* mask = frame.slots[value.slot].mask;
    bool splat = value.splat;
    const bool kept = keptUnsigned(at.ref->dtype());
    const bool overlaps = !splat && reaches(*at.ref->buffer, data);
    if (add || kept || (masked && !at.ref->strided()) || (overlaps && !at.contiguous)) {
      prepare(frame, at, data, mask);
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
  void prepare(Frame& frame, const Box& at, const std::byte*& data, const uint8_t*& mask) const {
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
  }

  std::span<const uint8_t> selectionOf(const Frame& frame) const {
    const size_t n = selection.splat ? 1 : static_cast<size_t>(num_elements(box.sizes));
    return {reinterpret_cast<const uint8_t*>(frame.slots[selection.slot].data), n};
  }
  bool selected(const Frame& frame, int64_t k) const {
    return static_cast<bool>(frame.slots[selection.slot].data[selection.splat ? 0 : k]);
  }
  uint8_t selectionDefined(const Frame& frame, int64_t k) const {
    const uint8_t* mask = frame.slots[selection.slot].mask;
    return !mask || mask[selection.splat ? 0 : k];
  }

  /// The position of an element of the box in the ref; false: it is outside.
  bool locate(const Box& at, const Index& index, Index& position) const {
    const Shape& bounds = at.ref->viewShape();
    for (size_t d = 0; d < bounds.size(); ++d) {
      if (__builtin_add_overflow(at.starts[d], index[d] * box.stride(d), &position[d])) return false;
      if (position[d] < 0 || position[d] >= bounds[d]) return false;
    }
    return true;
  }

  /// S-D9: a masked store may extend outside the ref if no element there is selected.
  bool selectionInside(Frame& frame, const Box& at) const {
    bool inside = true;
    Index position{};
    forEachElement(box, [&](int64_t k, const Index& index) {
      if (inside && selected(frame, k)) inside = locate(at, index, position);
    });
    return inside || frame.fail(outOfBounds(box, at, Reach::store));
  }

  /// A masked store across the ref's edge that needs the old contents, or to a ref that is no strided view: on a copy
  /// of the whole view.
  void storeThroughView(Frame& frame, const Box& at) const {
    const Ref& ref = *at.ref;
    const auto size = static_cast<size_t>(bytes());
    const bool kept = keptUnsigned(ref.dtype());
    const Slot& from = frame.slots[value.slot];
    const Shape strides = rowMajorStrides(ref.viewShape());
    std::vector<std::byte> view(static_cast<size_t>(ref.elements()) * size);
    std::vector<uint8_t> defined(static_cast<size_t>(ref.elements()), 1);
    ref.read(view.data(), defined.data());
    Index position{};
    forEachElement(box, [&](int64_t k, const Index& index) {
      if (!locate(at, index, position)) return;
      size_t i = 0;
      for (size_t d = 0; d < strides.size(); ++d) i += static_cast<size_t>(position[d] * strides[d]);
      if (selected(frame, k)) {
        std::byte* target = view.data() + i * size;
        const size_t element = value.splat ? 0 : static_cast<size_t>(k);
        const std::byte* source = from.data + element * size;
        if (add && kept) signExtend(ref.dtype(), target, 1);
        if (add)
          adder(target, source, target, 1, eval::Splat::none);
        else
          std::memcpy(target, source, size);
        if (kept) zeroExtend(ref.dtype(), target, 1);
        defined[i] = (!add || defined[i]) && (!from.mask || from.mask[element]);
      }
      defined[i] &= selectionDefined(frame, k);
    });
    const bool allDefined = defined.empty() || !std::memchr(defined.data(), 0, defined.size());
    ref.write(view.data(), allDefined ? nullptr : defined.data());
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
    Index position{};
    forEachElement(box, [&](int64_t k, const Index& index) {
      const bool chosen = selected(frame, k);
      if ((!chosen && !shadowed) || !locate(at, index, position)) return;
      int64_t offset = at.ref->offset;
      for (size_t d = 0; d < box.sizes.size(); ++d) offset += position[d] * at.ref->strides[d];
      if (chosen)
        std::memcpy(buffer.data() + offset * static_cast<int64_t>(size),
                    data + (splat ? 0 : k * static_cast<int64_t>(size)), size);
      if (!shadowed) return;
      uint8_t& defined = buffer.defined[static_cast<size_t>(offset)];
      if (chosen) defined = !mask || mask[splat ? 0 : k];
      defined &= selectionDefined(frame, k);
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
/// one piece and no operand is split across it.
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

/// For smaller values, copying is faster than the set-up.
constexpr int64_t kWorthComputingInPlace = 4096;

void computeInPlace(FlatLowering& lowering, mlir::Operation& op, mlir::Value value, const BoxShape& box) {
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

Status emitStore(FlatLowering& lowering, mlir::Operation& op, mlir::Value value, mlir::Value ref,
                 mlir::ValueRange indices, mlir::Value selection = nullptr) {
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
Status lowerVectorStore(FlatLowering& lowering, mlir::Operation& op) {
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
Status lowerStore(FlatLowering& lowering, mlir::Operation& op) {
  return emitStore(lowering, op, op.getOperand(0), op.getOperand(1), op.getOperands().drop_front(2));
}

constexpr FlatOpRow kStoreTable[] = {
    {"memref.store", lowerStore, OpClass::store},
    {"tpu.strided_store", lowerStore, OpClass::store},
    {"tpu.vector_store", lowerVectorStore, OpClass::store},
    {"vector.store", lowerStore, OpClass::store},
};

}  // namespace

std::span<const FlatOpRow> storeTable() { return kStoreTable; }

}  // namespace smalti::machine::flat
