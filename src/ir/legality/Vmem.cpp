// How much VMEM the windows and scratch take: padded to tiles, windows twice when their block may change.
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "ir/KernelArguments.h"
#include "ir/Legality.h"
#include "ir/Tpu.h"
#include "ir/Types.h"

namespace smalti {
namespace {

int64_t roundUp(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

/// Bytes of an array in VMEM. A bool is a 32-bit word there.
int64_t paddedBytes(const ArrayType& t) {
  const int64_t bits = t.dtype == DType::pred ? 32 : bit_width(t.dtype), packing = 32 / std::min<int64_t>(bits, 32);
  if (t.shape.empty()) return 0;
  if (t.shape.size() == 1) return roundUp(t.shape[0], 128 * packing) * bits / 8;
  const int64_t rows = t.shape[t.shape.size() - 2];
  int64_t tile = 8;
  if (bits == 8 && rows % 32 == 0) tile = 32;
  if (bits == 4 && rows % 64 == 0) tile = 64;
  if (rows < 8) {
    tile = packing;
    while (tile < rows) tile *= 2;
  }
  int64_t elements = roundUp(rows, tile) * roundUp(t.shape.back(), 128);
  for (size_t i = 0; i + 2 < t.shape.size(); ++i) elements *= t.shape[i];
  return elements * bits / 8;
}

/// Whether a window's block stays the same over the whole grid: its map returns constants, or the axes it follows have
/// one step.
bool isFixed(const KernelPackage& p, const Window& w) {
  mlir::ModuleOp module = *p.module;
  auto map = module.lookupSymbol<mlir::func::FuncOp>(w.transform);
  if (!map || map.empty()) return false;
  for (size_t axis = 0; axis < p.signature.grid.size() && axis < map.getNumArguments(); ++axis)
    if (p.signature.grid[axis] != 1 && !map.getArgument(axis).use_empty()) return false;
  return true;
}

}  // namespace

int64_t vmemBytesAtLeast(const KernelPackage& p) {
  mlir::func::FuncOp f = p.kernelFunction();
  int64_t bytes = 0;
  for (unsigned i = 0; f && i < f.getNumArguments(); ++i) {
    const auto type = mlir::dyn_cast<mlir::MemRefType>(f.getArgument(i).getType());
    if (!type || tpu::memorySpaceOf(type) != tpu::MemorySpace::vmem) continue;
    const auto array = arrayTypeOf(type);
    if (!array) continue;
    const ArgumentRole role = KernelArguments(p).roleOf(i);
    const bool isScratch = role.kind == ArgumentRole::scratch;
    if (isScratch && f.getArgument(i).use_empty()) continue;
    int64_t copies = 1;
    if (!isScratch) {
      const size_t window = role.index + (role.kind == ArgumentRole::output ? p.numInputs() : 0);
      const auto& w = p.signature.windows[window];
      if (w && w->pipelineMode != PipelineMode::synchronous && !isFixed(p, *w)) copies = 2;
    }
    bytes += copies * paddedBytes(*array);
  }
  return bytes;
}

}  // namespace smalti
