#include "schedule/NestPlan.h"

#include <algorithm>

#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "schedule/NestContext.h"
#include "schedule/UnitDims.h"

namespace smalti::schedule {
namespace {

/// Collects the roots of a nest: stores, reductions, and materialised values.
class Roots {
 public:
  explicit Roots(const NestContext& context) : c_(context) { plan_.column = static_cast<int>(c_.nest.rows.size()); }

  NestPlan run() {
    for (const size_t i : c_.nest.ops) add(i);
    return std::move(plan_);
  }

 private:
  ElementMap mapOf(mlir::Value v) const {
    const Shape shape = shapeOf(v.getType());
    return c_.nest.rowValued.contains(v) ? rowMap(shape) : identityMap(shape, plan_.column);
  }
  /// The map of a stored value: one element per row if it reshapes a value with one.
  ElementMap storedMap(mlir::Value v) const {
    if (rowsOf(shapeOf(v.getType())) != c_.nest.rows) return rowMap(shapeOf(v.getType()));
    return identityMap(shapeOf(v.getType()), plan_.column);
  }

  void add(size_t i) {
    const ScheduledOp& p = c_.op(i);
    if (p.isStore()) {
      addStore(i, p);
      return;
    }
    const mlir::Value result = p.op->getResult(0);
    if (isReduction(*p.op))
      addReduction(i, *p.op);
    else if (isMaterialised(result))
      materialise(i, result, mapOf(result));
  }
  bool isMaterialised(mlir::Value v) const { return c_.segment.materialised.contains(v); }

  void addStore(size_t i, const ScheduledOp& p) {
    Root r;
    r.op = i;
    r.value = p.stored;
    r.mask = p.mask;
    r.adds = p.adds;
    r.map = r.targetMap = storedMap(p.stored);
    r.columns = columnsOf(r.map, p.access->shape, plan_.column);
    plan_.roots.push_back(std::move(r));
  }

  void addReduction(size_t i, mlir::Operation& op) {
    const mlir::Value result = op.getResult(0);
    const Shape shape = shapeOf(result.getType());
    Root r;
    r.op = i;
    r.value = op.getOperand(0);
    const Shape in = shapeOf(r.value.getType());
    r.map = identityMap(in, plan_.column);
    r.columns = columnsOf(r.map, in, plan_.column);
    if (isRowReduction(op)) {
      r.kind = Root::Kind::rowReduction;
      plan_.roots.push_back(std::move(r));
      if (isMaterialised(result)) materialise(i, result, rowMap(shape));
      return;
    }
    r.kind = Root::Kind::accumulation;
    r.buffer = addBuffer({elementDType(result.getType()), shape, isMaterialised(result) ? result : mlir::Value()});
    const auto dims = integersAttribute(op, "reduction_dims");
    for (size_t d = 0; d < in.size(); ++d)
      if (!llvm::is_contained(dims, static_cast<int64_t>(d))) r.targetMap.entries.push_back(r.map.entries[d]);
    plan_.roots.push_back(std::move(r));
  }

  void materialise(size_t i, mlir::Value value, ElementMap map) {
    const Shape shape = shapeOf(value.getType());
    Root r;
    r.op = i;
    r.value = value;
    r.columns = columnsOf(map, shape, plan_.column);
    r.buffer = addBuffer({c_.body.storageDType(value), shape, value});
    r.map = r.targetMap = std::move(map);
    plan_.roots.push_back(std::move(r));
  }

  size_t addBuffer(Buffer b) {
    plan_.buffers.push_back(std::move(b));
    return plan_.buffers.size() - 1;
  }

  const NestContext& c_;
  NestPlan plan_;
};

NestFacts factsOf(const NestPlan& plan, const NestContext& c) {
  NestFacts facts{.isFlattened = plan.flattened,
                  .phases = plan.phases(),
                  .innermostRows = c.nest.rows.empty() ? 0 : c.nest.rows.back()};
  for (const ScheduledOp& p : c.segment.ops) {
    if (!p.access) continue;
    facts.accessesDram |= p.access->isInDram || p.access->isNonTemporal;
    facts.dramReads += p.isLoad() && p.access->isInDram;
  }
  for (const Root& r : plan.roots)
    facts.roots.push_back(
        {.phase = r.phase,
         .columns = r.columns,
         .isWrite = r.kind == Root::Kind::write,
         .adds = r.adds,
         .isNonTemporal = !r.buffer && r.kind == Root::Kind::write && c.op(r.op).access->isNonTemporal});
  return facts;
}

constexpr NestStep kSteps[] = {&flattenRows,     &choosePhases, &delayStores,  &scheduleRows,
                               &bufferExpensive, &reuseBuffers, &estimateCosts};

}  // namespace

NestPlan scheduleRows(NestPlan plan, const NestContext& c) {
  CostModel cost(c, plan);
  plan.rows = c.body.scheduleRows(factsOf(plan, c), [&](size_t i) { return cost(plan.roots[i].value); });
  return plan;
}

NestPlan estimateCosts(NestPlan plan, const NestContext& c) {
  CostModel cost(c, plan);
  for (Root& r : plan.roots) r.cost = cost(r.value) + 1;
  return plan;
}

int64_t NestFacts::mostColumns() const {
  int64_t columns = 1;
  for (const RootFacts& r : roots) columns = std::max(columns, r.columns);
  return columns;
}

int NestPlan::phases() const {
  int phases = 1;
  for (const Root& r : roots) phases = std::max(phases, r.phase + 1);
  return phases;
}

NestPlan planNest(const Segment& segment, const Nest& nest, const Surroundings& body) {
  const NestContext context(segment, nest, body);
  NestPlan plan = Roots(context).run();
  if (plan.roots.empty()) return plan;
  for (const NestStep step : kSteps) plan = step(std::move(plan), context);
  return plan;
}

}  // namespace smalti::schedule
