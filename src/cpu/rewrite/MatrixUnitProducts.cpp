#include "cpu/rewrite/MatrixUnitProducts.h"

#include <deque>
#include <map>

#include "ir/TpuOpsMxu.h"
#include "ir/Types.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace smalti::cpu {
namespace {

bool usesUnit(mlir::Operation& op) {
  return llvm::isa<tpu::MatmulPushRhsOp, tpu::MatmulAccLhsOp, tpu::MatmulPopOp, tpu::MatmulLhsFifoOp,
                   tpu::MatmulPopFifoOp>(op);
}

mlir::Value zerosOf(mlir::OpBuilder& b, mlir::Location at, mlir::VectorType type) {
  return mlir::arith::ConstantOp::create(b, at, llvm::cast<mlir::TypedAttr>(b.getZeroAttr(type)));
}

/// The state of a matrix unit while a block runs.
struct MatrixUnit {
  struct Weights {
    mlir::Value value;
    bool transposed = false;
  };
  std::map<int64_t, Weights> staged;  ///< by staging register
  std::optional<Weights> weights;
  std::map<int64_t, mlir::Value> accumulators;
  std::deque<mlir::Value> queue;
};

/// The ops of one block. Units are empty when it begins, and must be when it ends.
class UnitBlock {
 public:
  /// False: the ops cannot be replaced.
  bool run(mlir::Block& block) {
    for (mlir::Operation& op : llvm::make_early_inc_range(block)) {
      bool inside = false;
      for (mlir::Region& region : op.getRegions())
        region.walk([&](mlir::Operation* inner) { inside |= usesUnit(*inner); });
      if (inside) {
        if (!areEmpty()) return false;
        units_.clear();  // the region may load other weights
      }
      if (usesUnit(op) && !step(op)) return false;
    }
    return areEmpty();
  }

 private:
  bool areEmpty() const {
    for (const auto& [number, unit] : units_)
      if (!unit.queue.empty() || !unit.accumulators.empty()) return false;
    return true;
  }

  bool step(mlir::Operation& op) {
    if (auto push = llvm::dyn_cast<tpu::MatmulPushRhsOp>(op)) {
      units_[push.getMxuIndex()].staged[push.getStagingRegister()] = {push.getRhs(), push.getTranspose()};
    } else if (auto feed = llvm::dyn_cast<tpu::MatmulLhsFifoOp>(op)) {
      MatrixUnit& unit = units_[feed.getMxuIndex()];
      mlir::Value made = product(op, unit, feed.getLhs(), feed.getLoadStagedRhs(), nullptr);
      if (!made) return false;
      unit.queue.push_back(made);
    } else if (auto add = llvm::dyn_cast<tpu::MatmulAccLhsOp>(op)) {
      MatrixUnit& unit = units_[add.getMxuIndex()];
      mlir::Value& sum = unit.accumulators[add.getAcc()];
      sum = product(op, unit, add.getLhs(), add.getLoadStagedRhs(), sum);
      if (!sum) return false;
    } else if (auto pop = llvm::dyn_cast<tpu::MatmulPopFifoOp>(op)) {
      MatrixUnit& unit = units_[pop.getMxuIndex()];
      if (unit.queue.empty() || unit.queue.front().getType() != pop.getType()) return false;
      pop.getResult().replaceAllUsesWith(unit.queue.front());
      unit.queue.pop_front();
    } else if (auto take = llvm::dyn_cast<tpu::MatmulPopOp>(op)) {
      MatrixUnit& unit = units_[take.getMxuIndex()];
      const auto found = unit.accumulators.find(take.getAcc());
      mlir::OpBuilder b(&op);
      // An accumulator that nothing was added to holds zeros.
      mlir::Value sum = found == unit.accumulators.end()
                            ? zerosOf(b, op.getLoc(), llvm::cast<mlir::VectorType>(take.getType()))
                            : found->second;
      if (sum.getType() != take.getType()) return false;
      take.getResult().replaceAllUsesWith(sum);
      if (found != unit.accumulators.end()) unit.accumulators.erase(found);
    }
    op.erase();
    return true;
  }

  /// lhs · weights + sum; null: the unit is misused, or the weights are unknown.
  static mlir::Value product(mlir::Operation& op, MatrixUnit& unit, mlir::Value lhs, std::optional<uint32_t> load,
                             mlir::Value sum) {
    if (load) {
      const auto staged = unit.staged.find(static_cast<int64_t>(*load));
      if (staged == unit.staged.end()) return nullptr;
      unit.weights = staged->second;
    }
    if (!unit.weights) return nullptr;
    const auto [rhs, transposed] = *unit.weights;
    const auto left = llvm::dyn_cast<mlir::VectorType>(lhs.getType()),
               right = llvm::dyn_cast<mlir::VectorType>(rhs.getType());
    if (!left || !right || left.getRank() != 2 || right.getRank() != 2 ||
        left.getDimSize(1) != right.getDimSize(transposed ? 1 : 0))
      return nullptr;
    mlir::OpBuilder b(&op);
    const mlir::Type element =
        llvm::isa<mlir::FloatType>(left.getElementType()) ? mlir::Type(b.getF32Type()) : mlir::Type(b.getI32Type());
    const auto type = mlir::VectorType::get({left.getDimSize(0), right.getDimSize(transposed ? 0 : 1)}, element);
    if (sum && sum.getType() != type) return nullptr;
    if (!sum) sum = zerosOf(b, op.getLoc(), type);
    auto made = tpu::MatmulOp::create(b, op.getLoc(), type, lhs, rhs, sum, b.getBoolAttr(false),
                                      b.getBoolAttr(transposed), nullptr, nullptr, b.getBoolAttr(false));
    return made.getResult();
  }

  std::map<int64_t, MatrixUnit> units_;
};

}  // namespace

std::optional<KernelPackage> multiplyWithoutUnits(const KernelPackage& package) {
  const auto blocksOf = [](mlir::func::FuncOp kernel) {
    llvm::SetVector<mlir::Block*> blocks;
    kernel.walk([&](mlir::Operation* op) {
      if (usesUnit(*op)) blocks.insert(op->getBlock());
    });
    return blocks;
  };
  if (blocksOf(package.kernelFunction()).empty()) return std::nullopt;
  KernelPackage made = package.copy();
  const auto blocks = blocksOf(made.kernelFunction());
  for (mlir::Block* block : blocks)
    if (!UnitBlock().run(*block)) return std::nullopt;
  return made;
}

}  // namespace smalti::cpu
