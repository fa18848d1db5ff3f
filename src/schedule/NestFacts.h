// The facts that the schedule of a nest's rows depends on, and the schedule itself: numbers only.
#pragma once

#include <cstdint>
#include <vector>

namespace smalti::schedule {

/// The facts about one root of a nest (NestPlan.h).
struct RootFacts {
  int phase = 0;
  int64_t columns = 1;         ///< 1: one element per row
  bool isWrite = true;         ///< false: a reduction
  bool adds = false;           ///< adds to the memory's contents
  bool isNonTemporal = false;  ///< its stores bypass the caches
};

struct NestFacts {
  bool isFlattened = false;   ///< the nest runs over one dense row
  int phases = 1;             ///< number of phases of a row; each reduction of a row ends one
  int64_t innermostRows = 0;  ///< iterations of the innermost row loop; 0: there is none
  bool accessesDram = false;  ///< reads arrays larger than the caches, or has non-temporal stores
  int64_t dramReads = 0;      ///< loads from such arrays
  std::vector<RootFacts> roots{};
  int64_t mostColumns() const;
};

/// The order in which a nest processes its rows. The default is valid for every target: row by row, phase by phase.
struct RowSchedule {
  /// The phase that issues the prefetches: the first one itself waits for memory.
  static constexpr int kPrefetchingPhase = 1;
  int64_t rowBlock = 1;             ///< number of rows that run each phase together, in one loop per phase
  bool pipelinesLastPhase = false;  ///< a row's last phase shares a loop with the phase before it of the next row
  int64_t prefetchRows = 1;         ///< how many rows ahead memory-resident rows are prefetched
  int prefetchLevel = 1;            ///< the cache that is prefetched into
  bool operator==(const RowSchedule&) const = default;
  /// Number of rows whose values later phases still need.
  int64_t bufferedRows() const { return pipelinesLastPhase ? 2 : rowBlock; }
};

}  // namespace smalti::schedule
