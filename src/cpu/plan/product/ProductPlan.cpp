#include "cpu/plan/product/ProductPlan.h"

#include "base/Arithmetic.h"
#include "cpu/plan/product/TileLayout.h"

#include <fmt/format.h>

namespace smalti::cpu {
namespace {

// Fitted with `./do bench cpu` on the processor that docs/performance.md names.

/// Rows of C from which on packing B is less than a hundredth of the work, so that it is not cached.
constexpr int64_t kMaxRowsToCacheB = 512;
/// The most bytes of packed B that are cached.
constexpr int64_t kMaxPackedCacheBytes = 8 << 20;
/// Bytes of a page. Hardware prefetching stops at its end, so shorter streams gain nothing.
constexpr int64_t kPageBytes = 4 << 10;
/// How far rows of B are prefetched.
constexpr int64_t kBytesAhead = 8 << 10;
/// Processors with an L2 of this size prefetch too short a distance by themselves; others lose by more prefetches.
constexpr int64_t kLargeL2Bytes = 2 << 20;

bool isFloatProduct(const GemmShape& s) { return !s.transposedA && s.c == DType::f32 && s.k > 0; }

bool suitsGemvDot(const GemmShape& s) { return isFloatProduct(s) && s.m <= kSkinnyRows && s.transposedB; }

/// Whether tile registers can read rows of B in place, and multiplying without them would take longer than reading.
bool suitsDotTiles(const ProductFacts& f, const Processor& p) {
  const GemmShape& s = f.shape;
  return hasTiles(p) && isFloatProduct(s) && s.transposedB && s.m >= kSlowRows && s.m <= kTileLanes &&
         s.a == DType::bf16 && s.b == DType::bf16 && s.k % kTileBf16 == 0 && s.n / f.blocksOfB % kTileRows == 0;
}

/// Whether the rows are so few that the sums of a few vectors of columns stay in registers.
bool suitsGemvAxpy(const GemmShape& s, const Processor& p) {
  return isFloatProduct(s) && s.m <= (p.vectorRegisters >= 32 ? 3 : 2) && !s.transposedB;
}

/// Rows of A up to which a B that does not fit L2 and is multiplied once is read in place: reading it again from L1 for
/// a second tile of rows takes less time than packing it. 16 rows times 2048 × 4096: 1.13 times as fast for f32, 1.21
/// for bf16.
constexpr int64_t kRowsOfLargeB = 16;

bool suitsSkinnyTiles(const ProductFacts& f, const Processor& p) {
  const GemmShape& s = f.shape;
  const bool isLarge = s.n * s.k * storage_bytes(s.b) > p.l2Bytes && f.reusedBlocksOfB == 0 && !usesTiles(s, p);
  return isFloatProduct(s) && !s.transposedB && s.m <= (isLarge ? kRowsOfLargeB : kSkinnyRows);
}

Strategy chooseStrategy(const ProductFacts& f, const Processor& p) {
  const GemmShape& s = f.shape;
  const int64_t bytes = s.n * s.k * storage_bytes(s.b), cache = p.l1Bytes;
  // A looked-up B is not in the caches, whatever its size; one that is rounded must be read once.
  const bool once = f.blocksOfB > 1 || f.nextBIsKnown || s.roundsB;
  if (suitsDotTiles(f, p)) return Strategy::dotTiles;
  if (suitsGemvDot(s)) return Strategy::gemvDot;
  if ((once || bytes >= cache) && suitsGemvAxpy(s, p)) return Strategy::gemvAxpy;
  // Packed products multiply each f32 as three bf16 in tile registers: 1.2 to 2.6 times as slow for 4 to 8 rows, in L1
  // and in L2.
  const bool splits = usesTiles(s, p) && s.a == DType::f32;
  if ((once || splits || bytes >= cache * 5 / 2) && suitsSkinnyTiles(f, p)) return Strategy::skinnyTiles;
  return Strategy::packed;
}

/// The number of equal parts of a single block that are read concurrently: at most `streams`, a power of two.
int64_t chooseStreams(const ProductFacts& f, int64_t streams) {
  if (f.blocksOfB != 1) return 1;
  const GemmShape& s = f.shape;
  const int64_t rows = s.transposedB ? s.n : s.k, rowBytes = storage_bytes(s.b) * (s.transposedB ? s.k : s.n);
  while (streams > 1 && (rows % streams != 0 || rows / streams * rowBytes < kPageBytes)) streams /= 2;
  return streams;
}

/// Into L2, further ahead than the hardware prefetcher. `together`: adjacent rows of B that are read at once.
RowPrefetch choosePrefetch(const SkinnyFacts& f, int64_t together, const Processor& p) {
  const GemmShape& s = f.shape;
  const int64_t rows = f.rowsOfPart(), rowBytes = storage_bytes(s.b) * (s.transposedB ? s.k : s.n);
  const int64_t ahead = std::min(rows, std::max(together, ceilDiv(kBytesAhead, rowBytes)));
  const bool passesL1 = rows * rowBytes >= p.l1Bytes && p.l2Bytes >= kLargeL2Bytes;
  // While several rows are multiplied, hardware does not prefetch far enough ahead. Otherwise, if it follows several
  // streams, software prefetches only cost a tenth of the bandwidth.
  if (s.m >= kSlowRows || together > 1) return {ahead, ahead};
  return p.readStreams > 1 ? RowPrefetch() : RowPrefetch{ahead, passesL1 ? ahead : 0};
}

PacksB choosePacking(const ProductFacts& f, const GemmPlan& plan) {
  if (plan.usesTiles()) return PacksB::always;
  const Layout& layout = std::get<Layout>(plan.layout);
  if (!layout.packB) return PacksB::never;
  if (!layout.unpackedBelowBytes && !layout.mayUseUnpackedB) return PacksB::always;
  if (!f.rowBytesOfB) return PacksB::byDistance;
  return packsRowsOfB(layout, *f.rowBytesOfB) ? PacksB::always : PacksB::never;
}

bool cachesPackedB(const ProductFacts& f, GemmShape shape, const Processor& p) {
  if (f.reusedBlocksOfB == 0 || shape.m >= kMaxRowsToCacheB) return false;
  shape.cachesPackedB = true;
  const GemmPlan plan = planGemm(shape, p);
  return choosePacking(f, plan) != PacksB::never && plan.packedCacheBytes * f.reusedBlocksOfB <= kMaxPackedCacheBytes;
}

std::string_view describe(Strategy strategy) {
  switch (strategy) {
    case Strategy::gemvDot:
      return "GEMV by dot products";
    case Strategy::dotTiles:
      return "dot products in tile registers";
    case Strategy::gemvAxpy:
      return "GEMV by axpy";
    default:
      return "skinny GEMM";
  }
}

/// Whether a product of `parts` blocks or streams of B multiplies pairs of bf16: this is faster than multiplying as
/// f32, and every pair of rows of B is in one of them.
bool usesBf16Pairs(const GemmShape& s, int64_t parts, const Processor& p) {
  return multipliesBf16Pairs(s.a, s.b, p) && (s.transposedB ? s.k : s.k / parts) % 2 == 0;
}

ProductPlan planSkinny(ProductPlan plan, Strategy strategy, const ProductFacts& facts, const Processor& p) {
  plan.interleaves = strategy == Strategy::gemvDot || strategy == Strategy::gemvAxpy;
  if (strategy == Strategy::dotTiles) {
    plan.bf16Pairs = true;
    plan.division = planDotTiles({.shape = plan.shape}, p);
    return plan;
  }
  plan.streams = chooseStreams(facts, plan.interleaves ? p.readStreams : p.prefetchStreams);
  SkinnyFacts to{.shape = plan.shape, .parts = std::max(plan.blocksOfB, plan.streams)};
  plan.bf16Pairs = to.bf16Pairs = usesBf16Pairs(to.shape, to.parts, p);
  plan.widensA = (to.shape.a == DType::bf16 || to.shape.a == DType::f16) && !plan.bf16Pairs;
  if (plan.widensA) to.shape.a = DType::f32;
  int64_t together = 1;
  if (strategy == Strategy::gemvDot) {
    const GemvDotPlan dot = planGemvDot(to, p);
    together = dot.consecutiveRowsOfB;
    plan.division = dot;
  }
  if (strategy == Strategy::gemvAxpy) {
    const GemvAxpyPlan axpy = planGemvAxpy(to, p);
    if (axpy.consecutiveRowsOfB > 1) together = axpy.consecutiveRowsOfB * (to.bf16Pairs ? 2 : 1);
    plan.division = axpy;
  }
  if (strategy == Strategy::skinnyTiles) {
    const SkinnyTilesPlan tiles = planSkinnyTiles(to, p);
    if (plan.streams > 1) plan.streams = tiles.streams;
    plan.division = tiles;
  }
  plan.prefetch = choosePrefetch(to, together, p);
  return plan;
}

// How a product is divided, for people.
std::string describe(const GemvDotPlan& p, const GemmShape&) {
  return fmt::format(", {} x {} rows together{}{}", p.rowsOfA, p.rowsOfB, p.holdsA ? ", A in registers" : "",
                     p.stagedColumns ? ", sums collected" : "");
}
std::string describe(const DotTilesPlan& p, const GemmShape&) { return p.holdsA ? ", A in registers" : ""; }
std::string describe(const GemvAxpyPlan& p, const GemmShape&) {
  return p.sumsInRegisters ? ", sums in registers" : ", sums in L1";
}
std::string describe(const SkinnyTilesPlan& p, const GemmShape&) {
  const std::string of = p.streams > 1 ? fmt::format("{} x ", p.streams) : "";
  return fmt::format(", tile {}x{}, groups of {}{} rows of {} columns", p.tileRows, p.tileColumns, of, p.groupRows,
                     p.panelColumns);
}
std::string describe(const PackedPlan& p, const GemmShape& s) {
  const GemmPlan& g = p.gemm;
  std::string text = fmt::format(": tile {}x{}, blocks {}x{}x{}", g.tileRows, g.tileColumns, g.blockRows,
                                 g.blockColumns, g.blockDepth);
  if (g.packsA) text += ", A packed";
  if (p.packsB != PacksB::never) text += s.cachesPackedB ? ", packed B cached" : ", B packed";
  if (g.usesTiles()) text += ", tile registers";
  if (g.usesDot) text += ", dot instruction";
  if (s.addsRow) text += ", adds a row";
  if (p.shared) text += fmt::format(", threads share {} parts of {} rows", p.shared->count, p.shared->rows);
  return text;
}

}  // namespace

std::string_view name(Strategy strategy) {
  constexpr std::string_view kNames[] = {"packed", "gemv_dot", "dot_tiles", "gemv_axpy", "skinny_tiles"};
  return kNames[static_cast<size_t>(strategy)];
}

std::string_view name(PacksB packs) {
  constexpr std::string_view kNames[] = {"never", "always", "by_distance"};
  return kNames[static_cast<size_t>(packs)];
}

ProductPlan planProduct(const ProductFacts& facts, const Processor& processor) {
  ProductPlan plan{.shape = facts.shape, .blocksOfB = facts.blocksOfB};
  const Strategy strategy = chooseStrategy(facts, processor);
  if (strategy != Strategy::packed) return planSkinny(std::move(plan), strategy, facts, processor);
  GemmShape& shape = plan.shape;
  shape.cachesPackedB = cachesPackedB(facts, shape, processor);
  PackedPlan packed{.gemm = planGemm(shape, processor)};
  packed.packsB = choosePacking(facts, packed.gemm);
  if (facts.threads > 1) packed.shared = shareRows(packed.gemm, processor, facts.threads);
  plan.division = std::move(packed);
  return plan;
}

std::string text(const ProductPlan& p) {
  const GemmShape& s = p.shape;
  std::string text = fmt::format("{}x{}x{} {}·{}→{}", s.m, s.n, s.k, name(s.a), name(s.b), name(s.c));
  if (!p.of.empty()) text += " of " + p.of;
  const std::string copies = p.copiesA && p.copiesB ? ", A and B copied"
                             : p.copiesA            ? ", A copied"
                             : p.copiesB            ? ", B copied"
                                                    : "";
  if (p.isSkinny()) {
    text += fmt::format(": {}", describe(p.strategy()));
    if (p.blocksOfB > 1)
      text += fmt::format(", {} {}blocks", p.blocksOfB, p.interleaves ? "interleaved " : "");
    else if (p.streams > 1)
      text += fmt::format(", {} streams", p.streams);
    if (s.roundsB) text += ", B rounded to bf16";
    if (p.bf16Pairs) text += ", bf16 pairs";
  }
  return text + std::visit([&](const auto& division) { return describe(division, s); }, p.division) + copies;
}

}  // namespace smalti::cpu
