#include "cpu/plan/BodyPlanner.h"

#include <algorithm>
#include <utility>

#include "cpu/ops/ElementwiseOps.h"
#include "cpu/ops/NativeOps.h"
#include "cpu/ops/OpForms.h"
#include "cpu/plan/NestHeuristics.h"
#include "cpu/plan/product/StorageDType.h"
#include "ir/KernelPackage.h"
#include "ir/TpuOpsDebug.h"
#include "ir/TpuOpsElementwise.h"
#include "ir/Types.h"
#include "ir/facts/OpFamilies.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::cpu {

using schedule::Flush;
using schedule::isVector;
using schedule::Nest;
using schedule::ScheduledOp;
using schedule::Segment;

namespace {

bool hasVectors(mlir::TypeRange types) {
  return llvm::any_of(types, [](mlir::Type t) { return llvm::isa<mlir::VectorType>(t); });
}

}  // namespace

// ---- values

bool BodyPlanner::hasScalar(mlir::Value v) const {
  return scalars_.contains(v) || v.getDefiningOp<mlir::arith::ConstantOp>();
}

bool BodyPlanner::canHoist(mlir::Value v, int depth) const {
  if (hasScalar(v)) return true;
  mlir::Operation* op = v.getDefiningOp();
  const bool scalar = op && op->getNumResults() == 1 && isNativeElementwise(*op) && !hasVectors(op->getOperandTypes());
  return scalar && depth <= kMaxHoistDepth &&
         llvm::all_of(op->getOperands(), [&](mlir::Value operand) { return canHoist(operand, depth + 1); });
}

const PackedMemory* BodyPlanner::packedRef(mlir::Value v) const {
  const auto at = packedRefs_.find(v);
  return at == packedRefs_.end() ? nullptr : at->second.get();
}

void BodyPlanner::setPackedRef(mlir::Value v, PackedMemory memory) {
  packedRefs_[v] = std::make_shared<const PackedMemory>(std::move(memory));
}

MemoryView BodyPlanner::allocate(DType dtype, std::span<const int64_t> shape) {
  MemoryView v = denseMemory(dtype, shape);
  v.owner = std::make_shared<const char>();
  return v;
}

MemoryView BodyPlanner::newMemory(MemoryView v) {
  v.memory = nextMemory_++;
  return v;
}

MemoryView BodyPlanner::view(mlir::Value v) {
  if (const MemoryView* known = findView(v)) return *known;
  mlir::Operation* op = v.getDefiningOp();
  const Shape shape = shapeOf(v.getType());
  const DType dtype = elementDType(v.getType());
  if (llvm::isa_and_present<mlir::arith::ConstantOp>(op)) {
    if (schedule::isSplatConstant(v)) return allocate(dtype, shape);
    setView(v, denseMemory(dtype, shape));
    return *findView(v);
  }
  const ScheduledOp* waits = op ? scheduler.findPending(op) : nullptr;
  if (waits && waits->isLoad()) return boxOf(op);
  if (waits && llvm::isa<mlir::vector::ShapeCastOp>(op) && isVector(op->getOperand(0)))
    if (auto reshaped = reshape(view(op->getOperand(0)), shape)) return *reshaped;
  if (waits) {
    addBefore(PlannedNests{withDetails(schedule::planSingleValue(scheduler.pending(), op, *this))});
    if (const MemoryView* known = findView(v)) return *known;
  }
  return allocate(dtype, shape);
}

// ---- ops

NativeResult BodyPlanner::planBlock(mlir::Block& block) {
  for (mlir::Operation& op : block.without_terminator()) {
    const bool isDead = scheduler.liveness().dead(&op);
    if (llvm::isa<mlir::arith::ConstantOp>(op) || scheduler.isSkipped(&op) || (isDead && !isLoad(op))) {
      scheduler.markDone(&op);
      continue;
    }
    if (isDead) plan.dead.insert(&op);
    if (auto ok = planOp(op); !ok) return ok;
    if (!scheduler.findPending(&op)) scheduler.markDone(&op);
    // Planning walks the ops of a nest repeatedly and recursively: the number of deferred ops is limited.
    constexpr size_t kMaxPending = 1000;
    const auto pending = [&] { return scheduler.pending().size(); };
    current_ = &op;
    const auto flushAfter = [&](Flush kind) {
      if (auto nests = take(kind)) current().after.push_back(std::move(*nests));
    };
    if (pending() >= kMaxPending) flushAfter(Flush::values);
    if (pending() >= kMaxPending / 2 && pending() % 64 == 0) flushAfter(Flush::beforeWrites);
    releaseAfter(op);
  }
  current_ = block.getTerminator();
  flushBeforeWrites();
  return {};
}

void BodyPlanner::releaseAfter(mlir::Operation& op) {
  if (!scheduler.isIdle()) return;
  const int position = scheduler.liveness().end(&op);
  std::vector<mlir::Value> over;
  for (const auto& [value, view] : views_)
    if (view.owner && scheduler.lastNeed(value) <= position) over.push_back(value);
  for (const mlir::Value v : over) views_.erase(v);
  if (!over.empty()) plan.ops[&op].released = std::move(over);
}

NativeResult BodyPlanner::planOp(mlir::Operation& op) {
  mlir::Operation* outer = std::exchange(current_, &op);
  NativeResult done = planHere(op);
  current_ = outer;
  for (const mlir::Value v : op.getResults())
    if (!llvm::isa<mlir::VectorType, mlir::MemRefType>(v.getType())) setScalar(v);
  if (!done && done.error().op.empty()) {
    done.error().op = op.getName().getStringRef().str();
    done.error().place = placeOf(op.getLoc());
  }
  return done;
}

NativeResult BodyPlanner::planHere(mlir::Operation& op) {
  if (auto why = unsupportedForm(op)) return unsupported(std::move(*why));
  OpPlan& made = plan.ops[&op];
  if (isNestable(op)) {
    made.code = OpCode::deferred;
    scheduler.add({.op = &op});
    return {};
  }
  if (PlanOp planner = findPlanOp(op)) return planner(*this, op);
  if (op.getNumResults() == 1 && isNativeElementwise(op) && !hasVectors(op.getResultTypes()) &&
      !hasVectors(op.getOperandTypes())) {
    made.code = OpCode::scalar;
    integers.follow(op);
    return {};
  }
  return planInterpreted(op);
}

NativeResult BodyPlanner::planInterpreted(mlir::Operation& op) {
  const std::string name = op.getName().getStringRef().str();
  const bool hasEffect = llvm::isa<tpu::LogOp, tpu::LogBufferOp, tpu::PrngSetSeed32Op, tpu::PrngRandomBitsOp>(op);
  const auto isRef = [](mlir::Type t) { return llvm::isa<mlir::MemRefType>(t); };
  if (!(isPure(op) || hasEffect) || llvm::any_of(op.getResultTypes(), isRef) || op.getNumRegions() != 0)
    return unsupported("it uses " + name);
  plan.ops[&op].code = OpCode::interpreted;
  flush();
  for (const mlir::Value v : op.getOperands())
    if (isVector(v)) view(v);
  for (const mlir::Value v : op.getResults())
    if (isVector(v)) setView(v, allocate(elementDType(v.getType()), shapeOf(v.getType())));
  interpreted.push_back({nextPosition(), enclosingControlFlow(op), name});
  return {};
}

// ---- deferred vector ops

void BodyPlanner::addAccess(ScheduledOp op, MemoryView box) {
  op.access = schedule::Access{.memory = box.memory,
                               .dtype = box.dtype,
                               .shape = box.shape,
                               .isDense = isDense(box),
                               .isInDram = box.isInDram,
                               .isNonTemporal = box.isNonTemporal};
  boxes_[op.op] = std::move(box);
  scheduler.add(std::move(op));
}

void BodyPlanner::locate(mlir::Operation& store, mlir::Value stored, MemoryView box) {
  current().before.emplace_back(LocatedStore{&store, stored});
  addAccess({.op = &store, .stored = stored}, std::move(box));
}

std::optional<PlannedNests> BodyPlanner::take(Flush flush) {
  if (scheduler.pending().empty()) return std::nullopt;
  PlannedNests made{withDetails(scheduler.take(flush, *this))};
  const Segment& segment = made.segment.segment;
  scheduler.finish(segment, flush);
  for (const ScheduledOp& p : segment.ops) {
    if (!p.access || scheduler.findPending(p.op)) continue;
    boxes_.erase(p.op);
    made.finished.push_back(p.op);
  }
  return made;
}

void BodyPlanner::addBefore(std::optional<PlannedNests> nests) {
  if (nests) current().before.emplace_back(std::move(*nests));
}

PlannedSegment BodyPlanner::withDetails(Segment segment) {
  PlannedSegment made{std::move(segment), {}};
  for (const Nest& nest : made.segment.nests) {
    made.details.push_back(detailsOf(made.segment, nest));
    if (nest.plan.roots.empty()) continue;
    nests.push_back(summarise(made.segment, nest, made.details.back()));
    nests.back().position = nextPosition();
  }
  return made;
}

// ---- schedule::Surroundings

std::optional<schedule::StoredValue> BodyPlanner::stored(mlir::Value v) const {
  const MemoryView* view = findView(v);
  if (!view) return std::nullopt;
  return schedule::StoredValue{.dtype = view->dtype,
                               .shape = view->shape,
                               .isDense = isDense(*view),
                               .isReusable = view->memory == MemoryView::kValue && view->owner.use_count() == 1};
}

DType BodyPlanner::storageDType(mlir::Value v) const { return cpu::storageDType(processor, v); }

schedule::RowSchedule BodyPlanner::scheduleRows(const schedule::NestFacts& facts,
                                                const std::function<int64_t(size_t)>& cost) const {
  return cpu::scheduleRows(facts, cost, processor);
}

PlanOp findPlanOp(mlir::Operation& op) {
  static const llvm::StringMap<PlanOp>& table = *[] {
    auto* all = new llvm::StringMap<PlanOp>;
    for (const auto rows :
         {plannedControlOps(), plannedMemoryOps(), plannedProductOps(), plannedSyncOps(), plannedVectorOps()})
      for (const auto& [name, planner] : rows) (*all)[llvm::StringRef(name.data(), name.size())] = planner;
    return all;
  }();
  const auto found = table.find(op.getName().getStringRef());
  return found == table.end() ? nullptr : found->second;
}

}  // namespace smalti::cpu
