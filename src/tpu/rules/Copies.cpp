// Slices of refs, which copies and transformed refs are made of: whole tiles.
#include <fmt/format.h>

#include "ir/TpuOps.h"
#include "tpu/Multiple.h"
#include "tpu/Tiling.h"
#include "tpu/View.h"
#include "tpu/rules/Index.h"
#include "tpu/rules/Reasons.h"
#include "tpu/rules/Table.h"

namespace smalti::tpu {
namespace {

constexpr int64_t kLinearBytes = 512;  ///< of one-dimensional and scalar memory

constexpr const char* kLinearText = "The contiguous inner slice in the DMA transfer must be divisible by 512 bytes";
constexpr const char* kWordText =
    "Could not determine that the dynamic offset times the element size is a multiple of the word size";

enum class Misfit : uint8_t { none, offset, size };

/// Rows [o, o + n) with o a multiple of `m` (o itself where it is constant), in tiles of `tile` rows.
Misfit rowMisfit(int64_t m, std::optional<int64_t> o, int64_t n, int64_t tile, int64_t packing, bool oneLaneTile) {
  if (m % packing != 0) return Misfit::offset;
  if (oneLaneTile) return n % packing == 0 ? Misfit::none : m % tile == 0 ? Misfit::size : Misfit::offset;
  if (m % tile == 0) {
    if (n % packing != 0) return Misfit::size;
    return n < tile || n % tile == 0 ? Misfit::none : Misfit::size;
  }
  if (n % packing != 0) return Misfit::offset;
  if (!o) return m % n == 0 && n < tile ? Misfit::none : Misfit::offset;
  const bool inside = *o / tile == (*o + n - 1) / tile;
  const bool halves = n <= tile && *o % tile + n / 2 == tile;
  return inside || halves ? Misfit::none : Misfit::offset;
}

void onSlice(mlir::Operation* op, const Judge& judge) {
  auto slice = mlir::dyn_cast<MemRefSliceOp>(op);
  if (!slice) return;
  const auto view = viewOf(slice.getMemRef());
  const auto type = mlir::dyn_cast<mlir::MemRefType>(slice.getResult().getType());
  const auto from = mlir::dyn_cast<mlir::MemRefType>(slice.getMemRef().getType());
  if (!view || !type || view->space == MemorySpace::semaphore_mem) return;
  const int64_t packing = packingOf(view->array.dtype);
  const auto refuse = [&](const Reason& why, size_t i, std::string message, int64_t unit, bool size) {
    const mlir::Value start = slice.getBaseIdx()[i];
    judge.refuse(
        why, op->getLoc(),
        {.message = std::move(message),
         .need = fmt::format("whole tiles: a multiple of {} along dimension {} of {}", unit, i, view->array.str()),
         .have = size ? fmt::format("{} elements", type.getShape()[i])
                      : fmt::format("an offset of {}", proofText(start, unit)),
         .help = size || constantOf(start) ? "copy whole tiles, and take the part that you want from VMEM"
                                           : multipleHelp(start, unit)});
  };
  Misfit worst = Misfit::none;
  size_t where = 0;
  int64_t unit = 1;
  for (size_t i = 0; i < slice.getBaseIdx().size(); ++i) {
    const size_t d = view->dimensions[i];
    const int64_t n = type.getShape()[i];
    if (mlir::ShapedType::isDynamic(n)) continue;
    const mlir::Value start = slice.getBaseIdx()[i];
    const auto o = constantOf(start);
    const int64_t m = knownMultiple(start);
    if (n == from.getShape()[i] && o == 0) continue;
    Misfit misfit = Misfit::none;
    int64_t tile = view->tile(judge.chip, d);
    if (!view->isTiled() || view->rank() == 1) {
      if (i + 1 != slice.getBaseIdx().size()) continue;
      tile = kLinearBytes * 8 / elementBits(view->array.dtype);
      if (!view->isTiled()) {
        if (m % tile != 0 || n % tile != 0) return refuse(reason::kDmaLinear, i, kLinearText, tile, m % tile == 0);
        continue;
      }
      if (m % tile != 0 && !o && elementBits(view->array.dtype) == 32)
        return refuse(reason::kDmaLinear, i, kWordText, tile, false);
      if (m % tile != 0)
        misfit = Misfit::offset;
      else if (n % tile != 0)
        misfit = Misfit::size;
    } else if (view->isLane(d)) {
      const bool part = n % tile != 0 && n != view->array.shape[d];
      if (part && m % tile == 0 && elementBits(view->array.dtype) == 4)
        return refuse(reason::kDmaLinear, i, kLinearText, tile, true);
      // Rows of one lane tile follow each other as in untiled memory.
      if (m % tile != 0 && !o && view->array.shape[d] <= kLanes)
        return refuse(reason::kDmaLinear, i, kWordText, tile, false);
      if (m % tile != 0)
        misfit = Misfit::offset;
      else if (part)
        misfit = Misfit::size;
    } else if (view->isRow(d)) {
      misfit = rowMisfit(m, o, n, tile, packing, view->array.shape.back() <= kLanes);
    }
    if (misfit != Misfit::none && (worst == Misfit::none || misfit < worst)) worst = misfit, where = i, unit = tile;
  }
  if (worst == Misfit::offset)
    refuse(reason::kDmaOffset, where, "Offsets along tiled dimensions must be aligned to tiles", unit, false);
  else if (worst == Misfit::size)
    refuse(reason::kDmaSize, where, "Slice sizes along tiled dimensions must be aligned to tiles", unit, true);
}

}  // namespace

std::span<const Rule> copyRules() {
  static constexpr Rule kRules[]{{.onOp = onSlice}};
  return kRules;
}

}  // namespace smalti::tpu
