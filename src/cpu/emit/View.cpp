#include "cpu/emit/View.h"

namespace smalti::cpu {

std::optional<int64_t> constantOf(Reg r) {
  if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(r)) return c->getSExtValue();
  return std::nullopt;
}

bool isDense(const View& v) { return isRowMajor<EmittedArithmetic>(v); }

std::vector<Reg> denseStrides(Builder& b, std::span<const int64_t> shape) {
  return rowMajor(EmittedArithmetic{b}, shape);
}

Reg extent(Builder& b, const View& v, size_t d) {
  return v.dynamic() ? v.sizes[d] : b.getInt64(static_cast<uint64_t>(v.shape[d]));
}

Reg presentExtent(Builder& b, const View& v, size_t d) { return v.extendsPast() ? v.present[d] : extent(b, v, d); }

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
  takeBox(EmittedArithmetic{b}, out, sizes, steps);
  // Code that takes part of such a block may do so in only a few of the steps that use the block.
  if (v.reuse.block && out.shape != v.shape) out.reuse = {};
  return out;
}

std::optional<View> reshape(Builder& b, const View& v, std::span<const int64_t> shape) {
  return reshaped(EmittedArithmetic{b}, v, shape);
}

View withoutUnitDims(const View& v) { return squeezed(v); }

}  // namespace smalti::cpu
