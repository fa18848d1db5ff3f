#include "cpu/emit/View.h"

#include "base/RowMajor.h"
#include "base/Tiles.h"
#include "schedule/UnitDims.h"

namespace smalti::cpu {

std::optional<int64_t> constantOf(Reg r) {
  if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(r)) return c->getSExtValue();
  return std::nullopt;
}

std::vector<Reg> denseStrides(Builder& b, std::span<const int64_t> shape) {
  std::vector<Reg> strides;
  for (const int64_t step : rowMajorStrides(shape)) strides.push_back(b.getInt64(static_cast<uint64_t>(step)));
  return strides;
}

bool isDense(const View& v) {
  if (v.dynamic() || !v.present.empty()) return false;
  int64_t step = 1;
  for (size_t d = v.shape.size(); d-- > 0;) {
    if (v.shape[d] != 1 && constantOf(v.strides[d]) != step) return false;
    step *= v.shape[d];
  }
  return true;
}

Reg extent(Builder& b, const View& v, size_t d) {
  return v.dynamic() ? v.sizes[d] : b.getInt64(static_cast<uint64_t>(v.shape[d]));
}

Reg presentExtent(Builder& b, const View& v, size_t d) { return v.present.empty() ? extent(b, v, d) : v.present[d]; }

Reg elementPointer(Builder& b, const View& v, std::span<const Reg> indices) {
  Reg offset = b.getInt64(0);
  for (size_t d = 0; d < indices.size(); ++d) offset = b.CreateAdd(offset, b.CreateMul(indices[d], v.strides[d]));
  if (constantOf(offset) == 0) return v.base;
  return b.CreateGEP(storageType(b.getContext(), v.dtype), v.base, offset);
}

View slice(Builder& b, const View& v, std::span<const Reg> starts, std::span<const int64_t> sizes,
           std::span<const int64_t> steps) {
  View out = v;
  out.base = elementPointer(b, v, starts);
  out.shape.assign(sizes.begin(), sizes.end());
  out.sizes.clear();
  out.padding.clear();
  out.present.clear();
  // Code that takes part of such a block may do so in only a few of the steps that use the block.
  if (v.reuse.block && out.shape != v.shape) out.reuse = {};
  for (size_t d = 0; d < steps.size(); ++d)
    out.strides[d] = b.CreateMul(v.strides[d], b.getInt64(static_cast<uint64_t>(steps[d])));
  return out;
}

std::optional<View> reshape(Builder& b, const View& v, std::span<const int64_t> shape) {
  View out = v;
  out.shape.assign(shape.begin(), shape.end());
  const auto source = !isDense(v) || !v.padding.empty() ? schedule::unitReshape(v.shape, shape) : std::nullopt;
  if (!source) {
    if (!isDense(v)) return std::nullopt;
    out.strides = denseStrides(b, shape);
    out.padding = paddingAfterReshape(v.shape, v.padding, shape);
    return out;
  }
  out.strides.resize(shape.size());
  if (v.dynamic()) out.sizes.assign(shape.size(), b.getInt64(1));
  if (!v.present.empty()) out.present.assign(shape.size(), b.getInt64(1));
  if (!v.padding.empty()) out.padding.assign(shape.size(), 0);
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto from = static_cast<size_t>((*source)[d]);
    out.strides[d] = (*source)[d] < 0 ? b.getInt64(0) : v.strides[from];
    if ((*source)[d] < 0) continue;
    if (v.dynamic()) out.sizes[d] = v.sizes[from];
    if (!v.present.empty()) out.present[d] = v.present[from];
    if (!v.padding.empty() && keepsPadding(from, v.shape.size(), d, shape.size())) out.padding[d] = v.padding[from];
  }
  return out;
}

}  // namespace smalti::cpu
