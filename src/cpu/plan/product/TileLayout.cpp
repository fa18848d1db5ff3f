#include "cpu/plan/product/TileLayout.h"

#include <algorithm>

#include "base/Arithmetic.h"
#include "cpu/plan/product/Layout.h"

namespace smalti::cpu {
namespace {

/// Fewer rows or values of k leave most of a tile of 16 rows and 32 bf16 empty. Chosen, not measured.
constexpr int64_t kMinTileRows = 4, kMinTileDepth = 16;

}  // namespace

bool hasTiles(const Processor& p) {
  const auto has = [&](const char* feature) { return p.features.find(feature) != p.features.npos; };
  return p.avx512 && has("+amx-tile") && has("+amx-bf16") && has("+amx-int8");
}

Processor withoutTiles(Processor p) {
  for (size_t at = 0; (at = p.features.find("+amx-", at)) != p.features.npos;) p.features[at] = '-';
  return p;
}

bool usesTiles(const GemmShape& s, const Processor& p) {
  if (!hasTiles(p) || s.transposedA || s.m < kMinTileRows || s.k < kMinTileDepth || s.n == 0) return false;
  if (s.c == DType::i32) return isByte(s.a) && isByte(s.b);
  return s.c == DType::f32 && s.b == DType::bf16 && (s.a == DType::bf16 || s.a == DType::f32);
}

TileLayout layOutTiles(const GemmShape& s, const Processor& p) {
  TileLayout l{.shape = s};
  l.group = isByte(s.b) ? 4 : 2;
  l.planes = s.a == DType::f32 ? 3 : 1;
  const int64_t step = l.group * kTileLanes;
  l.blockDepth = equalParts(s.k, kMaxChain * l.group / 2, step);
  const int64_t steps = ceilDiv(l.blockDepth, step), rowBytes = 4 * kTileLanes * steps;
  l.packA = l.planes > 1 || s.k % step != 0;
  constexpr int64_t kRows = 2 * kTileRows;
  const int64_t mostRows = bytesForA(p) / (rowBytes * l.planes) / kRows * kRows;
  l.blockRows = equalParts(s.m, std::max(mostRows, kRows), kRows);
  l.keepPackedB = s.cachesPackedB || l.blockRows < s.m;
  l.panelBytes = steps * kTileRows * kPanelRowBytes;
  if (l.planes > 1) {
    l.finiteB = l.panelBytes;
    l.panelBytes *= 2;
  }
  const int64_t mostPanels = std::max<int64_t>(1, std::min(p.l3Bytes / 8, kMaxPackedBlockBytes) / l.panelBytes);
  l.blockColumns = l.keepPackedB && !s.cachesPackedB ? equalParts(s.n, mostPanels * kPanelColumns, kPanelColumns) : s.n;
  const int64_t panels = ceilDiv(l.blockColumns, kPanelColumns);
  if (s.cachesPackedB) l.packedCacheBytes = ceilDiv(s.k, l.blockDepth) * panels * l.panelBytes;
  l.offsetA = s.cachesPackedB ? 0 : l.keepPackedB ? panels * l.panelBytes : l.panelBytes;
  l.workspaceBytes = l.offsetA;
  if (l.packA) {
    l.strideA = rowBytes + kLineBytes;  // rows begin in different cache sets
    l.planeBytes = roundUp(l.blockRows, kTileRows) * l.strideA;
    l.workspaceBytes += l.planes * l.planeBytes;
  }
  return l;
}

}  // namespace smalti::cpu
