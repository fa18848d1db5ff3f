// What the schedule of a nest's rows depends on, and what it says: numbers alone.
#pragma once

#include <cstdint>
#include <vector>

namespace smalti::schedule {

/// Something that a nest makes, as far as its schedule depends on it.
struct RootFacts {
  int phase = 0;
  int64_t columns = 1;         ///< 1: once per row
  bool isWrite = true;         ///< else a reduction
  bool adds = false;           ///< to what is there
  bool isNonTemporal = false;  ///< its stores bypass the caches
};

struct NestFacts {
  bool isFlattened = false;    ///< one dense row
  int phases = 1;              ///< of a row: a row's reduction ends one
  int64_t innermostRows = 0;   ///< of the innermost row loop; 0: there is none
  bool touchesMemory = false;  ///< reads arrays larger than the caches, or has non-temporal stores
  int64_t readsOfMemory = 0;   ///< loads from such arrays
  std::vector<RootFacts> roots{};
  int64_t mostColumns() const;
};

/// How a nest takes its rows. The default is right for every target: row by row, phase by phase.
struct RowSchedule {
  int64_t rowBlock = 1;             ///< rows that take each phase together, in a loop per phase
  bool pipelinesLastPhase = false;  ///< a row's last phase runs in the loop of the next row's phase before it
  int64_t prefetchRows = 1;         ///< memory-resident rows are prefetched this many rows early
  int prefetchLevel = 1;            ///< of the caches
  bool operator==(const RowSchedule&) const = default;
  /// Rows of which later phases still need values.
  int64_t bufferedRows() const { return pipelinesLastPhase ? 2 : rowBlock; }
};

}  // namespace smalti::schedule
