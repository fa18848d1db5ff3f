#include "cpu/plan/NestHeuristics.h"

#include <algorithm>

namespace smalti::cpu {
namespace {

// Fitted with `./do bench cpu` on the processor that docs/performance.md names.

constexpr int64_t kElementBytes = sizeof(float);  // of what is computed with

/// Rows of a block at most.
constexpr int64_t kMostRows = 16;
/// Rows that are a block even where they leave L1 little room.
constexpr int64_t kFewRows = 2;
/// Elements of a block that is read from memory: few, so that memory is read and written all the time.
constexpr int64_t kElementsOfMemory = 1024;
/// Arrays whose rows share L1: what is read now, what is read next, what is kept, what is written.
constexpr int64_t kArrays = 4;

/// Rows from which on it pays to run the last phase beside the next row's.
constexpr int64_t kFewestPipelinedRows = 4;

/// Elements that are prefetched before they are read.
constexpr int64_t kElementsAhead = 4096;
/// Bytes of a first cache in which they have room.
constexpr int64_t kRoomyBytes = 48 << 10;
/// The phase that prefetches.
constexpr int kPrefetchingPhase = 1;

}  // namespace

int64_t NestFacts::mostColumns() const {
  int64_t columns = 1;
  for (const NestRoot& r : roots) columns = std::max(columns, r.columns);
  return columns;
}

int64_t chooseRowBlock(const NestFacts& nest, const Processor& p) {
  if (nest.isFlattened || nest.phases == 1 || nest.innermostRows == 0) return 1;
  int64_t rows = 0;
  if (nest.touchesMemory) {
    rows = kElementsOfMemory / nest.mostColumns();
  } else {
    const int64_t fit = p.l1Bytes / (kArrays * nest.mostColumns() * kElementBytes);
    rows = std::max(fit * 3 / 4, std::min(fit, kFewRows));
  }
  return std::clamp<int64_t>(rows, 1, std::min(kMostRows, nest.innermostRows));
}

std::optional<bool> worthPipelining(const NestFacts& nest, int64_t rowBlock,
                                    const std::function<int64_t(size_t)>& costOf) {
  const int last = nest.phases - 1;
  if (nest.isFlattened || rowBlock > 1 || last == 0 || nest.innermostRows < kFewestPipelinedRows) return std::nullopt;
  int64_t columns = 1, cost = 0;
  for (size_t i = 0; i < nest.roots.size(); ++i) {
    const NestRoot& r = nest.roots[i];
    if (r.phase == last && (!r.isWrite || r.adds || !r.isNonTemporal || r.columns == 1)) return std::nullopt;
    if (r.phase + 1 < last || r.columns == 1) continue;
    if (columns != 1 && r.columns != columns) return std::nullopt;
    columns = r.columns;
    if (r.phase < last) cost = std::max(cost, costOf(i));
  }
  return cost >= kExpensiveInstructions;
}

NestPrefetch planPrefetch(const NestFacts& nest, int64_t rowBlock, bool pipelinesLastPhase, const Processor& p) {
  NestPrefetch prefetch{.rows = rowBlock};
  if (nest.readsOfMemory == 0) return prefetch;
  const int64_t elements = nest.mostColumns() * nest.readsOfMemory, rowBytes = elements * kElementBytes;
  prefetch.rows = std::max(kElementsAhead / elements, rowBlock);
  if (p.l1Bytes >= kRoomyBytes) return prefetch;
  const bool streams = pipelinesLastPhase || std::ranges::any_of(nest.roots, [](const NestRoot& r) {
                         return r.phase == kPrefetchingPhase && r.isNonTemporal;
                       });
  if (const int64_t rows = p.l1Bytes / 8 / rowBytes; streams && rows > 0)
    prefetch.rows = std::max(rows, rowBlock);
  else
    prefetch.level = CacheLevel::second;
  return prefetch;
}

}  // namespace smalti::cpu
