#include "cpu/plan/NestSummary.h"

#include <algorithm>

#include "cpu/plan/BodyPlan.h"

namespace smalti::cpu {

namespace {

std::string nameOf(mlir::Operation* op) { return op->getName().getStringRef().str(); }

}  // namespace

NestSummary summarise(const schedule::Segment& segment, const schedule::Nest& nest, const NestDetails& details) {
  const schedule::NestPlan& plan = nest.plan;
  NestSummary s{.segment = segment.number,
                .rows = plan.flattened ? Shape{} : nest.rows,
                .phases = plan.phases(),
                .rowBlock = plan.rows.rowBlock,
                .pipelinesLastPhase = plan.rows.pipelinesLastPhase,
                .bufferedValues = static_cast<int64_t>(plan.rowBuffers.size()),
                .skipsRows = details.neededRows.has_value(),
                .readsRowsInPlace = details.maskedLoads.has_value()};
  for (const ColumnLoop& loop : details.loops) {
    const NestVectors v{loop.lanes, loop.vectors};
    if (s.vectors.empty() || s.vectors.back() != v) s.vectors.push_back(v);
    s.reciprocals += static_cast<int64_t>(loop.divisors.size());
  }
  for (const schedule::Buffer& b : plan.buffers)
    if (b.value) s.values.push_back({nameOf(b.value.getDefiningOp()), b.dtype, b.shape, b.reuses != nullptr});
  for (const size_t i : nest.ops) s.ops.push_back(nameOf(segment.ops[i].op));
  for (const schedule::Root& r : plan.roots) {
    s.columns = std::max(s.columns, r.columns);
    ++(r.kind == schedule::Root::Kind::write ? s.stores : s.reductions);
  }
  if (details.prefetches()) {
    s.prefetchRows = plan.rows.prefetchRows;
    s.prefetchLevel = plan.rows.prefetchLevel;
  }
  return s;
}

}  // namespace smalti::cpu
