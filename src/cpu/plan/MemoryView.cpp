#include "cpu/plan/MemoryView.h"

namespace smalti::cpu {
MemoryView denseMemory(DType dtype, std::span<const int64_t> shape) {
  MemoryView v;
  v.dtype = dtype;
  v.shape.assign(shape.begin(), shape.end());
  v.strides = rowMajor(KnownArithmetic(), shape);
  return v;
}

bool isDense(const MemoryView& v) { return isRowMajor<KnownArithmetic>(v); }

KnownNumber extent(const MemoryView& v, size_t d) { return v.dynamic() ? v.sizes[d] : KnownNumber(v.shape[d]); }

MemoryView slice(const MemoryView& v, std::span<const int64_t> sizes, std::span<const int64_t> steps) {
  MemoryView out = v;
  takeBox(KnownArithmetic(), out, sizes, steps);
  if (v.hasBlockNumber && out.shape != v.shape) out.forgetReuse();
  return out;
}

std::optional<MemoryView> reshape(const MemoryView& v, std::span<const int64_t> shape) {
  return reshaped(KnownArithmetic(), v, shape);
}

PackedMemory unpacked(const MemoryView& from) { return unpackedAs<PackedMemory>(from); }

std::optional<PackedMemory> bitcastMemory(const PackedMemory& from, DType to, std::span<const int64_t> shape) {
  return bitcastElements(KnownArithmetic(), from, to, shape);
}

PackedMemory slice(const PackedMemory& from, std::span<const int64_t> sizes, std::span<const int64_t> steps) {
  if (from.fold > 1) {
    PackedMemory rows = from;
    rows.fold = 1;
    return slice(rows, sizes, from.stepsBeforeFold(sizes, steps));
  }
  PackedMemory v = from;
  v.cells = slice(from.cells, sizes, steps);
  for (size_t d = 0; d < v.rowSteps.size(); ++d) {
    v.row = std::nullopt;
    if (!steps.empty()) v.rowSteps[d] = KnownArithmetic().multiply(v.rowSteps[d], steps[d]);
  }
  return v;
}

std::optional<PackedMemory> reshape(const PackedMemory& from, std::span<const int64_t> shape) {
  return reshapedElements(KnownArithmetic(), from, shape);
}

}  // namespace smalti::cpu
