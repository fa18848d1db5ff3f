#include "cpu/plan/product/SkinnyPlan.h"

#include "base/Arithmetic.h"
#include "cpu/plan/product/TileLayout.h"

#include <algorithm>
#include <bit>

namespace smalti::cpu {
namespace {

// Fitted with `./do bench cpu` on the processor that docs/performance.md names.

/// The most parts of B whose rows are multiplied together; more concurrent streams gain nothing.
constexpr int64_t kMaxConcurrentRows = 4;
/// The most rows of A per row of B in registers; with more, loads would take longer than sums.
constexpr int64_t kMaxRowsOfA = 4;
/// Sums in flight at once. A multiply-add takes 4 cycles, so fewer sums would wait for each other.
constexpr int64_t kSumsInFlight = 4;
/// Rows of C are often whole pages apart and then share the sets of L1. If more rows, or parts of rows, are written at
/// the same time than L1 has ways, sums are staged, a cache line per row, before they are stored to C.
constexpr int64_t kWays = 8, kStagedColumns = kLineBytes / 4;
/// Parts of k, so that A occupies at most half of L1: without them, it is read from L2 for every few rows of B, and 4
/// and 8 rows of f32 or bf16 times a B of 32 MiB with rows of 8 to 32 KiB take 1.1 to 1.5 times as long (Zen 4).
constexpr int64_t kPartsOfL1 = 2, kRowsOfPart = 64;
/// Vectors of a row that an iteration of GEMV by axpy adds, which bounds the code size.
constexpr int64_t kPassVectors = 16;
/// Registers, of 32 and of 16, that sums of GEMV by axpy may occupy; the others hold rows of B and elements of A.
constexpr int64_t kSumsOf32 = 24, kSumsOf16 = 8;
/// Columns of a tile of skinny GEMM, in vectors, and its rows, with 32 and with 16 registers. Sums occupy half of the
/// registers.
constexpr int64_t kTileVectors = 2, kTileRowsOf32 = 8, kTileRowsOf16 = 4;
/// Rows of B in a group, of all streams together: each tile of C is loaded and stored once a group. With 4, 16 and 64
/// rows, 8 rows times 1024 × 4096 f32 run at .54, .79 and .88 of the FMA peak; with 128, the group that is prefetched
/// meanwhile evicts lines of L2.
constexpr int64_t kGroupRows = 64;
/// A group occupies at most 1/n of L2; longer rows are cut into panels.
constexpr int64_t kGroupsInL2 = 8;
/// Rows up to this size are read in several streams.
constexpr int64_t kStreamedRowBytes = 512;

bool hasManyRegisters(const Processor& p) { return p.vectorRegisters >= 32; }

}  // namespace

int64_t paddedRows(const GemmShape& s) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(s.m))); }

int64_t GemvDotPlan::chains(int64_t ofA, int64_t ofB) { return std::max<int64_t>(1, kSumsInFlight / (ofA * ofB)); }

GemvDotPlan planGemvDot(const SkinnyFacts& f, const Processor& p) {
  const GemmShape& s = f.shape;
  GemvDotPlan plan{.lanes = p.lanes(4)};
  while (!f.bf16Pairs && plan.lanes > 1 && plan.lanes / 2 >= s.k) plan.lanes /= 2;
  plan.width = f.bf16Pairs ? 2 * plan.lanes : plan.lanes;
  const int64_t vectorsOfK = ceilDiv(s.k, plan.width);
  plan.holdsA = s.m <= plan.lanes && s.m * vectorsOfK <= p.vectorRegisters / 2;
  plan.rowsOfA = std::min<int64_t>({s.m, plan.lanes, kMaxRowsOfA});
  plan.rowsOfB = std::clamp<int64_t>(plan.lanes / plan.rowsOfA, 1, kMaxConcurrentRows);
  // Hardware prefetchers do not follow interleaved lines of several rows, which hurts loops bound by reading.
  plan.consecutiveRowsOfB = s.m < kSlowRows ? 1 : std::max<int64_t>(1, plan.rowsOfB / f.parts);
  if (s.m * f.parts > kWays && f.rowsOfPart() >= 2 * kStagedColumns) plan.stagedColumns = kStagedColumns;
  const int64_t fits = p.l1Bytes / kPartsOfL1 / (s.m * storage_bytes(s.a));
  if (s.m >= kSlowRows && s.k > fits && plan.stagedColumns == 0) {
    plan.partOfK = roundUp(ceilDiv(s.k, ceilDiv(s.k, fits)), kSumsInFlight * plan.width);
    plan.rowsOfPart = kRowsOfPart;
  }
  return plan;
}

DotTilesPlan planDotTiles(const SkinnyFacts& f, const Processor& p) {
  const GemmShape& s = f.shape;
  const int64_t tilesOfA = s.k / kTileBf16, rowsBytes = kTileRows * s.k * storage_bytes(s.b);
  return {.columns = paddedRows(s),
          .holdsA = tilesOfA <= DotTilesPlan::kTilesOfA,
          .prefetchesL1 = rowsBytes <= p.l1Bytes / 2};
}

GemvAxpyPlan planGemvAxpy(const SkinnyFacts& f, const Processor& p) {
  const GemmShape& s = f.shape;
  const int64_t lanes = p.lanes(4), vectorsOfN = ceilDiv(s.n, lanes);
  GemvAxpyPlan plan;
  plan.sumsInRegisters = s.m * vectorsOfN <= (hasManyRegisters(p) ? kSumsOf32 : kSumsOf16);
  // Elements of A occupy half of the registers.
  plan.rowsOfB = std::clamp<int64_t>(p.vectorRegisters / 2 / s.m, 1, kMaxConcurrentRows);
  // C is loaded and stored once for all of them: 1 row times 4096 × 4096 f32, in panels of 1024 columns, reads 13 GB/s
  // in single rows, 25 in four, and 30 if the next four are prefetched meanwhile (Zen 4, 37 GB/s).
  if (!plan.sumsInRegisters) plan.consecutiveRowsOfB = std::max<int64_t>(1, plan.rowsOfB / f.parts);
  plan.passColumns = kPassVectors * lanes;
  const int64_t fit = p.l1Bytes / 2 / (s.m * static_cast<int64_t>(sizeof(float)));
  plan.cachedColumns = std::max<int64_t>(1, fit / plan.passColumns) * plan.passColumns;
  return plan;
}

SkinnyTilesPlan planSkinnyTiles(const SkinnyFacts& f, const Processor& p) {
  const GemmShape& s = f.shape;
  const int64_t size = storage_bytes(s.b), rowBytes = size * s.n;
  SkinnyTilesPlan plan{.tileRows = hasManyRegisters(p) ? kTileRowsOf32 : kTileRowsOf16,
                       .tileColumns = kTileVectors * p.lanes(4)};
  while (rowBytes <= kStreamedRowBytes && 2 * plan.streams <= p.prefetchStreams && f.parts % (2 * plan.streams) == 0)
    plan.streams *= 2;
  plan.groupRows = kGroupRows / plan.streams;
  plan.prefetchedRows = plan.groupRows;
  const int64_t panel = p.l2Bytes / kGroupsInL2 / (kGroupRows * size) / plan.tileColumns * plan.tileColumns;
  plan.panelColumns = std::min(s.n, std::max(plan.tileColumns, panel));
  return plan;
}

}  // namespace smalti::cpu
