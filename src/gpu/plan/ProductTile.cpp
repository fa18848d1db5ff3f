#include "gpu/plan/ProductTile.h"

#include <algorithm>

#include "base/Arithmetic.h"
#include "gpu/device/Primitives.h"

namespace smalti::gpu {
namespace {

/// Tiles of warp groups: 64 rows per instruction and up to 256 columns (PTX ISA, wgmma.mma_async).
void planGroups(ProductTile& t, const ProductShape& s, int threads, bool covers) {
  const int64_t groups = threads / (4 * kWarp);
  constexpr int64_t kWarps = 4, kRowsOfGroup = 64, kColumnsOfRow = 64;
  const int64_t mostColumns = std::min<int64_t>(256, 2 * mostSums(threads));
  t.unit = ProductUnit::warpGroups;
  t.warpsDown = kWarps * groups;
  t.warpsAcross = 1;
  // A multiple of 64 columns, the rows of 128 bytes of a stage, so that operands in both orders are read in the same
  // way.
  const int64_t columns = std::min(roundUp(s.n, kColumnsOfRow), mostColumns);
  t.fragmentsN = columns / ProductTile::kColumns;
  const int64_t most = mostSums(threads) / (ProductTile::kFragmentSums * t.fragmentsN);
  const int64_t wanted = ceilDiv(s.m, kRowsOfGroup * groups);
  t.fragmentsM = std::clamp<int64_t>(wanted, 1, covers ? most : std::min<int64_t>(most, 2));
}

void planWarps(ProductTile& t, const ProductShape& s, int threads, bool covers, WarpGrid grid) {
  const int64_t warps = threads / kWarp;
  t.unit = s.exact ? ProductUnit::threads : ProductUnit::warps;
  // Fragments of a warp along each dimension: 4 × 4 are 64 sums per thread; along M at most 8 if the tile is to cover
  // the result. Chosen, not measured.
  constexpr int64_t kFragments = 4, kMaxCoveringM = 8;
  t.warpsDown = grid == WarpGrid::rows ? warps : 1;
  while (grid == WarpGrid::square && t.warpsDown * t.warpsDown * 2 <= warps &&
         t.warpsDown * 2 * ProductTile::kRows <= s.m)
    t.warpsDown *= 2;
  t.warpsAcross = warps / t.warpsDown;
  t.fragmentsM =
      std::clamp<int64_t>(ceilDiv(s.m, ProductTile::kRows * t.warpsDown), 1, covers ? kMaxCoveringM : kFragments);
  const int64_t widest = covers ? mostSums(threads) / (ProductTile::kFragmentSums * t.fragmentsM) : kFragments;
  t.fragmentsN = std::clamp<int64_t>(ceilDiv(s.n, ProductTile::kColumns * t.warpsAcross), 1, widest);
}

/// Roughly square tiles per thread, to minimise loads per multiplication.
void planThreads(ProductTile& t, const ProductShape& s, int threads, bool covers) {
  const int64_t warps = threads / kWarp;
  constexpr int64_t kMaxPerThread = 8;  // rows and columns: 64 sums. Chosen, not measured.
  t.unit = ProductUnit::threads;
  t.warpsDown = 1;
  while (t.warpsDown * 2 <= warps && s.m * (warps / t.warpsDown) >= 4 * s.n * t.warpsDown &&
         t.warpsDown * 2 * ProductTile::kRows <= s.m)
    t.warpsDown *= 2;
  t.warpsAcross = warps / t.warpsDown;
  t.fragmentsM = std::clamp<int64_t>(ceilDiv(s.m, ProductTile::kRows * t.warpsDown), 1,
                                     covers ? kMaxPerThread : kMaxPerThread / 2);
  const int64_t widest =
      covers ? kMaxPerThread * kMaxPerThread / (ProductTile::kFragmentSums * t.fragmentsM) : kMaxPerThread / 2;
  t.fragmentsN = std::clamp<int64_t>(ceilDiv(s.n, ProductTile::kColumns * t.warpsAcross), 1, widest);
}

int64_t bytesOf(int64_t count, bool depthInner, int64_t perRow) {
  return ProductTile::kRowBytes * (depthInner ? roundUp(count, 8) : roundUp(count, perRow));
}

void setBytes(ProductTile& t, const ProductShape& s) {
  t.lhsBytes = bytesOf(t.rows(), s.lhsDepthInner, t.depth());
  t.rhsBytes = bytesOf(t.columns(), s.rhsDepthInner, t.depth());
}

}  // namespace

bool isForTensorCores(DType dtype, const Architecture& architecture) {
  constexpr int kFirstWithFp8 = 89;
  switch (dtype) {
    case DType::bf16:
    case DType::f16:
    case DType::i8:
    case DType::f32:
      return true;
    case DType::f8e4m3fn:
    case DType::f8e5m2:
      return architecture.version >= kFirstWithFp8;
    default:
      return false;
  }
}

int threadsForProduct(const ProductShape& s, const Architecture& architecture) {
  // Elements of the result at 64 sums per thread, for 128, 256 and 512 threads. Chosen, not measured.
  constexpr int64_t kFor128Threads = 128 * 64, kFor256Threads = 128 * 128, kFor512Threads = 128 * 256;
  constexpr int64_t kRowsOfTwoGroups = 2 * 64;
  if (s.m * s.n < kFor128Threads || s.m < kRowsOfTwoGroups) return 128;
  const bool groups = architecture.hasWgmma && !s.exact;
  // Warps also need registers for operands, so 64 sums per thread are better than 128.
  return !groups && !s.exact && s.m * s.n > kFor256Threads && s.m * s.n <= kFor512Threads ? 512 : 256;
}

std::optional<ProductTile> tileFor(const ProductShape& s, int threads, const Architecture& architecture, bool covers,
                                   WarpGrid grid, int mostStages) {
  constexpr int64_t kGroup = 4 * kWarp, kRowsOfGroup = 64;
  ProductTile t;
  t.dtype = s.dtype;
  t.parts = s.parts;
  const int64_t groups = threads / kGroup;
  const bool hasGroups = !s.exact && architecture.hasWgmma && threads % kGroup == 0;
  // Skinny products are bound by reading their operands, so that unused rows of four warps cost nothing.
  const bool hasRowsOfWarps = hasGroups || (!s.exact && grid == WarpGrid::rows);
  const bool isSkinny =
      hasRowsOfWarps && groups == 1 && storage_bytes(s.dtype) == 2 && s.n >= kRowsOfGroup && s.k >= t.depth();
  if ((s.m < ProductTile::kRows / 2 && !isSkinny) || s.n < ProductTile::kColumns || s.k < ProductTile::kRows)
    return std::nullopt;
  // With several groups, at most half of the rows of the last one may be unused.
  if (s.exact && grid == WarpGrid::square)
    planThreads(t, s, threads, covers);
  else if (hasGroups && (isSkinny || s.m > (groups - 1) * kRowsOfGroup + kRowsOfGroup / 2))
    planGroups(t, s, threads, covers);
  else
    planWarps(t, s, threads, covers, grid);
  if (covers && (t.rows() < s.m || t.columns() < s.n || t.sums() > mostSums(threads))) return std::nullopt;
  const int64_t available = architecture.sharedBytes - kOtherSharedBytes;
  setBytes(t, s);
  // Of another tile, two stages should fit.
  while (!covers && 2 * t.stageBytes() > available && (t.fragmentsM > 1 || t.fragmentsN > 1)) {
    int64_t& fragments =
        t.fragmentsN == 1 || (t.fragmentsM > 1 && t.rows() >= t.columns()) ? t.fragmentsM : t.fragmentsN;
    fragments = (fragments + 1) / 2;
    setBytes(t, s);
  }
  const int64_t fit = available / t.stageBytes();
  t.stages = static_cast<int>(std::min<int64_t>({fit, mostStages, std::max<int64_t>(2, ceilDiv(s.k, t.depth()))}));
  if (t.stages < 2) return std::nullopt;
  return t;
}

}  // namespace smalti::gpu
