// Chooses the order in which a fused loop nest processes its rows, from sizes and the processor.
#pragma once

#include <cstdint>
#include <functional>

#include "cpu/Processor.h"
#include "mlir/IR/Operation.h"
#include "schedule/NestFacts.h"

namespace smalti::cpu {

using schedule::NestFacts;
using schedule::RowSchedule;
/// The approximate number of instructions per element of root i.
using RootCost = std::function<int64_t(size_t i)>;

/// Applies all functions below, in this order.
RowSchedule scheduleRows(const NestFacts&, const RootCost&, const Processor&);

/// Blocks rows: a block runs one loop per phase, so that later phases do not wait for a single row's reduction. The
/// block's rows fit L1 from one phase to the next, together with the rows prefetched meanwhile.
RowSchedule blockRows(RowSchedule, const NestFacts&, const RootCost&, const Processor&);

/// Runs the last phase of a row in the same loop as an earlier phase of the next row, if the last phase does nothing
/// but write, with non-temporal stores, values that were expensive to compute. Otherwise memory is idle during one
/// phase and the execution ports are idle during the other.
RowSchedule pipelineLastPhase(RowSchedule, const NestFacts&, const RootCost&, const Processor&);

/// Prefetches rows into L1 if it has room for them and for the current row. A smaller L1 receives only the next row
/// if rows are written with non-temporal stores; otherwise rows are prefetched into L2.
RowSchedule prefetchRows(RowSchedule, const NestFacts&, const RootCost&, const Processor&);

/// Whether the value of a row is kept in memory for later phases of the row: computing it again takes longer than a
/// store and a load.
bool isWorthKeepingPerRow(mlir::Operation&);

/// A loop over columns, of which the number of vectors per iteration depends.
struct ColumnLoopFacts {
  int64_t columns = 1;
  int64_t cost = 0;       ///< approximate number of instructions per column
  bool streams = false;   ///< data from or to DRAM passes through it, or may do so for other rows
  bool onlyAdds = false;  ///< it does nothing but sum up rows
};
/// Number of vectors of columns that an iteration computes; the processor executes their instructions at the same time.
int vectorsPerIteration(const ColumnLoopFacts&, const Processor&);
/// Lanes of a vector for `columns` columns of 4 bytes.
int columnLanes(int64_t columns, const Processor&);

}  // namespace smalti::cpu
