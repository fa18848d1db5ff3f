#include "cpu/emit/PackedView.h"

#include "cpu/plan/ReshapedStrides.h"
#include "schedule/UnitDims.h"

namespace smalti::cpu {
namespace {

Reg index(Builder& b, int64_t i) { return b.getInt64(static_cast<uint64_t>(i)); }

/// Moves a dimension's rows from the stored rows to the narrow ones, where they are a whole number of those.
void countInNarrowRows(Builder& b, PackedView& v, size_t d) {
  const auto stride = constantOf(v.cells.strides[d]), row = constantOf(v.rowStride);
  if (!stride || !row || *row == 0 || *stride % *row != 0) return;
  v.rowSteps[d] = b.getInt64(static_cast<uint64_t>(*stride / *row * v.shares));
  v.cells.strides[d] = b.getInt64(0);
}

/// Elements that are narrower than the stored ones.
PackedView split(Builder& b, const View& from, DType to) {
  const size_t rank = from.shape.size(), rows = rank - 2;
  PackedView v = unpacked(from);
  v.dtype = to;
  v.shares = bit_width(from.dtype) / bit_width(to);
  v.row = b.getInt64(0);
  v.rowStride = from.strides[rows];
  // A single row has no stride of its own: the next dimension's gives the distance of rows.
  if (from.shape[rows] == 1 && !from.dynamic()) {
    v.rowStride = b.getInt64(1);
    for (size_t d = rows; d-- > 0;)
      if (from.shape[d] != 1) {
        v.rowStride = from.strides[d];
        break;
      }
  }
  v.rowSteps.assign(rank, b.getInt64(0));
  v.rowSteps[rows] = b.getInt64(1);
  v.cells.strides[rows] = b.getInt64(0);
  for (size_t d = 0; d < rows; ++d) countInNarrowRows(b, v, d);
  return v;
}

/// Elements that are wider than the stored ones.
PackedView join(Builder& b, const View& from, DType to) {
  const size_t rows = from.shape.size() - 2;
  PackedView v = unpacked(from);
  v.dtype = to;
  v.parts = bit_width(to) / bit_width(from.dtype);
  v.partStride = from.strides[rows];
  v.cells.strides[rows] = b.CreateMul(v.partStride, b.getInt64(static_cast<uint64_t>(v.parts)));
  return v;
}

/// The stored elements that the view sees, as elements of their own width.
std::optional<View> stored(Builder& b, Require require, const PackedView& v) {
  const size_t rank = v.cells.shape.size();
  View out = v.cells;
  if (v.parts == 1 && v.shares == 1) return out;
  const size_t rows = rank - 2;
  if (v.parts > 1) {
    const auto stride = constantOf(v.cells.strides[rows]), part = constantOf(v.partStride);
    const bool single = out.shape[rows] == 1 && !out.dynamic();
    if (!single && (!stride || !part || *stride != *part * v.parts)) return std::nullopt;
    out.strides[rows] = v.partStride;
    out.shape[rows] *= v.parts;
    if (out.dynamic()) out.sizes[rows] = b.CreateMul(out.sizes[rows], index(b, v.parts));
    return out;
  }
  for (size_t d = 0; d < rank; ++d) {
    if (d == rows) continue;
    const auto step = constantOf(v.rowSteps[d]);
    if (!step || *step % v.shares != 0) return std::nullopt;
    out.strides[d] = b.CreateAdd(out.strides[d], b.CreateMul(index(b, *step / v.shares), v.rowStride));
  }
  if (constantOf(v.rowSteps[rows]) != 1) return std::nullopt;
  const auto isWhole = [&](Reg n) { return b.CreateICmpEQ(b.CreateURem(n, index(b, v.shares)), index(b, 0)); };
  require(isWhole(v.row));
  out.base = b.CreateGEP(storageType(b.getContext(), out.dtype), out.base,
                         b.CreateMul(b.CreateUDiv(v.row, index(b, v.shares)), v.rowStride));
  out.strides[rows] = v.rowStride;
  if (out.dynamic()) {
    require(isWhole(out.sizes[rows]));
    out.sizes[rows] = b.CreateUDiv(out.sizes[rows], index(b, v.shares));
  }
  if (out.shape[rows] % v.shares != 0) return std::nullopt;
  out.shape[rows] /= v.shares;
  return out;
}

std::optional<std::vector<Reg>> stridesOf(Builder& b, std::span<const int64_t> from, std::span<const Reg> strides,
                                          std::span<const int64_t> to) {
  return reshapedStrides(
      from, strides, to, index(b, 0), [](Reg r) { return constantOf(r); },
      [&](Reg stride, int64_t n) { return b.CreateMul(stride, index(b, n)); });
}

}  // namespace

PackedView unpacked(const View& from) {
  PackedView v;
  v.dtype = from.dtype;
  v.cells = from;
  v.cells.padding.clear();
  v.cells.hints.nextStepOffset = nullptr;
  v.cells.reuse = {};
  return v;
}

std::optional<PackedView> bitcastView(Builder& b, Require require, const PackedView& from, DType to,
                                      std::span<const int64_t> shape) {
  const int was = bit_width(from.dtype), is = bit_width(to);
  if (was < 2 || is < 2 || is_semaphore(from.dtype) || is_semaphore(to) || !from.cells.present.empty())
    return std::nullopt;
  if (was == is) {
    PackedView v = from;
    v.dtype = to;
    return v;
  }
  auto plain = stored(b, require, from);
  if (!plain || plain->shape.size() < 2) return std::nullopt;
  const int here = bit_width(plain->dtype);
  const size_t rows = plain->shape.size() - 2;
  PackedView v = is < here ? split(b, *plain, to) : is > here ? join(b, *plain, to) : unpacked(*plain);
  v.dtype = to;
  if (plain->dynamic()) {
    Reg bits = b.CreateMul(plain->sizes[rows], index(b, here));
    require(b.CreateICmpEQ(b.CreateURem(bits, index(b, is)), index(b, 0)));
    v.cells.sizes[rows] = b.CreateUDiv(bits, index(b, is));
  }
  v.cells.shape.assign(shape.begin(), shape.end());
  return v;
}

PackedView slice(Builder& b, const PackedView& from, std::span<const Reg> starts, std::span<const int64_t> sizes,
                 std::span<const int64_t> steps) {
  PackedView v = from;
  v.cells = slice(b, from.cells, starts, sizes, steps);
  for (size_t d = 0; d < v.rowSteps.size(); ++d) {
    v.row = b.CreateAdd(v.row, b.CreateMul(starts[d], v.rowSteps[d]));
    if (!steps.empty()) v.rowSteps[d] = b.CreateMul(v.rowSteps[d], b.getInt64(static_cast<uint64_t>(steps[d])));
  }
  return v;
}

std::optional<PackedView> reshape(Builder& b, const PackedView& from, std::span<const int64_t> shape) {
  PackedView v = from;
  const size_t rank = shape.size();
  if (const auto source = schedule::unitReshape(from.cells.shape, shape)) {
    v.cells.strides.assign(rank, b.getInt64(0));
    if (from.cells.dynamic()) v.cells.sizes.assign(rank, b.getInt64(1));
    if (from.shares > 1) v.rowSteps.assign(rank, b.getInt64(0));
    for (size_t d = 0; d < rank; ++d) {
      if ((*source)[d] < 0) continue;
      const auto s = static_cast<size_t>((*source)[d]);
      v.cells.strides[d] = from.cells.strides[s];
      if (from.cells.dynamic()) v.cells.sizes[d] = from.cells.sizes[s];
      if (from.shares > 1) v.rowSteps[d] = from.rowSteps[s];
    }
  } else {
    if (from.cells.dynamic() || from.cells.elements() != num_elements(shape)) return std::nullopt;
    auto strides = stridesOf(b, from.cells.shape, from.cells.strides, shape);
    if (!strides) return std::nullopt;
    v.cells.strides = std::move(*strides);
    if (from.shares > 1) {
      auto steps = stridesOf(b, from.cells.shape, from.rowSteps, shape);
      if (!steps) return std::nullopt;
      v.rowSteps = std::move(*steps);
    }
  }
  v.cells.shape.assign(shape.begin(), shape.end());
  return v;
}

PackedView withoutUnitDims(const PackedView& from) {
  PackedView v = from;
  v.cells.shape.clear();
  v.cells.strides.clear();
  v.cells.sizes.clear();
  v.rowSteps.clear();
  for (size_t d = 0; d < from.cells.shape.size(); ++d) {
    if (from.cells.shape[d] == 1) continue;
    v.cells.shape.push_back(from.cells.shape[d]);
    v.cells.strides.push_back(from.cells.strides[d]);
    if (from.cells.dynamic()) v.cells.sizes.push_back(from.cells.sizes[d]);
    if (from.shares > 1) v.rowSteps.push_back(from.rowSteps[d]);
  }
  return v;
}

View storedCells(Builder& b, const PackedView& v) {
  View out = v.cells;
  const auto add = [&](Reg size, Reg stride) {
    const auto known = constantOf(size);
    if (!known && !out.dynamic()) {
      for (const int64_t n : out.shape) out.sizes.push_back(index(b, n));
    }
    if (out.dynamic()) out.sizes.push_back(size);
    out.shape.push_back(known.value_or(INT64_MIN));
    out.strides.push_back(stride);
  };
  if (v.parts > 1) add(index(b, v.parts), v.partStride);
  if (v.shares > 1) {
    Reg first = b.CreateUDiv(v.row, index(b, v.shares)), last = v.row;
    for (size_t d = 0; d < v.rowSteps.size(); ++d)
      last = b.CreateAdd(last, b.CreateMul(b.CreateSub(extent(b, v.cells, d), index(b, 1)), v.rowSteps[d]));
    out.base = b.CreateGEP(storageType(b.getContext(), out.dtype), out.base, b.CreateMul(first, v.rowStride));
    add(b.CreateAdd(b.CreateSub(b.CreateSDiv(last, index(b, v.shares)), first), index(b, 1)), v.rowStride);
  }
  return out;
}

}  // namespace smalti::cpu
