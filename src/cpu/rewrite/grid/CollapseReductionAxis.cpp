#include "cpu/rewrite/grid/CollapseReductionAxis.h"

#include "cpu/analysis/AxisDims.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOpsMxu.h"
#include "ir/Types.h"
#include "ir/facts/Branches.h"
#include "ir/facts/Constants.h"
#include "ir/facts/DotDimensions.h"
#include "ir/facts/OpFamilies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace smalti::cpu {
namespace {

bool isAddition(mlir::Operation& op) { return llvm::isa<mlir::arith::AddFOp, mlir::arith::AddIOp>(op); }

/// The only user of the value, in the same block.
mlir::Operation* onlyUser(mlir::Value v) { return v.hasOneUse() ? *v.user_begin() : nullptr; }

class Steps {
 public:
  Steps(const KernelPackage& package, const AxisDims& dims)
      : dims_(dims), kernel_(package.kernelFunction()), rank_(dims.rank()), last_(package.signature.grid.back() - 1) {}

  bool fuse() {
    if (!decidesOnlyAtTop(kernel_.getArgument(static_cast<unsigned>(rank_) - 1))) return false;
    int stage = 0;  // before, between and after the accumulations
    for (mlir::Operation& op : kernel_.getBody().front().without_terminator()) {
      if (auto condition = llvm::dyn_cast<mlir::scf::IfOp>(op)) {
        const auto at = gridIndexCondition(kernel_, rank_, condition.getCondition());
        if (!at || at->axis != rank_ - 1 || (at->index != 0 && at->index != last_) || touchesAxis(condition))
          return false;
        if (!doesNothing(condition.getElseRegion())) return false;
        if (at->index == 0 && (stage > 0 || mayOverwriteLoaded(condition))) return false;
        if (at->index == last_) stage = 2;
        continue;
      }
      const auto access = wholeAccess(op);
      if (access && access->isStore) {
        if (stage == 2 || !accumulates(op, *access)) return false;
        stage = 1;
      } else if (access) {
        loaded_.insert(access->ref);
      } else if (llvm::isa<tpu::MatmulOp>(op)) {
        if (contracts(op) && !isSummand(op)) return false;
      } else if (!access && !isPure(op)) {
        return false;
      }
      // Values whose size grows would have to be materialised.
      if (!access && llvm::any_of(op.getResults(), [&](mlir::Value v) { return dims_.follows(v, rank_ - 1); }) &&
          !llvm::isa<mlir::vector::ShapeCastOp, mlir::arith::ConstantOp>(op))
        return false;
    }
    return stage > 0;
  }

 private:
  /// Whether the step index is used only by conditions without results in the body's own block. collapseReductionAxis
  /// finds no other conditions.
  bool decidesOnlyAtTop(mlir::Value step) {
    return llvm::all_of(step.getUsers(), [&](mlir::Operation* user) {
      if (llvm::isa<mlir::scf::IfOp>(user))
        return user->getBlock() == &kernel_.getBody().front() && user->getNumResults() == 0;
      return user->getNumResults() == 1 && decidesOnlyAtTop(user->getResult(0));
    });
  }

  bool touchesAxis(mlir::scf::IfOp condition) {
    bool touches = false;
    condition.walk([&](mlir::Operation* op) {
      for (mlir::Value v : op->getOperands()) touches |= dims_.follows(v, rank_ - 1);
      for (mlir::Value v : op->getResults()) touches |= dims_.follows(v, rank_ - 1);
    });
    return touches;
  }

  /// Whether the first step may write to a ref that the body has loaded before: the later steps, whose bodies run
  /// before this condition once they are merged, load what it writes.
  bool mayOverwriteLoaded(mlir::scf::IfOp condition) {
    return condition
        .walk([&](mlir::Operation* op) {
          const auto isLoaded = [&](mlir::Value v) { return loaded_.contains(memoryOf(v)); };
          const bool writes = mayChangeMemory(*op) && op->getNumRegions() == 0;
          return writes && llvm::any_of(op->getOperands(), isLoaded) ? mlir::WalkResult::interrupt()
                                                                     : mlir::WalkResult::advance();
        })
        .wasInterrupted();
  }

  bool contracts(mlir::Operation& product) const {
    const auto lists = dotDimensionsOf(product);
    return llvm::any_of(lists.lhsContracting, [&](int64_t d) {
      return dims_.axisOf(product.getOperand(0), static_cast<size_t>(d)) == rank_ - 1;
    });
  }

  /// Reshaped and added to something, at most.
  bool isSummand(mlir::Operation& product) const {
    mlir::Operation* user = onlyUser(product.getResult(0));
    while (llvm::isa_and_present<mlir::vector::ShapeCastOp>(user)) user = onlyUser(user->getResult(0));
    return user && isAddition(*user) && accumulated(*user);
  }

  /// The store of load + product over the axis to the ref that the load is of.
  bool accumulates(mlir::Operation& store, const WholeAccess& access) const {
    mlir::Operation* sum = access.value.getDefiningOp();
    return sum && isAddition(*sum) && accumulated(*sum) == &store;
  }

  /// The store that ends an accumulation, from its addition.
  mlir::Operation* accumulated(mlir::Operation& sum) const {
    mlir::Operation* store = onlyUser(sum.getResult(0));
    const auto stored = store ? wholeAccess(*store) : std::nullopt;
    if (!stored || !stored->isStore || store->getBlock() != sum.getBlock()) return nullptr;
    const DType dtype = elementDType(stored->ref.getType());
    if (dtype != DType::f32 && dtype != DType::i32) return nullptr;
    for (const unsigned side : {0u, 1u}) {
      mlir::Operation* load = sum.getOperand(side).getDefiningOp();
      const auto loaded = load ? wholeAccess(*load) : std::nullopt;
      if (!loaded || loaded->isStore || loaded->ref != stored->ref || !loaded->value.hasOneUse() ||
          load->getBlock() != sum.getBlock() || !onlyAccesses(stored->ref, sum.getBlock()))
        continue;
      mlir::Value other = sum.getOperand(1 - side);
      while (auto reshaped = other.getDefiningOp<mlir::vector::ShapeCastOp>()) other = reshaped.getSource();
      mlir::Operation* product = other.getDefiningOp();
      if (llvm::isa_and_present<tpu::MatmulOp>(product) && contracts(*product) && isZero(product->getOperand(2)))
        return store;
    }
    return nullptr;
  }

  /// Whether the block has no accesses of the ref but the one load and the one store.
  static bool onlyAccesses(mlir::Value ref, mlir::Block* block) {
    return llvm::count_if(ref.getUsers(), [&](mlir::Operation* op) { return op->getBlock() == block; }) == 2;
  }

  const AxisDims& dims_;
  mlir::func::FuncOp kernel_;
  int rank_;
  int64_t last_;
  llvm::DenseSet<mlir::Value> loaded_;  ///< refs, by the ops before
};

/// A loop that may never end is an effect: a run must not succeed because nothing uses its results.
bool mayBeEndless(mlir::Operation& op) {
  return op.walk([](mlir::scf::WhileOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted();
}

}  // namespace

void dropUnused(KernelPackage& package) {
  package.kernelFunction().walk<mlir::WalkOrder::PostOrder, mlir::ReverseIterator>([](mlir::Operation* op) {
    const auto access = wholeAccess(*op);
    const bool pure = op->getNumResults() > 0 && isPure(*op);
    const bool isUnused = (op->use_empty() && (pure || (access && !access->isStore))) || mlir::isOpTriviallyDead(op);
    if (isUnused && !mayBeEndless(*op)) op->erase();
  });
}

bool canCollapse(const KernelPackage& package, const AxisDims& dims) {
  const int axis = dims.rank() - 1;
  return axis >= 0 && dims.free(axis) && Steps(package, dims).fuse();
}

void collapseReductionAxis(KernelPackage& package, int axis) {
  auto kernel = package.kernelFunction();
  const int rank = static_cast<int>(package.signature.grid.size());
  const int64_t last = package.signature.grid[static_cast<size_t>(axis)] - 1;
  for (mlir::Operation& op : llvm::make_early_inc_range(kernel.getBody().front().without_terminator())) {
    auto condition = llvm::dyn_cast<mlir::scf::IfOp>(op);
    const auto at = condition ? gridIndexCondition(kernel, rank, condition.getCondition()) : std::nullopt;
    if (!at || at->axis != axis || condition.getNumResults() != 0) continue;
    mlir::Block* taken = at->index == 0 || at->index == last ? condition.thenBlock() : condition.elseBlock();
    if (taken)
      for (mlir::Operation& inner : llvm::make_early_inc_range(taken->without_terminator()))
        inner.moveBefore(condition);
    condition.erase();
  }
}

namespace {

/// Whether the ref is a buffer of the body that is accessed without views, so that nothing else writes to it.
bool isOwn(const KernelArguments& arguments, mlir::Value ref) {
  const auto role = arguments.roleOf(ref);
  return role && (role->kind == ArgumentRole::output || role->kind == ArgumentRole::scratch) &&
         llvm::none_of(ref.getUsers(), [](mlir::Operation* user) { return isView(*user); });
}

void dropUnusedScratch(KernelPackage& package, mlir::func::FuncOp kernel) {
  while (package.signature.numScratch > 0 && kernel.getArguments().back().use_empty() &&
         mlir::succeeded(kernel.eraseArgument(kernel.getNumArguments() - 1)))
    --package.signature.numScratch;
}

}  // namespace

void forwardStores(KernelPackage& package) {
  if (!package.aliases.empty()) return;
  const KernelArguments arguments(package);
  auto kernel = arguments.function();
  mlir::Block& body = kernel.getBody().front();
  llvm::DenseMap<mlir::Value, mlir::Operation*>
      stores;  // the last whole store of each, if no other op may have changed it
  std::vector<mlir::Operation*> dead;
  for (mlir::Operation& op : body.without_terminator()) {
    const auto access = wholeAccess(op);
    if (access && isOwn(arguments, access->ref)) {
      auto stored = stores.find(access->ref);
      if (!access->isStore) {
        if (stored != stores.end()) {
          op.getResult(0).replaceAllUsesWith(wholeAccess(*stored->second)->value);
          dead.push_back(&op);
        }
        continue;
      }
      if (stored != stores.end()) dead.push_back(stored->second);
      stores[access->ref] = &op;
      continue;
    }
    // Any other op that uses a buffer, or has a region, may read or write it.
    if (op.getNumRegions() != 0) stores.clear();
    for (mlir::Value v : op.getOperands()) stores.erase(v);
  }
  for (mlir::Operation* op : dead) op->erase();
  for (mlir::Operation& op : llvm::make_early_inc_range(body.without_terminator())) {
    if (!isAddition(op)) continue;
    for (const unsigned side : {0u, 1u}) {
      if (!isZero(op.getOperand(side)) || !op.getOperand(1 - side).getDefiningOp<tpu::MatmulOp>()) continue;
      op.getResult(0).replaceAllUsesWith(op.getOperand(1 - side));
      op.erase();
      break;
    }
  }
  const auto isScratch = [&](mlir::Value ref) { return arguments.roleOf(ref)->kind == ArgumentRole::scratch; };
  for (auto& [ref, store] : stores)
    if (isScratch(ref) && ref.hasOneUse()) store->erase();
  dropUnusedScratch(package, kernel);
}

}  // namespace smalti::cpu
