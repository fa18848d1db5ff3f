#include "machine/flat/ops/Memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "eval/Shape.h"

namespace smalti::machine::flat {

Result<BoxShape> boxOf(FlatLowering& lowering, mlir::Operation& op, mlir::Value ref, mlir::ValueRange indices,
                       Shape sizes, bool scalar) {
  auto type = llvm::dyn_cast<mlir::MemRefType>(ref.getType());
  const auto space = type ? memorySpaceOf(type) : std::nullopt;
  if (!space || !dtypeOf(type.getElementType())) return lowering.refuse(op);
  if (*space == MemoryKind::any || *space == MemoryKind::hbm || *space == MemoryKind::host)
    return fail(
        {.code = "SM4002",
         .message = fmt::format("loads and stores are only allowed on VMEM and SMEM references; this ref is {} ({})",
                                name(*space), typeText(type)),
         .place = placeOf(op.getLoc()),
         .need = "a VMEM or SMEM ref",
         .have = fmt::format("a ref in {} memory", name(*space)),
         .help = "copy the part you need to a VMEM scratch with pltpu.async_copy or sync_copy first"});
  if (*space == MemoryKind::semaphore)
    return lowering.refuse(op, "semaphores are read and changed only by semaphore ops");
  if (*space == MemoryKind::smem && !scalar)
    return fail({.code = "SM4003",
                 .message = fmt::format("only scalars can be loaded from and stored to SMEM; this is {}", opText(op)),
                 .place = placeOf(op.getLoc()),
                 .need = "one element",
                 .have = fmt::format("{} elements", num_elements(sizes)),
                 .help = "index every dimension with a scalar, or keep the array in VMEM"});
  BoxShape box;
  box.ref = lowering.ref(ref);
  for (mlir::Value index : indices) box.indices.push_back(lowering.operand(index));
  for (const Operand& index : box.indices)
    if (index.dtype != DType::index) return lowering.refuse(op, "indices must be of type index");
  box.sizes = scalar ? Shape(box.indices.size(), 1) : std::move(sizes);
  // A vector of lower rank takes the ref's trailing dimensions.
  if (box.sizes.size() < box.indices.size())
    box.sizes.insert(box.sizes.begin(), box.indices.size() - box.sizes.size(), 1);
  box.strides = integersAttribute(op, "strides");
  if (std::any_of(box.strides.begin(), box.strides.end(), [](int64_t s) { return s < 0; }))
    return lowering.refuse(op, "negative strides");
  if (box.sizes.size() != box.indices.size() || box.indices.size() > kMaxRank ||
      static_cast<int64_t>(box.indices.size()) != type.getRank() ||
      (!box.strides.empty() && box.strides.size() != box.indices.size()))
    return lowering.refuse(op, "one index (and stride) per dimension of the ref is needed");
  if (std::all_of(box.strides.begin(), box.strides.end(), [](int64_t s) { return s == 1; })) box.strides.clear();
  return box;
}

namespace {

/// The box as a ref of its own, when it has no steps; else the smallest ref around it.
Ref around(const BoxShape& shape, const Box& box) {
  const size_t rank = shape.sizes.size();
  Shape sizes(rank);
  for (size_t d = 0; d < rank; ++d) sizes[d] = shape.sizes[d] == 0 ? 0 : (shape.sizes[d] - 1) * shape.stride(d) + 1;
  return box.ref->slice({box.starts.data(), rank}, sizes);
}

/// A strided ref of exactly the box's elements.
Ref exactly(const BoxShape& shape, const Box& box) {
  Ref ref = *box.ref;
  ref.offset = box.offset;
  ref.shape = shape.sizes;
  ref.strides.assign(box.steps.begin(), box.steps.begin() + static_cast<ptrdiff_t>(shape.sizes.size()));
  ref.padding.clear();
  ref.present.clear();
  return ref;
}

/// The steps, of `size` from `start`, that are inside `[0, bound)`: the first one and their number.
std::pair<int64_t, int64_t> stepsInside(int64_t start, int64_t size, int64_t stride, int64_t bound) {
  if (start >= bound) return {0, 0};
  if (stride == 0) return start < 0 ? std::pair<int64_t, int64_t>(0, 0) : std::pair<int64_t, int64_t>(0, size);
  const int64_t before = start < 0 ? -(start + 1) / stride : -1;  // the last step that is below 0, unless it is later
  if (before >= size - 1) return {0, 0};
  const int64_t first = before + 1;
  const int64_t last = (bound - 1 - start) / stride;  // start is not far below 0: `first` < size
  return {first, std::max<int64_t>(0, std::min(size - 1, last) - first + 1)};
}

}  // namespace

void readBox(Frame& frame, const BoxShape& shape, const Box& box, std::byte* out, uint8_t* mask) {
  if (box.ref->strided()) {
    exactly(shape, box).read(out, mask);
    return;
  }
  const Ref ref = around(shape, box);
  if (shape.strides.empty()) {
    ref.read(out, mask);
    return;
  }
  const int64_t n = ref.elements();
  const DType dtype = ref.dtype();
  std::byte* all = frame.temporary(2, n * storage_bytes(dtype));
  auto* allMask = reinterpret_cast<uint8_t*>(frame.temporary(3, n));
  ref.read(all, allMask);
  const Shape from = rowMajorStrides(ref.viewShape()), to = rowMajorStrides(shape.sizes);
  Shape steps(from.size());
  for (size_t d = 0; d < steps.size(); ++d) steps[d] = from[d] * shape.stride(d);
  eval::copyStrided(all, steps, out, to, shape.sizes, storage_bytes(dtype));
  if (mask)
    eval::copyStrided(reinterpret_cast<const std::byte*>(allMask), steps, reinterpret_cast<std::byte*>(mask), to,
                      shape.sizes, 1);
}

void readBoxOverEdge(Frame& frame, const BoxShape& shape, const Box& box, std::byte* out, uint8_t* mask) {
  const Shape& bounds = boundsOf(*box.ref);
  const DType dtype = box.ref->dtype();
  const int64_t n = num_elements(shape.sizes);
  eval::poison(dtype, frame.core->poisonKind(), out, n);
  if (mask) std::fill_n(mask, n, uint8_t{0});
  BoxShape part = shape;
  Box at = box;
  const Shape to = rowMajorStrides(shape.sizes);
  int64_t offset = 0;
  for (size_t d = 0; d < part.sizes.size(); ++d) {
    const auto [first, count] = stepsInside(box.starts[d], shape.sizes[d], shape.stride(d), bounds[d]);
    part.sizes[d] = count;
    if (count == 0) return;
    at.starts[d] += first * shape.stride(d);
    offset += first * to[d];
  }
  if (at.ref->strided()) placeInBuffer(part, at);
  const int bytes = storage_bytes(dtype);
  std::vector<std::byte> elements(static_cast<size_t>(num_elements(part.sizes) * bytes));
  std::vector<uint8_t> defined(static_cast<size_t>(num_elements(part.sizes)));
  readBox(frame, part, at, elements.data(), defined.data());
  const Shape from = rowMajorStrides(part.sizes);
  eval::copyStrided(elements.data(), from, out + offset * bytes, to, part.sizes, bytes);
  if (mask)
    eval::copyStrided(reinterpret_cast<const std::byte*>(defined.data()), from,
                      reinterpret_cast<std::byte*>(mask) + offset, to, part.sizes, 1);
}

void writeBox(Frame& frame, const BoxShape& shape, const Box& box, const std::byte* in, const uint8_t* mask) {
  if (box.ref->strided()) {
    exactly(shape, box).write(in, mask);
    return;
  }
  const Ref ref = around(shape, box);
  if (shape.strides.empty()) {
    ref.write(in, mask);
    return;
  }
  const int64_t n = ref.elements();
  const int bytes = storage_bytes(ref.dtype());
  std::byte* all = frame.temporary(2, n * bytes);
  auto* allMask = reinterpret_cast<uint8_t*>(frame.temporary(3, n));
  const bool defined = ref.read(all, allMask) && !mask;
  const Shape to = rowMajorStrides(ref.viewShape()), from = rowMajorStrides(shape.sizes);
  Shape steps(to.size());
  for (size_t d = 0; d < steps.size(); ++d) steps[d] = to[d] * shape.stride(d);
  eval::copyStrided(in, from, all, steps, shape.sizes, bytes);
  static constexpr std::byte kDefined{1};
  const Shape zeros(from.size(), 0);
  eval::copyStrided(mask ? reinterpret_cast<const std::byte*>(mask) : &kDefined, mask ? from : zeros,
                    reinterpret_cast<std::byte*>(allMask), steps, shape.sizes, 1);
  ref.write(all, defined ? nullptr : allMask);
}

}  // namespace smalti::machine::flat
