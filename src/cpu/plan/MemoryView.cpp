#include "cpu/plan/MemoryView.h"

#include "base/RowMajor.h"
#include "base/Tiles.h"
#include "cpu/plan/ReshapedStrides.h"
#include "schedule/UnitDims.h"

namespace smalti::cpu {
namespace {

KnownNumber product(KnownNumber a, KnownNumber b) {
  int64_t all = 0;
  return a && b && !__builtin_mul_overflow(*a, *b, &all) ? KnownNumber(all) : std::nullopt;
}
KnownNumber sum(KnownNumber a, KnownNumber b) {
  int64_t all = 0;
  return a && b && !__builtin_add_overflow(*a, *b, &all) ? KnownNumber(all) : std::nullopt;
}

std::vector<KnownNumber> denseStrides(std::span<const int64_t> shape) {
  const auto strides = rowMajorStrides(shape);
  return {strides.begin(), strides.end()};
}

// ---- elements of another width

PackedMemory split(const MemoryView& from, DType to) {
  const size_t rank = from.shape.size(), rows = rank - 2;
  PackedMemory v = unpacked(from);
  v.dtype = to;
  v.shares = bit_width(from.dtype) / bit_width(to);
  v.rowStride = from.strides[rows];
  if (from.shape[rows] == 1 && !from.dynamic()) {
    v.rowStride = 1;
    for (size_t d = rows; d-- > 0;)
      if (from.shape[d] != 1) {
        v.rowStride = from.strides[d];
        break;
      }
  }
  v.rowSteps.assign(rank, 0);
  v.rowSteps[rows] = 1;
  v.cells.strides[rows] = 0;
  for (size_t d = 0; d < rows; ++d) {
    const KnownNumber stride = v.cells.strides[d];
    if (!stride || !v.rowStride || *v.rowStride == 0 || *stride % *v.rowStride != 0) continue;
    v.rowSteps[d] = *stride / *v.rowStride * v.shares;
    v.cells.strides[d] = 0;
  }
  return v;
}

PackedMemory join(const MemoryView& from, DType to) {
  const size_t rows = from.shape.size() - 2;
  PackedMemory v = unpacked(from);
  v.dtype = to;
  v.parts = bit_width(to) / bit_width(from.dtype);
  v.partStride = from.strides[rows];
  v.cells.strides[rows] = product(v.partStride, v.parts);
  return v;
}

/// The stored elements of the view, as elements of their own width.
std::optional<MemoryView> stored(const PackedMemory& v) {
  MemoryView out = v.cells;
  if (v.parts == 1 && v.shares == 1) return out;
  const size_t rank = v.cells.shape.size(), rows = rank - 2;
  if (v.parts > 1) {
    const KnownNumber stride = v.cells.strides[rows];
    const bool single = out.shape[rows] == 1 && !out.dynamic();
    if (!single && (!stride || !v.partStride || *stride != *v.partStride * v.parts)) return std::nullopt;
    out.strides[rows] = v.partStride;
    out.shape[rows] *= v.parts;
    if (out.dynamic()) out.sizes[rows] = product(out.sizes[rows], v.parts);
    return out;
  }
  for (size_t d = 0; d < rank; ++d) {
    if (d == rows) continue;
    const KnownNumber step = v.rowSteps[d];
    if (!step || *step % v.shares != 0) return std::nullopt;
    out.strides[d] = sum(out.strides[d], product(*step / v.shares, v.rowStride));
  }
  if (v.rowSteps[rows] != 1) return std::nullopt;
  out.strides[rows] = v.rowStride;
  if (out.dynamic() && out.sizes[rows]) out.sizes[rows] = *out.sizes[rows] / v.shares;
  if (out.shape[rows] % v.shares != 0) return std::nullopt;
  out.shape[rows] /= v.shares;
  return out;
}

std::optional<std::vector<KnownNumber>> stridesOf(std::span<const int64_t> from, std::span<const KnownNumber> strides,
                                                  std::span<const int64_t> to) {
  return reshapedStrides(
      from, strides, to, KnownNumber(0), [](KnownNumber n) { return n; },
      [](KnownNumber stride, int64_t n) { return product(stride, n); });
}

}  // namespace

MemoryView denseMemory(DType dtype, std::span<const int64_t> shape) {
  MemoryView v;
  v.dtype = dtype;
  v.shape.assign(shape.begin(), shape.end());
  v.strides = denseStrides(shape);
  return v;
}

bool isDense(const MemoryView& v) {
  if (v.dynamic() || v.extendsPast) return false;
  int64_t step = 1;
  for (size_t d = v.shape.size(); d-- > 0;) {
    if (v.shape[d] != 1 && v.strides[d] != step) return false;
    step *= v.shape[d];
  }
  return true;
}

KnownNumber extent(const MemoryView& v, size_t d) { return v.dynamic() ? v.sizes[d] : KnownNumber(v.shape[d]); }

MemoryView slice(const MemoryView& v, std::span<const int64_t> sizes, std::span<const int64_t> steps) {
  MemoryView out = v;
  out.shape.assign(sizes.begin(), sizes.end());
  out.sizes.clear();
  out.padding.clear();
  out.extendsPast = false;
  if (v.hasBlockNumber && out.shape != v.shape) {
    out.isReused = out.hasBlockNumber = false;
    out.reusedBlocks = 1;
  }
  for (size_t d = 0; d < steps.size(); ++d) out.strides[d] = product(v.strides[d], steps[d]);
  return out;
}

std::optional<MemoryView> reshape(const MemoryView& v, std::span<const int64_t> shape) {
  MemoryView out = v;
  out.shape.assign(shape.begin(), shape.end());
  const auto source = !isDense(v) || !v.padding.empty() ? schedule::unitReshape(v.shape, shape) : std::nullopt;
  if (!source) {
    if (!isDense(v)) return std::nullopt;
    out.strides = denseStrides(shape);
    out.padding = paddingAfterReshape(v.shape, v.padding, shape);
    return out;
  }
  out.strides.assign(shape.size(), 0);
  if (v.dynamic()) out.sizes.assign(shape.size(), 1);
  if (!v.padding.empty()) out.padding.assign(shape.size(), 0);
  for (size_t d = 0; d < shape.size(); ++d) {
    if ((*source)[d] < 0) continue;
    const auto from = static_cast<size_t>((*source)[d]);
    out.strides[d] = v.strides[from];
    if (v.dynamic()) out.sizes[d] = v.sizes[from];
    if (!v.padding.empty() && keepsPadding(from, v.shape.size(), d, shape.size())) out.padding[d] = v.padding[from];
  }
  return out;
}

PackedMemory unpacked(const MemoryView& from) {
  PackedMemory v;
  v.dtype = from.dtype;
  v.cells = from;
  v.cells.padding.clear();
  v.cells.isNextKnown = v.cells.isReused = v.cells.hasBlockNumber = false;
  v.cells.reusedBlocks = 1;
  return v;
}

std::optional<PackedMemory> bitcastMemory(const PackedMemory& from, DType to, std::span<const int64_t> shape) {
  const int was = bit_width(from.dtype), is = bit_width(to);
  if (was < 2 || is < 2 || is_semaphore(from.dtype) || is_semaphore(to) || from.cells.extendsPast) return std::nullopt;
  if (was == is) {
    PackedMemory v = from;
    v.dtype = to;
    return v;
  }
  const auto plain = stored(from);
  if (!plain || plain->shape.size() < 2) return std::nullopt;
  const int here = bit_width(plain->dtype);
  const size_t rows = plain->shape.size() - 2;
  PackedMemory v = is < here ? split(*plain, to) : is > here ? join(*plain, to) : unpacked(*plain);
  v.dtype = to;
  if (plain->dynamic()) {
    const KnownNumber bits = product(plain->sizes[rows], here);
    v.cells.sizes[rows] = bits ? KnownNumber(*bits / is) : std::nullopt;
  }
  v.cells.shape.assign(shape.begin(), shape.end());
  return v;
}

PackedMemory slice(const PackedMemory& from, std::span<const int64_t> sizes, std::span<const int64_t> steps) {
  PackedMemory v = from;
  v.cells = slice(from.cells, sizes, steps);
  if (!steps.empty())
    for (size_t d = 0; d < v.rowSteps.size(); ++d) v.rowSteps[d] = product(v.rowSteps[d], steps[d]);
  return v;
}

std::optional<PackedMemory> reshape(const PackedMemory& from, std::span<const int64_t> shape) {
  PackedMemory v = from;
  const size_t rank = shape.size();
  if (const auto source = schedule::unitReshape(from.cells.shape, shape)) {
    v.cells.strides.assign(rank, 0);
    if (from.cells.dynamic()) v.cells.sizes.assign(rank, 1);
    if (from.shares > 1) v.rowSteps.assign(rank, 0);
    for (size_t d = 0; d < rank; ++d) {
      if ((*source)[d] < 0) continue;
      const auto s = static_cast<size_t>((*source)[d]);
      v.cells.strides[d] = from.cells.strides[s];
      if (from.cells.dynamic()) v.cells.sizes[d] = from.cells.sizes[s];
      if (from.shares > 1) v.rowSteps[d] = from.rowSteps[s];
    }
  } else {
    if (from.cells.dynamic() || from.cells.elements() != num_elements(shape)) return std::nullopt;
    auto strides = stridesOf(from.cells.shape, from.cells.strides, shape);
    if (!strides) return std::nullopt;
    v.cells.strides = std::move(*strides);
    if (from.shares > 1) {
      auto steps = stridesOf(from.cells.shape, from.rowSteps, shape);
      if (!steps) return std::nullopt;
      v.rowSteps = std::move(*steps);
    }
  }
  v.cells.shape.assign(shape.begin(), shape.end());
  return v;
}

}  // namespace smalti::cpu
