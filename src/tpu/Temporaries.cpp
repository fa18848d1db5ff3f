#include "tpu/Temporaries.h"

#include <algorithm>
#include <map>

#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "ir/KernelArguments.h"
#include "ir/TpuOps.h"
#include "tpu/Products.h"
#include "tpu/Registers.h"
#include "tpu/Scratch.h"
#include "tpu/Tiling.h"

namespace smalti::tpu {
namespace {

/// Values below this many registers are not followed: they come and go.
constexpr int64_t kSmall = 8;
/// A row as wide fills half the registers: then all rows are in flight.
constexpr int64_t kWideRow = 24;

bool isBarrier(mlir::Operation* op) {
  return mlir::isa<mlir::vector::MultiDimReductionOp, MatmulOp, ReduceIndexOp, ConvOp>(op);
}
bool isLoad(mlir::Operation* op) { return mlir::isa<mlir::vector::LoadOp, StridedLoadOp>(op); }
bool isView(mlir::Operation* op) { return mlir::isa<mlir::vector::ShapeCastOp>(op); }
/// Made again wherever it is needed.
bool isFree(mlir::Operation* op) {
  return mlir::isa<mlir::arith::ConstantOp, mlir::vector::BroadcastOp, IotaOp>(op);
}

/// The load that a value is a view of.
mlir::Operation* loadBehind(mlir::Value v) {
  mlir::Operation* op = v.getDefiningOp();
  while (op && isView(op)) op = op->getOperand(0).getDefiningOp();
  return op && isLoad(op) ? op : nullptr;
}

class Liveness {
 public:
  Liveness(const KernelPackage& kernel, const Chip& chip) : kernel_(kernel), chip_(chip) {
    kernel.kernelFunction().walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
      index_[op] = static_cast<int64_t>(order_.size());
      order_.push_back(op);
      phaseOf(op);
    });
  }

  /// The most registers that are kept at once.
  int64_t most() {
    std::map<int64_t, int64_t> changes;  // at op number: registers more
    const auto keep = [&](int64_t from, int64_t to, int64_t registers) {
      changes[from] += registers;
      changes[to + 1] -= registers;
    };
    int64_t rows = 0;
    std::vector<mlir::Value> kept;
    for (mlir::Operation* op : order_)
      for (mlir::Value v : op->getResults())
        if (isKept(v)) kept.push_back(v);
    int64_t widest = 0;
    for (mlir::Value v : kept) widest = std::max(widest, registersOfRow(v));
    for (mlir::Value v : kept) {
      const bool isNarrow = chip_.spills.shallowCopies && registersOfRow(v) == 1 && widest > 1;
      if (registersOf(v) == registersOfRow(v))
        rows += registersOf(v);
      else if (!isNarrow)
        keep(index_[v.getDefiningOp()], lastUse(v) - 1, inFlight(v));
    }
    for (mlir::Operation* op : order_) {
      if (auto matmul = mlir::dyn_cast<MatmulOp>(op)) {
        const ProductNeed need = needOf(matmul, isAdded(matmul), chip_);
        if (mlir::Value of = computedOperand(matmul))
          keep(index_[of.getDefiningOp()], index_[op], registersOf(of));
        else
          keep(index_[op], nextProduct(matmul), need.operand);
        if (!isKept(matmul.getResult())) keep(index_[op], index_[op], need.sums);
      }
    }
    int64_t now = 0, most = 0;
    for (const auto& [at, change] : changes) most = std::max(most, now += change);
    return most + rows;
  }

  /// What goes by way of whole values in 32 bits.
  int64_t detours() {
    int64_t sum = 0;
    for (mlir::Operation* op : order_) {
      if (chip_.spills.narrowCasts) sum += narrowCast(op);
      if (chip_.spills.rowBroadcasts) sum += rowBroadcast(op);
    }
    return sum;
  }

 private:
  void phaseOf(mlir::Operation* op) {
    int phase = 0;
    for (mlir::Value v : op->getOperands())
      if (auto it = phase_.find(v); it != phase_.end()) phase = std::max(phase, it->second);
    for (mlir::Value v : op->getResults()) phase_[v] = phase + (isBarrier(op) ? 1 : 0);
  }

  int phaseBefore(mlir::Operation* op) { return phase_[op->getResult(0)] - (isBarrier(op) ? 1 : 0); }

  /// Is the value, or what it is cast to, needed after something that depends on it?
  bool isNeededLater(mlir::Value v, int phase) {
    return llvm::any_of(v.getUsers(), [&](mlir::Operation* user) {
      if (user->getNumResults() == 0) return false;
      if (isView(user)) return isNeededLater(user->getResult(0), phase);
      if (phaseBefore(user) > phase) return true;
      const bool isRow = registersOf(v) == registersOfRow(v);
      return isRow && mlir::isa<mlir::vector::BroadcastOp>(user) && isNeededLater(user->getResult(0), phase);
    });
  }

  bool isKept(mlir::Value v) {
    mlir::Operation* op = v.getDefiningOp();
    if (isFree(op) || isView(op) || registersOf(v) < kSmall) return false;
    if (isLoad(op) && (chip_.spills.reloadedRow == 0 || registersOfRow(v) < chip_.spills.reloadedRow ||
                       registersOf(v) == registersOfRow(v)))
      return false;
    const auto type = mlir::cast<mlir::VectorType>(v.getType());
    if (type.getRank() == 0 || type.getShape().back() == 1) return false;
    return !isSunk(v) && isNeededLater(v, phase_[v]);
  }

  /// Computed where it is used, from what can be loaded there.
  static bool isSunk(mlir::Value v) {
    mlir::Operation* op = v.getDefiningOp();
    if (isBarrier(op) || isLoad(op) || !v.hasOneUse() || op->getNumOperands() != 2) return false;
    return llvm::all_of(op->getOperands(), [](mlir::Value x) {
      mlir::Operation* from = x.getDefiningOp();
      return loadBehind(x) || (from && isFree(from));
    });
  }

  /// The rows that a product takes, as they were computed after another product or a reduction.
  mlir::Value computedOperand(MatmulOp matmul) {
    mlir::Value v = matmul.getLhs();
    while (mlir::Operation* op = v.getDefiningOp()) {
      if (!mlir::isa<mlir::arith::TruncFOp, mlir::vector::ShapeCastOp>(op)) break;
      v = op->getOperand(0);
    }
    return v.getDefiningOp() && phase_[v] > 0 && !isBarrier(v.getDefiningOp()) ? v : mlir::Value();
  }

  int64_t lastUse(mlir::Value v) {
    int64_t last = index_[v.getDefiningOp()];
    for (mlir::Operation* user : v.getUsers())
      last = std::max(last, isView(user) ? lastUse(user->getResult(0)) : index_[user]);
    return last;
  }

  /// Narrow rows are finished before all have begun.
  int64_t inFlight(mlir::Value v) {
    const int64_t all = registersOf(v), row = registersOfRow(v);
    if (row >= kWideRow || mlir::isa<MatmulOp>(v.getDefiningOp())) return all;
    int64_t limit = chip_.spills.rowsInFlight * row;
    int later = 0;
    for (mlir::Operation* user : v.getUsers())
      if (user->getNumResults() > 0) later = std::max(later, phaseBefore(user) - phase_[v]);
    if (later > 1 || reductions() > 1) limit = limit * 5 / 4;
    return std::min(all, limit);
  }

  int reductions() {
    return static_cast<int>(llvm::count_if(
        order_, [](mlir::Operation* op) { return mlir::isa<mlir::vector::MultiDimReductionOp>(op); }));
  }

  bool isAdded(MatmulOp matmul) {
    return llvm::any_of(matmul->getUsers(), [&](mlir::Operation* user) {
      if (!mlir::isa<mlir::arith::AddFOp, mlir::arith::AddIOp>(user)) return false;
      return llvm::none_of(user->getOperands(), [&](mlir::Value v) {
        mlir::Operation* load = loadBehind(v);
        return load && isForwarded(kernel_, load->getOperand(0));
      });
    });
  }

  int64_t nextProduct(MatmulOp matmul) {
    for (mlir::Operation* op = matmul->getNextNode(); op; op = op->getNextNode())
      if (mlir::isa<MatmulOp>(op)) return index_[op];
    return index_[matmul];
  }

  int64_t narrowCast(mlir::Operation* op) {
    if (op->getNumOperands() != 1 || op->getNumResults() != 1) return 0;
    const auto from = mlir::dyn_cast<mlir::VectorType>(op->getOperand(0).getType());
    const auto to = mlir::dyn_cast<mlir::VectorType>(op->getResult(0).getType());
    if (!from || !to || from.getShape() != to.getShape()) return 0;
    const auto isNarrow = [](mlir::VectorType t) {
      return t.getElementType().isIntOrFloat() && t.getElementTypeBitWidth() <= 8 && t.getElementTypeBitWidth() > 1;
    };
    if (isNarrow(from) == isNarrow(to)) return 0;
    const int64_t rows = registersOf(op->getResult(0)), cells = registersOf(op->getOperand(0));
    return std::max(rows, cells) * (std::max(from.getElementTypeBitWidth(), to.getElementTypeBitWidth()) == 16 ? 2 : 1);
  }

  /// A value that a broadcast row is added to, where no reduction comes before.
  int64_t rowBroadcast(mlir::Operation* op) {
    if (!mlir::isa<mlir::arith::AddFOp>(op) || phase_[op->getResult(0)] > 0) return 0;
    const bool isRow = llvm::any_of(op->getOperands(), [](mlir::Value v) {
      auto broadcast = v.getDefiningOp<mlir::vector::BroadcastOp>();
      return broadcast && mlir::isa<mlir::VectorType>(broadcast.getSource().getType()) &&
             registersOf(broadcast.getSource()) == registersOfRow(v) && registersOf(v) > registersOfRow(v);
    });
    if (!isRow) return 0;
    const bool isNarrowed = [&] {
      mlir::Value v = op->getResult(0);
      while (v.hasOneUse()) {
        mlir::Operation* user = *v.getUsers().begin();
        if (mlir::isa<mlir::arith::TruncFOp>(user)) return true;
        if (user->getNumResults() != 1) return false;
        v = user->getResult(0);
      }
      return false;
    }();
    const int64_t all = registersOf(op->getResult(0));
    return op->hasOneUse() ? (isNarrowed ? all : 0) : 2 * all;
  }

  const KernelPackage& kernel_;
  const Chip& chip_;
  std::vector<mlir::Operation*> order_;
  llvm::DenseMap<mlir::Operation*, int64_t> index_;
  llvm::DenseMap<mlir::Value, int> phase_;
};

}  // namespace

Temporaries temporariesOf(const KernelPackage& kernel, const Chip& chip) {
  if (!kernel.kernelFunction()) return {};
  Liveness liveness(kernel, chip);
  const int64_t most = liveness.most() + liveness.detours();
  const auto bytes = [&](int64_t registers) {
    return std::max<int64_t>(0, registers - chip.spills.freeRegisters) * kRegisterBytes;
  };
  return {bytes(most * 9 / 10), bytes(most), bytes(most * 23 / 20)};
}

}  // namespace smalti::tpu
