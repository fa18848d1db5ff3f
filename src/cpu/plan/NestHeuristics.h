// How a fused loop nest takes its rows: decided from sizes and the processor.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cpu/Processor.h"

namespace smalti::cpu {

/// Something that a nest makes, as far as its schedule depends on it.
struct NestRoot {
  int phase = 0;
  int64_t columns = 1;         ///< 1: once per row
  bool isWrite = true;         ///< else a reduction
  bool adds = false;           ///< to what is there
  bool isNonTemporal = false;  ///< it is stored past the caches
};

struct NestFacts {
  bool isFlattened = false;    ///< one dense row
  int phases = 1;              ///< of a row: a row's reduction ends one
  int64_t innermostRows = 0;   ///< of the innermost row loop; 0: there is none
  bool touchesMemory = false;  ///< reads arrays larger than the caches, or stores past them
  int64_t readsOfMemory = 0;   ///< loads from such arrays
  std::vector<NestRoot> roots{};
  int64_t mostColumns() const;
};

/// An element that takes so many instructions, roughly, is expensive: worth a place in memory, or a schedule.
constexpr int64_t kExpensiveInstructions = 12;

/// Rows that take each phase together, a loop per phase, so that what a row's reduction gives is not waited for: as
/// many as stay in L1 from one phase to the next, beside those that are prefetched meanwhile.
int64_t chooseRowBlock(const NestFacts&, const Processor&);

/// Whether the last phase of a row runs in the loop of the phase before it of the next row: where it does nothing but
/// store past the caches what that has computed at some length, memory would have nothing to do in the one and the
/// ports in the other. `cost`: instructions, roughly, of an element of root i; asked for in order, while it is possible
/// at all. nullopt: it is not.
std::optional<bool> worthPipelining(const NestFacts&, int64_t rowBlock, const std::function<int64_t(size_t i)>& cost);

struct NestPrefetch {
  int64_t rows = 1;  ///< what is in memory is prefetched so many rows before it is read
  CacheLevel level = CacheLevel::first;
  bool operator==(const NestPrefetch&) const = default;
};
/// Prefetched rows wait in L1 where that has room for them beside the row in work. A smaller one takes
/// just the next row, while rows are stored past the caches at the same time; otherwise they wait in the second.
NestPrefetch planPrefetch(const NestFacts&, int64_t rowBlock, bool pipelinesLastPhase, const Processor&);

}  // namespace smalti::cpu
