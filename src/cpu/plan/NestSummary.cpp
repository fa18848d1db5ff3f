#include "cpu/plan/NestSummary.h"

#include <algorithm>

#include <fmt/format.h>

#include "cpu/plan/BodyPlan.h"
#include "ir/KernelPackage.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace smalti::cpu {

namespace {

std::string nameOf(mlir::Operation* op) { return op->getName().getStringRef().str(); }

}  // namespace

std::string enclosingControlFlow(mlir::Operation& op) {
  mlir::Operation* parent = op.getParentOp();
  if (!llvm::isa<mlir::scf::IfOp, mlir::scf::ForOp, mlir::scf::WhileOp>(parent)) return "";
  const SourcePlace place = placeOf(parent->getLoc());
  const std::string_view kind = llvm::isa<mlir::scf::IfOp>(parent) ? "if" : "loop";
  return place.line > 0 ? fmt::format("{}, line {}", kind, place.line) : std::string(kind);
}

NestSummary summarise(const schedule::Segment& segment, const schedule::Nest& nest, const NestDetails& details) {
  const schedule::NestPlan& plan = nest.plan;
  NestSummary s{.segment = segment.number,
                .rows = plan.flattened ? Shape{} : nest.rows,
                .phases = plan.phases(),
                .rowBlock = plan.rows.rowBlock,
                .pipelinesLastPhase = plan.rows.pipelinesLastPhase,
                .bufferedValues = static_cast<int64_t>(plan.rowBuffers.size()),
                .skipsRows = details.neededRows.has_value(),
                .sharedRows = details.sharedRows,
                .readsRowsInPlace = details.maskedLoads.has_value()};
  for (const ColumnLoop& loop : details.loops) {
    const NestVectors v{loop.lanes, loop.vectors};
    if (s.vectors.empty() || s.vectors.back() != v) s.vectors.push_back(v);
    s.reciprocals += static_cast<int64_t>(loop.divisors.size());
  }
  for (const schedule::Buffer& b : plan.buffers)
    if (b.value) s.values.push_back({nameOf(b.value.getDefiningOp()), b.dtype, b.shape, b.reuses != nullptr});
  if (!nest.ops.empty()) s.within = enclosingControlFlow(*segment.ops[nest.ops.front()].op);
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
