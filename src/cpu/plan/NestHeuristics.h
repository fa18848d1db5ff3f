// How a fused loop nest takes its rows: decided from sizes and the processor.
#pragma once

#include <cstdint>
#include <functional>

#include "cpu/Processor.h"
#include "schedule/NestFacts.h"

namespace smalti::cpu {

using schedule::NestFacts;
using schedule::RowSchedule;
/// Instructions, roughly, of an element of root i.
using RootCost = std::function<int64_t(size_t i)>;

/// All of the functions below, in their order.
RowSchedule scheduleRows(const NestFacts&, const RootCost&, const Processor&);

/// Rows that take each phase together, a loop per phase, so that what a row's reduction gives is not waited for: as
/// many as stay in L1 from one phase to the next, together with those that are prefetched meanwhile.
RowSchedule blockRows(RowSchedule, const NestFacts&, const RootCost&, const Processor&);

/// Runs the last phase of a row in the loop of the next row's phase before it, where the last phase does nothing but
/// write with non-temporal stores what the other has computed at some length: memory would be idle during the one,
/// and the execution ports during the other.
RowSchedule pipelineLastPhase(RowSchedule, const NestFacts&, const RootCost&, const Processor&);

/// Prefetches rows into L1 where that has room for them and for the row at hand. A smaller L1 gets just the next row
/// while rows are written with non-temporal stores; otherwise rows are prefetched into L2.
RowSchedule prefetchRows(RowSchedule, const NestFacts&, const RootCost&, const Processor&);

}  // namespace smalti::cpu
