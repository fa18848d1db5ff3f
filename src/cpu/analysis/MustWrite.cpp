#include "cpu/analysis/MustWrite.h"

#include <optional>

#include "cpu/analysis/BoxAccess.h"
#include "cpu/analysis/ReadBeforeWrite.h"
#include "ir/BlockGeometry.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOpsMemory.h"
#include "ir/Types.h"
#include "ir/facts/Constants.h"
#include "ir/facts/IndexMaps.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace smalti::cpu {
namespace {

class MustWriteAnalysis {
 public:
  explicit MustWriteAnalysis(const KernelPackage& package)
      : signature_(package.signature), arguments_(package), kernel_(arguments_.function()) {}

  bool holds(size_t output) {
    const size_t number = arguments_.numInputs() + output;
    const auto& window = arguments_.windowOf(number);
    for (int64_t bound : signature_.grid)
      if (bound < 1) return false;  // dynamic ones too
    usesDim_.assign(signature_.grid.size(), !window);
    if (window && !covers(*window, arguments_.arrayOf(number).shape)) return false;
    const mlir::BlockArgument ref = arguments_.block(number);
    const bool stored = llvm::any_of(
        ref.getUsers(), [&](mlir::Operation* user) { return storesWhole(*user, ref) && reachedForEveryBlock(*user); });
    return writtenFirst(ref.getArgNumber(), window.has_value(), stored);
  }

 private:
  /// Whether every step, or the first one of each block, writes the whole block (if `stored`: some step does) before it
  /// reads any of it.
  bool writtenFirst(unsigned argument, bool windowed, bool stored) {
    const auto rank = signature_.grid.size();
    std::vector<bool> zero(rank);
    for (size_t d = 0; d < rank; ++d) zero[d] = signature_.grid[d] == 1;
    if (!always_) always_ = accessesOfOneRun(kernel_, zero);
    const BufferAccesses& always = always_->arguments[argument];
    if (!always.readFirst && (stored || always.covered)) return true;
    // A block's first step: the axes that it does not depend on are at 0.
    for (size_t d = 0; d < rank; ++d) zero[d] = zero[d] || !windowed || !usesDim_[d];
    const BufferAccesses first = accessesOfOneRun(kernel_, zero).arguments[argument];
    return !first.readFirst && first.covered;
  }

  /// Whether all blocks are visited: each coordinate of the index map is a distinct grid index that ranges over all
  /// blocks, or the constant 0 along a dimension with a single block.
  bool covers(const Window& window, const Shape& array) {
    if (window.elementIndexed || llvm::is_contained(window.bounds, 0)) return false;
    const BlockGeometry geometry(window, array);
    const IndexMapFacts map(arguments_.indexMap(window), arguments_.gridRank());
    for (size_t d = 0; d < map.coordinates().size(); ++d) {
      const auto& form = map.coordinates()[d].form;
      if (!form) return false;
      const int64_t blocks = geometry.numBlocks(d);
      if (form->isConstant() && form->constant / form->divisor == 0 && blocks <= 1) continue;
      const auto axis = form->gridIndex();
      if (!axis || usesDim_[*axis] || signature_.grid[*axis] < blocks) return false;
      usesDim_[*axis] = true;
    }
    return true;
  }

  static bool storesWhole(mlir::Operation& op, mlir::Value ref) {
    auto store = llvm::dyn_cast<tpu::VectorStoreOp>(op);
    return store && store.getBase() == ref && !store.getMask() && !store.getAdd() &&
           llvm::all_of(store.getStrides(), [](int32_t step) { return step == 1; }) &&
           shapeOf(store.getValueToStore().getType()) == shapeOf(ref.getType()) &&
           llvm::all_of(store.getIndices(), [](mlir::Value v) { return constantIndex(v) == 0; });
  }

  /// Whether the op is at the top level, or under conditions "program_id(d) == constant" that some step satisfies, on
  /// axes that no block depends on.
  bool reachedForEveryBlock(mlir::Operation& op) const {
    std::vector<std::optional<int64_t>> step(signature_.grid.size());
    for (mlir::Operation* at = &op; at->getParentOp() != kernel_; at = at->getParentOp()) {
      auto parent = llvm::dyn_cast_if_present<mlir::scf::IfOp>(at->getParentOp());
      if (!parent || at->getParentRegion() != &parent.getThenRegion()) return false;
      if (!holdsAt(parent.getCondition(), step)) return false;
    }
    return true;
  }
  bool holdsAt(mlir::Value condition, std::vector<std::optional<int64_t>>& step) const {
    auto compare = condition.getDefiningOp<mlir::arith::CmpIOp>();
    if (!compare) return false;
    const auto at = constantIndex(compare.getRhs());
    // JAX emits a condition as "zero-extended, then != 0".
    if (auto extended = compare.getLhs().getDefiningOp<mlir::arith::ExtUIOp>();
        compare.getPredicate() == mlir::arith::CmpIPredicate::ne && extended && at == 0)
      return holdsAt(extended.getIn(), step);
    if (compare.getPredicate() != mlir::arith::CmpIPredicate::eq) return false;
    auto index = llvm::dyn_cast<mlir::BlockArgument>(compare.getLhs());
    if (!index || !at || index.getOwner() != &kernel_.getBody().front()) return false;
    const unsigned d = index.getArgNumber();
    if (d >= signature_.grid.size() || usesDim_[d] || *at < 0 || *at >= signature_.grid[d]) return false;
    if (!step[d]) step[d] = at;
    return step[d] == at;
  }

  const KernelSignature& signature_;
  const KernelArguments arguments_;
  mutable mlir::func::FuncOp kernel_;
  std::optional<BodyAccesses> always_;
  std::vector<bool> usesDim_;  ///< whether the block depends on the axis
};

}  // namespace

std::vector<bool> mustWrite(const KernelPackage& package) {
  MustWriteAnalysis proof(package);
  std::vector<bool> written;
  for (size_t i = 0; i < package.results.size(); ++i) written.push_back(proof.holds(i));
  return written;
}

}  // namespace smalti::cpu
