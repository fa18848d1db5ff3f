// Refs: slices and other views of them (S-D7), and what the kernel allocates.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Tiles.h"
#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "ir/facts/Waits.h"
#include "machine/flat/Box.h"
#include "machine/flat/ops/Table.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::machine::flat {
namespace {

struct SliceRef : Payload {
  int32_t in = -1, out = -1;
  std::vector<Operand> starts, dynamicSizes;
  Shape sizes;                ///< kDynamicSize where the next of `dynamicSizes` says
  bool isDescriptor = false;  ///< only waits use it: they take its bytes, and touch no element
  bool isOnlyRead = false;    ///< only loads use it: elements outside may be undefined

  bool run(Frame& frame) const {
    const Ref& ref = frame.refs[in];
    std::array<int64_t, kMaxRank> from{}, size{};
    size_t nextDynamic = 0;
    const Shape& bounds = ref.strided() ? ref.presentShape() : ref.viewShape();
    if (bounds.size() != starts.size()) return wrongRank(frame, ref);
    bool isOutside = false, isEmpty = false;
    for (size_t d = 0; d < starts.size(); ++d) {
      from[d] = frame.integerUsed(starts[d], UndefinedUse::address, "the start of a slice of a ref");
      size[d] = sizes[d] != kDynamicSize ? sizes[d]
                                         : frame.integerUsed(dynamicSizes[nextDynamic++], UndefinedUse::dmaSize,
                                                             "the size of a slice of a ref");
      isEmpty |= size[d] == 0;
    }
    for (size_t d = 0; d < starts.size(); ++d) {
      if (from[d] < 0 || size[d] < 0 || from[d] > bounds[d] || size[d] > bounds[d] - from[d])
        if (!reachesPadding(ref, d, from[d], size[d])) {
          if (size[d] < 0 || !(isDescriptor || isEmpty || continues(frame, ref, d, from[d], size[d])))
            return frame.fail(outside(ref, d, from[d], size[d]));
          isOutside = true;
        }
    }
    if (isOutside) {
      if (checkedElements({size.data(), starts.size()}) < 0) return frame.fail(outside(ref, 0, from[0], size[0]));
      isDescriptor || isEmpty ? describe(frame, ref, {size.data(), starts.size()})
                              : sliceOverEdge(frame, ref, {from.data(), starts.size()}, {size.data(), starts.size()});
      return true;
    }
    if (!ref.strided()) {
      frame.refs[out] = ref.slice({from.data(), starts.size()}, {size.data(), starts.size()});
      return true;
    }
    // In place, so that a warmed-up run allocates nothing.
    Ref& view = frame.refs[out];
    view.buffer = ref.buffer;
    int64_t offset = ref.offset;
    for (size_t d = 0; d < starts.size(); ++d) offset += from[d] * ref.strides[d];
    view.offset = offset;
    view.shape.assign(size.begin(), size.begin() + static_cast<ptrdiff_t>(starts.size()));
    view.strides.assign(ref.strides.begin(), ref.strides.end());
    view.transforms.clear();
    sliceTiles(ref, {from.data(), starts.size()}, {size.data(), starts.size()}, view);
    return true;
  }

  /// A view of this many elements, which are never accessed, or of none.
  void describe(Frame& frame, const Ref& ref, std::span<const int64_t> size) const {
    Ref& view = frame.refs[out];
    view = {.buffer = ref.buffer, .offset = ref.offset};
    view.shape.assign(size.begin(), size.end());
    view.strides.assign(size.size(), 0);
    if (!ref.strided()) view.transforms = {{RefTransform::Kind::reshape, ref.dtype(), view.shape, {}}};
  }

  /// Whether the run continues after this read: the loads of the slice find the elements that are present.
  [[gnu::noinline]] bool continues(Frame& frame, const Ref& ref, size_t d, int64_t from, int64_t size) const {
    if (!isOnlyRead || !ref.strided()) return false;
    Diagnostic finding = outside(ref, d, from, size);
    finding.message = fmt::format("out-of-bounds slice of {}: elements outside are undefined", flat::describe(ref));
    finding.place = frame.place();
    return frame.core->continuesAfter(std::move(finding));
  }

  /// A view of which only a part is there: nothing where it starts outside.
  void sliceOverEdge(Frame& frame, const Ref& ref, std::span<const int64_t> from, std::span<const int64_t> size) const {
    Ref view{.buffer = ref.buffer, .offset = ref.offset, .shape = Shape(size.begin(), size.end())};
    view.strides = ref.strides;
    for (size_t d = 0; d < from.size(); ++d) {
      const int64_t bound = ref.presentShape()[d];
      const bool starts = from[d] >= 0 && from[d] < bound;
      view.present.push_back(starts ? std::min(size[d], bound - from[d]) : 0);
      if (starts) view.offset += from[d] * ref.strides[d];
    }
    frame.refs[out] = std::move(view);
  }

  /// Starts in the array and ends within its last tile.
  static bool reachesPadding(const Ref& ref, size_t d, int64_t from, int64_t size) {
    return ref.strided() && from >= 0 && from < ref.presentShape()[d] && size >= 0 &&
           size <= ref.shape[d] + (ref.padding.empty() ? 0 : ref.padding[d]) - from;
  }

  [[gnu::noinline]] static Diagnostic outside(const Ref& ref, size_t d, int64_t from, int64_t size) {
    return {.code = "SM4010",
            .message = fmt::format("out-of-bounds slice: {} elements from {} in dimension {} of {}", size, from, d,
                                   flat::describe(ref)),
            .place = {},
            .need = boundsOf(ref, d),
            .have = fmt::format("start {}, size {}", from, size),
            .help = "clamp the start, or slice fewer elements"};
  }
  /// The bounds of a slice; they include the rest of the last tile of an array in HBM.
  static std::string boundsOf(const Ref& ref, size_t d) {
    const int64_t size = ref.viewShape()[d], padding = ref.padding.empty() ? 0 : ref.padding[d];
    if (padding == 0) return fmt::format("0 ≤ start, start + size ≤ {}", size);
    return fmt::format("0 ≤ start < {}, start + size ≤ {}, the end of the last tile", size, size + padding);
  }
  bool wrongRank(Frame& frame, const Ref& ref) const {
    return frame.fail({.code = "SM4016",
                       .message = fmt::format("a slice of {} dimensions of {}", starts.size(), flat::describe(ref)),
                       .place = {},
                       .need = fmt::format("{} dimensions", ref.viewShape().size()),
                       .have = fmt::format("{}", starts.size())});
  }
};

/// Used for nothing but loads, itself and its views.
bool isOnlyRead(mlir::Value ref) {
  auto type = llvm::dyn_cast<mlir::MemRefType>(ref.getType());
  if (!type || type.getRank() == 0 || is_semaphore(elementDType(type))) return false;
  return llvm::all_of(ref.getUses(), [](mlir::OpOperand& use) {
    mlir::Operation* op = use.getOwner();
    if (llvm::isa<mlir::vector::LoadOp, mlir::memref::LoadOp, tpu::StridedLoadOp>(op)) return true;
    return llvm::isa<tpu::MemRefSliceOp, tpu::MemRefSqueezeOp>(op) && use.getOperandNumber() == 0 &&
           isOnlyRead(op->getResult(0));
  });
}

Status lowerSlice(FlatLowering& lowering, mlir::Operation& op) {
  auto type = llvm::dyn_cast<mlir::MemRefType>(op.getResult(0).getType());
  const std::vector<int64_t> segments = integersAttribute(op, "operandSegmentSizes");
  if (!type || segments.size() != 3 || segments[0] != 1 || segments[1] != type.getRank() || segments[2] < 0 ||
      1 + segments[1] + segments[2] != op.getNumOperands() || type.getRank() > kMaxRank)
    return lowering.refuse(op, "operand segments do not fit");
  SliceRef payload;
  payload.in = lowering.ref(op.getOperand(0));
  const auto rank = static_cast<unsigned>(segments[1]);
  payload.starts = lowering.operands(op.getOperands().slice(1, rank));
  payload.dynamicSizes = lowering.operands(op.getOperands().drop_front(1 + rank));
  payload.sizes = shapeOf(type);
  const auto dynamic = std::count(payload.sizes.begin(), payload.sizes.end(), kDynamicSize);
  if (dynamic != segments[2]) return lowering.refuse(op, "one size operand is needed per dynamic dimension");
  payload.isDescriptor = isOnlyWaitedFor(op.getResult(0));
  payload.isOnlyRead = isOnlyRead(op.getResult(0));
  payload.out = lowering.defineRef(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

/// Squeezing drops unit dimensions; which ones is known when the function is compiled.
struct SqueezeRef : Payload {
  int32_t in = -1, out = -1;
  std::vector<size_t> kept;
  void run(Frame& frame) const {
    const Ref& ref = frame.refs[in];
    if (!ref.strided()) {
      Shape shape;
      for (size_t d : kept) shape.push_back(ref.viewShape()[d]);
      frame.refs[out] = ref.reshape(shape);
      return;
    }
    Ref& view = frame.refs[out];
    view.buffer = ref.buffer;
    view.offset = ref.offset;
    view.shape.resize(kept.size());
    view.strides.resize(kept.size());
    view.padding.resize(ref.padding.empty() ? 0 : kept.size());
    view.present.resize(ref.present.empty() ? 0 : kept.size());
    for (size_t d = 0; d < kept.size(); ++d) {
      view.shape[d] = ref.shape[kept[d]];
      view.strides[d] = ref.strides[kept[d]];
      if (!ref.padding.empty())
        view.padding[d] = keepsPadding(kept[d], ref.shape.size(), d, kept.size()) ? ref.padding[kept[d]] : 0;
      if (!ref.present.empty()) view.present[d] = ref.present[kept[d]];
    }
    // If no element is present in one dimension, none is in the others.
    if (std::find(ref.present.begin(), ref.present.end(), 0) != ref.present.end())
      std::fill(view.present.begin(), view.present.end(), 0);
    view.transforms.clear();
  }
};

Status lowerSqueeze(FlatLowering& lowering, mlir::Operation& op) {
  const Shape from = shapeOf(op.getOperand(0).getType()), to = shapeOf(op.getResult(0).getType());
  SqueezeRef payload;
  size_t next = 0;
  size_t drops = from.size() - std::min(from.size(), to.size());
  for (size_t d = 0; d < from.size(); ++d) {
    const bool keep = next < to.size() && to[next] == from[d] && !(from[d] == 1 && drops > 0 && to[next] != 1);
    if (keep) {
      payload.kept.push_back(d);
      ++next;
    } else if (from[d] == 1 && drops > 0) {
      --drops;
    } else {
      return lowering.refuse(op, "only dimensions of size 1 can be squeezed");
    }
  }
  if (next != to.size()) return lowering.refuse(op, "only dimensions of size 1 can be squeezed");
  payload.in = lowering.ref(op.getOperand(0));
  payload.out = lowering.defineRef(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

/// memref_reshape and memref_bitcast. A dynamic dimension, at most one, follows from the number of elements.
struct ReshapeRef : Payload {
  int32_t in = -1, out = -1;
  Shape shape;
  DType dtype = DType::f32;
  bool bitcast = false;
  bool run(Frame& frame) const {
    const Ref& ref = frame.refs[in];
    Shape to = shape;
    // Elements × bits stay the same, so a bitcast has more or fewer elements by the ratio of the widths.
    const int64_t total = bitcast ? ref.elements() * bit_width(ref.dtype()) / bit_width(dtype) : ref.elements();
    int64_t known = 1;
    auto dynamic = to.end();
    for (auto d = to.begin(); d != to.end(); ++d)
      if (*d < 0)
        dynamic = d;
      else
        known *= *d;
    if (dynamic != to.end()) *dynamic = known ? total / known : 0;
    if (num_elements(to) != total)
      return frame.fail({.code = "SM4016",
                         .message = fmt::format("{} cannot be viewed as {}", describe(ref), ArrayType{dtype, to}.str()),
                         .place = {},
                         .need = fmt::format("{} elements", total),
                         .have = fmt::format("{}", num_elements(to))});
    if (!ref.present.empty())
      return frame.fail({.code = "SM4016",
                         .message = fmt::format("{} cannot be viewed as {} where it reaches past the array's end",
                                                describe(ref), ArrayType{dtype, to}.str()),
                         .place = {},
                         .need = fmt::format("a part within [{}]", fmt::join(ref.presentShape(), ", ")),
                         .have = fmt::format("[{}]", fmt::join(ref.shape, ", ")),
                         .help = "reshape or bitcast the whole ref, then slice it"});
    frame.refs[out] = bitcast ? ref.bitcast(dtype, to) : ref.reshape(to);
    return true;
  }
};

Status lowerReshape(FlatLowering& lowering, mlir::Operation& op) {
  auto from = llvm::dyn_cast<mlir::MemRefType>(op.getOperand(0).getType());
  auto to = llvm::dyn_cast<mlir::MemRefType>(op.getResult(0).getType());
  if (!from || !to || !dtypeOf(to.getElementType()) || to.getNumDynamicDims() > 1) return lowering.refuse(op);
  ReshapeRef payload;
  payload.bitcast = op.getName().getStringRef() == "tpu.memref_bitcast";
  payload.dtype = elementDType(to);
  payload.shape = shapeOf(to);
  if (payload.bitcast && elementDType(from) == payload.dtype && from.getShape() == to.getShape()) {
    lowering.alias(op.getResult(0), op.getOperand(0));
    return {};
  }
  const int fromBits = bit_width(elementDType(from)), toBits = bit_width(payload.dtype);
  if (payload.bitcast &&
      (is_semaphore(payload.dtype) || (fromBits != toBits && (from.getRank() < 2 || to.getRank() != from.getRank()))))
    return lowering.refuse(op, "a bitcast between widths needs at least 2 dimensions");
  payload.in = lowering.ref(op.getOperand(0));
  payload.out = lowering.defineRef(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

/// memref.alloca and tpu.sem_alloc. A site that is reached again (in a loop) allocates again.
struct Allocate : Payload {
  int site = 0;
  int32_t out = -1;
  bool run(Frame& frame) const {
    frame.releaseSite(site);
    const AllocationSite& s = frame.program->sites[static_cast<size_t>(site)];
    Result<Buffer*> buffer = frame.core->allocate(s.identity, s.type, s.space, s.place);
    if (!buffer) return frame.fail(std::move(buffer.error()));
    frame.allocated[static_cast<size_t>(site)] = *buffer;
    frame.refs[out] = Ref::whole(**buffer);
    return true;
  }
};

Status lowerAllocate(FlatLowering& lowering, mlir::Operation& op) {
  auto type = llvm::dyn_cast<mlir::MemRefType>(op.getResult(0).getType());
  const auto space = type ? memorySpaceOf(type) : std::nullopt;
  if (!space || !type.hasStaticShape() || !dtypeOf(type.getElementType()) || op.getNumOperands() != 0)
    return lowering.refuse(op);
  if (checkedElements(shapeOf(type)) < 0) return lowering.refuse(op, "the allocation is too large");
  Allocate payload;
  payload.site = lowering.addSite({.identity = lowering.identity(op),
                                   .type = {elementDType(type), shapeOf(type)},
                                   .space = *space,
                                   .place = placeOf(op.getLoc())});
  payload.out = lowering.defineRef(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

/// Allocations die with their scope; an explicit end changes nothing.
Status lowerDealloc(FlatLowering&, mlir::Operation&) { return {}; }

/// Promises about accesses change none of them.
Status lowerAnnotate(FlatLowering& lowering, mlir::Operation& op) {
  lowering.alias(op.getResult(0), op.getOperand(0));
  return {};
}

Status lowerMemorySpaceIs(FlatLowering& lowering, mlir::Operation& op) {
  const auto is = static_cast<std::byte>(llvm::cast<tpu::MemRefMemorySpaceIsOp>(op).holds());
  lowering.constant(op.getResult(0), &is);
  return {};
}

struct BarrierRef : Payload {
  int32_t out = -1;
  bool run(Frame& frame) const {
    Result<Buffer*> buffer = frame.core->barrierSemaphore(frame.place());
    if (!buffer) return frame.fail(std::move(buffer.error()));
    frame.refs[out] = Ref::whole(**buffer);
    return true;
  }
};

Status lowerBarrier(FlatLowering& lowering, mlir::Operation& op) {
  BarrierRef payload;
  payload.out = lowering.defineRef(op.getResult(0));
  lowering.emit(std::move(payload));
  return {};
}

struct ReleaseScope : Payload {
  std::vector<int> sites;
  void run(Frame& frame) const {
    for (int site : sites) frame.releaseSite(site);
  }
};

constexpr FlatOpRow kRefsTable[] = {
    {"memref.alloca", lowerAllocate, OpClass::scalar},
    {"memref.dealloc", lowerDealloc, OpClass::scalar},
    {"tpu.memref_bitcast", lowerReshape, OpClass::scalar},
    {"tpu.memref_reshape", lowerReshape, OpClass::scalar},
    {"tpu.memref_slice", lowerSlice, OpClass::scalar},
    {"tpu.memref_squeeze", lowerSqueeze, OpClass::scalar},
    {"tpu.annotate", lowerAnnotate, OpClass::scalar},
    {"tpu.memref_memory_space_is", lowerMemorySpaceIs, OpClass::scalar},
    {"tpu.sem_alloc", lowerAllocate, OpClass::scalar},
    {"tpu.sem_barrier", lowerBarrier, OpClass::scalar},
};

}  // namespace

std::span<const FlatOpRow> refTable() { return kRefsTable; }

void FlatLowering::closeScope() {
  ReleaseScope payload;
  payload.sites = std::move(scopes_.back());
  scopes_.pop_back();
  if (!payload.sites.empty()) emit(std::move(payload));
}

}  // namespace smalti::machine::flat
