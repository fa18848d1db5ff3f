#include "tpu/Temporaries.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "tpu/Products.h"
#include "tpu/Registers.h"
#include "tpu/Relayouts.h"
#include "tpu/Scratch.h"
#include "tpu/Tiling.h"

namespace smalti::tpu {
namespace {

/// Values with fewer registers than this are ignored: they are short-lived.
constexpr int64_t kSmall = 8;
/// A row as wide fills half the registers: then all rows are in flight.
constexpr int64_t kWideRow = 24;
/// Loaded values are kept if there are at most this many groups of eight rows.
constexpr int64_t kFewGroups = 8;
/// For bodies with two reductions: the registers that are always in flight, and the most groups of rows.
constexpr int64_t kTwicePassed = 512, kMaxInFlight = 105;

bool isBarrier(mlir::Operation* op) {
  return mlir::isa<mlir::vector::MultiDimReductionOp, MatmulOp, ReduceIndexOp, ConvOp>(op);
}
bool isLoad(mlir::Operation* op) { return mlir::isa<mlir::vector::LoadOp, StridedLoadOp>(op); }
bool isView(mlir::Operation* op) { return mlir::isa<mlir::vector::ShapeCastOp>(op); }
/// Made again wherever it is needed.
bool isRematerializable(mlir::Operation* op) {
  return mlir::isa<mlir::arith::ConstantOp, mlir::vector::BroadcastOp, IotaOp>(op);
}

/// The load that a value is a view of.
mlir::Operation* loadBehind(mlir::Value v) {
  mlir::Operation* op = v.getDefiningOp();
  while (op && isView(op)) op = op->getOperand(0).getDefiningOp();
  return op && isLoad(op) ? op : nullptr;
}

/// One row, which is broadcast.
bool isRow(mlir::Value v) {
  const auto type = mlir::dyn_cast<mlir::VectorType>(v.getType());
  return type && type.getRank() > 0 && type.getNumElements() == type.getShape().back();
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

  /// The values kept at the point of highest pressure, and those converted through whole 32-bit values.
  std::vector<KeptValue> most() {
    findKept();
    std::map<int64_t, int64_t> changes;  // at op number: registers more
    for (const Interval& k : kept_) {
      changes[k.from] += k.registers;
      changes[k.to + 1] -= k.registers;
    }
    int64_t now = 0, most = 0, peak = 0;
    for (const auto& [at, change] : changes)
      if ((now += change) > most) most = now, peak = at;
    std::vector<KeptValue> out;
    for (const Interval& k : kept_)
      if (k.from <= peak && k.to >= peak && k.registers > 0)
        out.push_back({k.what, arrayTypeOf(k.value.getType()).value_or(ArrayType{}), k.registers * kRegisterBytes,
                       smalti::placeOf(k.value.getLoc()), k.ofProduct});
    std::stable_sort(out.begin(), out.end(), [](const KeptValue& a, const KeptValue& b) { return a.bytes > b.bytes; });
    return out;
  }

 private:
  struct Interval {
    int64_t from, to, registers;
    std::string what;
    mlir::Value value;
    bool ofProduct = false;
  };

  void findKept() {
    std::vector<mlir::Value> kept;
    int64_t widest = 0;
    for (mlir::Operation* op : order_)
      for (mlir::Value v : op->getResults())
        if (isKept(v)) {
          kept.push_back(v);
          widest = std::max(widest, registersOfRow(v));
        }
    const int64_t end = static_cast<int64_t>(order_.size());
    for (mlir::Value v : kept) {
      mlir::Operation* op = v.getDefiningOp();
      const bool isNarrow = chip_.spills.shallowCopies && registersOfRow(v) == 1 && widest > 1;
      const std::string what = fmt::format("result of {}, needed again later", op->getName().getStringRef().str());
      if (isRow(v))
        kept_.push_back({0, end, registersOf(v), what, v});
      else if (!isNarrow)
        kept_.push_back({index_[op], lastUse(v) - 1, inFlight(v), what, v});
    }
    for (mlir::Operation* op : order_) {
      if (auto matmul = mlir::dyn_cast<MatmulOp>(op)) addProduct(matmul);
      if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(op)) addCarried(loop);
      if (const int64_t registers = detour(op))
        kept_.push_back({0, end, registers, "by way of 32 bits", op->getResult(0)});
    }
  }

  /// The values that a loop carries are kept as long as it runs. The next iteration's value takes registers of its own
  /// if it follows from a reduction or a product; an element-wise update happens in place.
  void addCarried(mlir::scf::ForOp loop) {
    const int64_t end = index_[loop.getBody()->getTerminator()];
    for (auto [carried, next] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues())) {
      const int64_t registers = registersOf(carried);
      if (registers <= kSmall) continue;
      kept_.push_back({index_[loop], end, registers, "carried by a loop", carried});
      mlir::Operation* op = next.getDefiningOp();
      if (op && loop->isProperAncestor(op) && phase_[next] > 0 && !isKept(next))
        kept_.push_back({index_[op], end, registers, "carried to the next iteration", next});
    }
  }

  void addProduct(MatmulOp matmul) {
    const int64_t at = index_[matmul];
    const ProductNeed need = needOf(matmul, isAdded(matmul), chip_);
    if (mlir::Value of = computedOperand(matmul))
      kept_.push_back({index_[of.getDefiningOp()], at, registersOf(of), "left operand of a product, computed", of});
    else
      kept_.push_back(
          {at, nextProduct(matmul), need.operand, "left operand of a product, copied", matmul.getLhs(), true});
    if (!isKept(matmul.getResult()))
      kept_.push_back({at, at, need.sums, "partial sums of a product", matmul.getResult(), true});
  }

  int64_t detour(mlir::Operation* op) {
    return (chip_.spills.narrowCasts ? narrowCast(op) : 0) + (chip_.spills.rowBroadcasts ? rowBroadcast(op) : 0);
  }

  void phaseOf(mlir::Operation* op) {
    int phase = 0;
    for (mlir::Value v : op->getOperands())
      if (auto it = phase_.find(v); it != phase_.end()) phase = std::max(phase, it->second);
    for (mlir::Value v : op->getResults()) phase_[v] = phase + (isBarrier(op) ? 1 : 0);
  }

  int phaseBefore(mlir::Operation* op) { return phase_[op->getResult(0)] - (isBarrier(op) ? 1 : 0); }

  /// Whether the value, or a cast of it, is needed after something that depends on it.
  bool isNeededLater(mlir::Value v, int phase) {
    return llvm::any_of(v.getUsers(), [&](mlir::Operation* user) {
      if (user->getNumResults() == 0) return false;
      if (isView(user)) return isNeededLater(user->getResult(0), phase);
      if (phaseBefore(user) > phase) return true;
      return isRow(v) && mlir::isa<mlir::vector::BroadcastOp>(user) && isNeededLater(user->getResult(0), phase);
    });
  }

  bool isKept(mlir::Value v) {
    mlir::Operation* op = v.getDefiningOp();
    if (isRematerializable(op) || isView(op) || registersOf(v) < kSmall) return false;
    if (isLoad(op) && !isKeptLoad(v)) return false;
    const auto type = mlir::cast<mlir::VectorType>(v.getType());
    if (type.getRank() == 0 || type.getShape().back() == 1) return false;
    return !isSunk(v) && isNeededLater(v, phase_[v]);
  }

  bool isKeptLoad(mlir::Value v) {
    if (isRow(v)) return chip_.spills.rowBroadcasts;
    if (registersOf(v) <= kFewGroups * registersOfRow(v)) return true;
    return chip_.spills.reloadedRow > 0 && registersOfRow(v) >= chip_.spills.reloadedRow;
  }

  /// Whether the value is computed where it is used, from operands that can be loaded there.
  static bool isSunk(mlir::Value v) {
    mlir::Operation* op = v.getDefiningOp();
    if (isBarrier(op) || isLoad(op) || !v.hasOneUse() || op->getNumOperands() != 2) return false;
    return llvm::all_of(op->getOperands(), [](mlir::Value x) {
      mlir::Operation* from = x.getDefiningOp();
      return loadBehind(x) || (from && isRematerializable(from));
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

  /// Rows are finished before all have begun, unless they are wide.
  int64_t inFlight(mlir::Value v) {
    const int64_t all = registersOf(v), row = registersOfRow(v);
    if (row >= kWideRow || mlir::isa<MatmulOp>(v.getDefiningOp())) return all;
    const int64_t groups = chip_.spills.rowsInFlight;
    if (reductions() < 2) return std::min(all, groups * row);
    const bool wasPacked = llvm::any_of(order_, [&](mlir::Operation* op) {
      return mlir::isa<mlir::arith::ExtFOp>(op) && registersOf(op->getResult(0)) == all;
    });
    return std::min(all, std::max(kTwicePassed, row * (wasPacked ? std::min(2 * groups, kMaxInFlight) : groups)));
  }

  int64_t reductions() {
    return llvm::count_if(order_, [](mlir::Operation* op) { return mlir::isa<mlir::vector::MultiDimReductionOp>(op); });
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
    const bool addsRow = llvm::any_of(op->getOperands(), [](mlir::Value v) {
      auto broadcast = v.getDefiningOp<mlir::vector::BroadcastOp>();
      return broadcast && mlir::isa<mlir::VectorType>(broadcast.getSource().getType()) &&
             isRow(broadcast.getSource()) && !isRow(v);
    });
    if (!addsRow) return 0;
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
  std::vector<Interval> kept_;
};

}  // namespace

Temporaries temporariesOf(const KernelPackage& kernel, const Chip& chip) {
  if (!kernel.kernelFunction()) return {};
  Temporaries out;
  out.kept = Liveness(kernel, chip).most();
  int64_t most = 0;
  for (const KeptValue& k : out.kept) most += k.bytes;
  const auto beyond = [&](int64_t bytes) {
    return std::max<int64_t>(0, bytes / kRegisterBytes - chip.spills.freeRegisters) * kRegisterBytes;
  };
  out.low = beyond(most * 17 / 20), out.likely = beyond(most), out.high = beyond(most * 13 / 10);
  if (auto room = relayoutBytes(kernel, chip)) {
    for (int64_t* bytes : {&out.low, &out.likely, &out.high}) *bytes += room->bytes;
    out.kept.push_back(*std::move(room));
  }
  return out;
}

}  // namespace smalti::tpu
