// Plans a kernel's body without emitting it: walks the ops in the order of their emission, and tracks which values are
// in memory, and what is known of that memory (MemoryView.h). The lowerings of emit/ and product/ follow the plan.
#pragma once

#include <memory>

#include <tl/expected.hpp>

#include "cpu/Processor.h"
#include "cpu/Unsupported.h"
#include "cpu/analysis/KnownIntegers.h"
#include "cpu/plan/BodyPlan.h"
#include "cpu/plan/KernelPlan.h"
#include "cpu/plan/MemoryView.h"
#include "mlir/IR/Block.h"
#include "schedule/BodyScheduler.h"

namespace smalti::cpu {

class BodyPlanner : public schedule::Surroundings {
 public:
  BodyPlanner(const Processor& p, bool hasDevices, int threadsOfStep, mlir::Operation* root)
      : processor(p), devices(hasDevices), stepThreads(threadsOfStep), scheduler(root) {}

  const Processor& processor;
  const bool devices;     ///< other devices run the call at the same time
  const int stepThreads;  ///< that may share the work of a step; 1: threads share the grid, or there is only one
  BodyPlan plan;
  std::vector<ProductSummary> products;    ///< in the order of their emission
  std::vector<NestSummary> nests;          ///< in the order of their emission
  std::vector<CopySummary> copies;         ///< in the order of their emission
  std::vector<InterpretedOp> interpreted;  ///< in the order of their emission
  schedule::BodyScheduler scheduler;
  KnownIntegers integers;  ///< scalars that are constants of the emitted code
  std::vector<KnownNumber> gridBounds;
  std::optional<MemoryView> barrier;  ///< the barrier semaphore, if the kernel uses it
  /// Concatenations whose blocks the only user, a product, reads directly.
  llvm::DenseMap<mlir::Value, std::vector<MemoryView>> concatOperands;

  // ---- values
  void setScalar(mlir::Value v) { scalars_.insert(v); }
  bool hasScalar(mlir::Value) const;
  /// Whether the scalar can be computed now although its op may come later.
  bool canHoist(mlir::Value, int depth = 0) const;
  bool hasRef(mlir::Value v) const { return refs_.contains(v); }
  const MemoryView& ref(mlir::Value v) const { return refs_.find(v)->second; }
  void setRef(mlir::Value v, MemoryView view) { refs_[v] = std::move(view); }
  /// Null: not such a ref.
  const PackedMemory* packedRef(mlir::Value) const;
  void setPackedRef(mlir::Value, PackedMemory);
  /// A vector value in memory; if it is still deferred, a nest of its own computes it now.
  MemoryView view(mlir::Value);
  const MemoryView* findView(mlir::Value v) const {
    const auto at = views_.find(v);
    return at == views_.end() ? nullptr : &at->second;
  }
  void setView(mlir::Value v, MemoryView view) { views_[v] = std::move(view); }
  static MemoryView allocate(DType, std::span<const int64_t> shape);
  /// Memory of an allocation of the kernel, or of an argument.
  MemoryView newMemory(MemoryView);
  static MemoryView denseCopy(const MemoryView& v) { return allocate(v.dtype, v.shape); }

  // ---- ops
  /// Plans the ops of the block but its terminator; then every value that is still needed is in memory or a scalar.
  NativeResult planBlock(mlir::Block&);
  NativeResult planOp(mlir::Operation&);
  /// Numbers what is emitted, from 1.
  int nextPosition() { return ++positions_; }
  /// An op that src/eval computes on values in memory.
  NativeResult planInterpreted(mlir::Operation&);

  // ---- deferred vector ops
  void addAccess(schedule::ScheduledOp, MemoryView box);
  const MemoryView& boxOf(mlir::Operation* op) const { return boxes_.find(op)->second; }
  /// The deferred ops are computed before the code of the current op, which needs values in memory.
  void flush() { addBefore(take(schedule::Flush::values)); }
  /// The same if the op may change memory.
  void flushBeforeWrites() { addBefore(take(schedule::Flush::beforeWrites)); }
  /// Before what is flushed next, the memory of the store is located, and the store of `stored` is deferred.
  void locate(mlir::Operation& store, mlir::Value stored, MemoryView box);
  /// The rows on which anything depends, of values of `rows` rows; nullopt: all, or the bounds are not known in time.
  std::optional<RowGroups> neededRows(llvm::ArrayRef<mlir::Value>, int64_t rows) const;

  // ---- schedule::Surroundings
  std::optional<schedule::StoredValue> stored(mlir::Value) const override;
  bool isLiveOut(mlir::Value v, const llvm::DenseSet<mlir::Operation*>& here) const override {
    return scheduler.isLiveOut(v, here);
  }
  DType storageDType(mlir::Value) const override;
  schedule::RowSchedule scheduleRows(const schedule::NestFacts&,
                                     const std::function<int64_t(size_t)>& cost) const override;

 private:
  NativeResult planHere(mlir::Operation&);
  OpPlan& current() { return plan.ops[current_]; }
  std::optional<PlannedNests> take(schedule::Flush);
  void addBefore(std::optional<PlannedNests>);
  PlannedSegment withDetails(schedule::Segment);
  NestDetails detailsOf(const schedule::Segment&, const schedule::Nest&);
  std::optional<RowGroups> neededRowsOf(const schedule::Segment&, const schedule::Nest&) const;
  std::optional<MaskedLoads> maskedLoadsOf(const schedule::Segment&, const schedule::Nest&,
                                           const std::vector<MemoryView>& buffers) const;
  std::vector<ColumnLoop> columnLoops(const schedule::Segment&, const schedule::NestPlan&) const;
  int64_t sharedRowsOf(const schedule::Nest&) const;
  void choosePrefetched(const schedule::Segment&, const schedule::NestPlan&, NestDetails&) const;
  void releaseAfter(mlir::Operation&);

  mlir::Operation* current_ = nullptr;  ///< the op that is being planned
  llvm::DenseSet<mlir::Value> scalars_;
  llvm::DenseMap<mlir::Value, MemoryView> refs_, views_;
  llvm::DenseMap<mlir::Value, std::shared_ptr<const PackedMemory>> packedRefs_;
  llvm::DenseMap<mlir::Operation*, MemoryView> boxes_;  ///< of deferred loads and stores
  int nextMemory_ = 0, positions_ = 0;
};

/// Plans one op that nests cannot compute; found by name, one table per file. The names are those of the emitters'
/// tables (emit/ops/OpTables.h).
using PlanOp = NativeResult (*)(BodyPlanner&, mlir::Operation&);
using PlanOpRow = std::pair<std::string_view, PlanOp>;
std::span<const PlanOpRow> plannedControlOps();
std::span<const PlanOpRow> plannedMemoryOps();
std::span<const PlanOpRow> plannedProductOps();
std::span<const PlanOpRow> plannedSyncOps();
std::span<const PlanOpRow> plannedVectorOps();
/// Null: the op is not in a table.
PlanOp findPlanOp(mlir::Operation&);

/// The memory that a vector store writes, in the shape of its value.
tl::expected<MemoryView, Unsupported> planStoreBox(BodyPlanner&, mlir::Operation& store);

}  // namespace smalti::cpu
