#include "cpu/plan/product/SharedRows.h"

#include <algorithm>

namespace smalti::cpu {
namespace {

/// Multiply-adds from which sharing pays: some 20 microseconds of one core, of which waking another thread that still
/// spins takes about one. In tile registers, 16 times as many take that long. Chosen, not measured.
constexpr int64_t kWorthSharing = int64_t{1} << 20;
constexpr int64_t kTileFactor = 16;
/// Fewer rows read a panel of B too seldom for its packing to pay, which each part does by itself. Chosen, not
/// measured.
constexpr int64_t kFewestRows = 64;
/// The most bytes of workspace of all parts, each of which packs B for itself.
constexpr int64_t kMostWorkspaceBytes = 64 << 20;

GemmPlan planOfRows(GemmShape shape, int64_t rows, const Processor& processor) {
  shape.m = rows;
  shape.cachesPackedB = false;
  return planGemm(shape, processor);
}

}  // namespace

std::optional<SharedRows> shareRows(const GemmPlan& whole, const Processor& processor, int cores) {
  const GemmShape& s = whole.shape();
  if (s.m * s.n * s.k < kWorthSharing * (whole.usesTiles() ? kTileFactor : 1)) return std::nullopt;
  SharedRows shared;
  const int64_t parts = std::min<int64_t>(cores, s.m / kFewestRows);
  if (parts < 2) return std::nullopt;
  shared.rows = roundUp(ceilDiv(s.m, parts), whole.tileRows);
  shared.count = ceilDiv(s.m, shared.rows);
  if (shared.count < 2) return std::nullopt;
  const auto suits = [&](const GemmPlan& part) {
    return part.blockDepth == whole.blockDepth && part.usesTiles() == whole.usesTiles() &&
           part.usesDot == whole.usesDot && part.packedBytes <= shared.bytesPerPart();
  };
  shared.part = planOfRows(s, shared.rows, processor);
  if (!suits(shared.part) || shared.count * shared.bytesPerPart() > kMostWorkspaceBytes) return std::nullopt;
  if (const int64_t rest = s.m % shared.rows; rest != 0) {
    shared.lastPart = planOfRows(s, rest, processor);
    if (!suits(*shared.lastPart)) return std::nullopt;
  }
  return shared;
}

}  // namespace smalti::cpu
