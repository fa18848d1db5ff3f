#include "tpu/Temporaries.h"

#include <algorithm>
#include <map>

#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "tpu/Tiling.h"

namespace smalti::tpu {
namespace {

/// Registers that hold parts of a kept value instead of VMEM: of 64, 44 (180 KiB less than the value, over 22 softmax
/// kernels).
constexpr double kFreeRegisters = 0.7;
constexpr int64_t kRegisterBytes = 8 * 128 * 4;

class Liveness {
 public:
  Liveness(const KernelPackage& kernel, const Chip& chip) : chip_(chip) {
    kernel.kernelFunction().walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
      index_[op] = static_cast<int64_t>(order_.size());
      order_.push_back(op);
      phaseOf(op);
    });
  }

  /// The most bytes that are kept at once.
  int64_t most() {
    std::map<int64_t, int64_t> changes;  // at op number: bytes more
    for (mlir::Operation* op : order_)
      for (mlir::Value v : op->getResults()) {
        if (!isKept(v)) continue;
        int64_t last = index_[op];
        for (mlir::Operation* user : v.getUsers()) last = std::max(last, index_[user]);
        changes[index_[op]] += bytes(v);
        changes[last] -= bytes(v);
      }
    int64_t now = 0, most = 0;
    for (const auto& [at, change] : changes) most = std::max(most, now += change);
    return most;
  }

  /// Copies of packed operands of products that are added to an accumulator.
  Temporaries operandCopies() {
    Temporaries sum;
    for (mlir::Operation* op : order_)
      if (auto matmul = mlir::dyn_cast<MatmulOp>(op)) {
        const Temporaries one = copiesOf(matmul);
        sum = {std::max(sum.low, one.low), std::max(sum.likely, one.likely), std::max(sum.high, one.high)};
      }
    return sum;
  }

 private:
  static bool isBarrier(mlir::Operation* op) {
    return mlir::isa<mlir::vector::MultiDimReductionOp, MatmulOp, ReduceIndexOp, ConvOp>(op);
  }
  static bool isFree(mlir::Operation* op) {
    return mlir::isa<mlir::vector::LoadOp, StridedLoadOp, mlir::arith::ConstantOp, mlir::vector::BroadcastOp, IotaOp,
                     mlir::vector::ShapeCastOp>(op);
  }

  void phaseOf(mlir::Operation* op) {
    int phase = 0;
    for (mlir::Value v : op->getOperands())
      if (auto it = phase_.find(v); it != phase_.end()) phase = std::max(phase, it->second);
    for (mlir::Value v : op->getResults()) phase_[v] = phase + (isBarrier(op) ? 1 : 0);
  }

  int64_t bytes(mlir::Value v) {
    if (!mlir::isa<mlir::VectorType>(v.getType())) return 0;
    const auto type = arrayTypeOf(v.getType());
    return type ? paddedBytes(chip_, *type) : 0;
  }

  bool isKept(mlir::Value v) {
    mlir::Operation* op = v.getDefiningOp();
    if (isFree(op) || bytes(v) <= chip_.vector.registers * kRegisterBytes / 4) return false;
    const int phase = phase_[v];
    for (mlir::Operation* user : v.getUsers()) {
      if (mlir::isa<MatmulOp>(user)) return true;
      if (user->getNumResults() == 0) continue;
      const int after = phase_[user->getResult(0)] - (isBarrier(user) ? 1 : 0);
      if (after > phase) return true;
    }
    return false;
  }

  Temporaries copiesOf(MatmulOp matmul) {
    const auto l = arrayTypeOf(matmul.getLhs().getType()), r = arrayTypeOf(matmul.getRhs().getType());
    const bool added = llvm::any_of(matmul->getUsers(), [](mlir::Operation* user) {
      return mlir::isa<mlir::arith::AddFOp, mlir::arith::AddIOp>(user);
    });
    if (!l || !r || !added) return {};
    const int64_t larger = std::max(paddedBytes(chip_, *l), paddedBytes(chip_, *r));
    const int64_t depth = l->shape.empty() ? 0 : l->shape.back();
    const int64_t bits = elementBits(l->dtype);
    double factor = 0;
    if (bits == 16)
      factor = chip_.mxu.size == 128 ? 1.1 : depth >= 1024 ? (chip_.device.generation >= 7 ? 1.0 : 1.35) : 0;
    else if (bits == 8)
      factor = chip_.mxu.size == 128 ? 0.35 : chip_.device.generation >= 7 ? 2 : 0.9;
    else if (bits == 32 && chip_.mxu.size == 256 && chip_.device.generation < 7 && depth >= 1024)
      factor = 0.2;
    if (chip_.device.generation >= 7 && larger < (1 << 20)) factor = 0;
    const auto likely = static_cast<int64_t>(factor * static_cast<double>(larger));
    return {likely / 2, likely, likely * 3 / 2};
  }

  const Chip& chip_;
  std::vector<mlir::Operation*> order_;
  llvm::DenseMap<mlir::Operation*, int64_t> index_;
  llvm::DenseMap<mlir::Value, int> phase_;
};

}  // namespace

Temporaries temporariesOf(const KernelPackage& kernel, const Chip& chip) {
  if (!kernel.kernelFunction()) return {};
  Liveness liveness(kernel, chip);
  const int64_t registers =
      static_cast<int64_t>(kFreeRegisters * static_cast<double>(chip.vector.registers)) * kRegisterBytes;
  const auto beyond = [&](int64_t bytes) { return std::max<int64_t>(0, bytes - registers); };
  const int64_t kept = liveness.most();
  const Temporaries copies = liveness.operandCopies();
  return {beyond(kept * 9 / 10 + copies.low), beyond(kept + copies.likely), beyond(kept * 5 / 4 + copies.high)};
}

}  // namespace smalti::tpu
