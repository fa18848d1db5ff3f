// The queue of products of each matrix unit: pops need a pushed product, and its number of rows is limited. The
// compiler schedules pushes and pops in order, so that their numbers in straight-line code are those at run time.
#include <map>

#include <fmt/format.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "tpu/rules/Reasons.h"
#include "tpu/rules/Table.h"

namespace smalti::tpu {
namespace {

bool usesQueue(mlir::Operation* op) { return mlir::isa<MatmulLhsFifoOp, MatmulPopFifoOp>(op); }

bool usesQueueInside(mlir::Operation* op) {
  return op->getNumRegions() > 0 && op->walk([](mlir::Operation* inner) {
                                        return usesQueue(inner) ? mlir::WalkResult::interrupt()
                                                                : mlir::WalkResult::advance();
                                      }).wasInterrupted();
}

int64_t rowsOf(mlir::Type type) { return mlir::cast<mlir::VectorType>(type).getShape().front(); }

void onGeneration(mlir::Operation* op, const Judge& judge) {
  const int64_t generation = judge.chip.device.generation;
  const bool queue = usesQueue(op), accumulators = mlir::isa<MatmulAccLhsOp, MatmulPopOp>(op);
  if (!(queue && generation >= 7) && !(accumulators && generation < 7)) return;
  const std::string_view name = mlir::isa<MatmulLhsFifoOp>(op)   ? "MatmulLhsFifoOp"
                                : mlir::isa<MatmulPopFifoOp>(op) ? "MatmulPopFifoOp"
                                : mlir::isa<MatmulAccLhsOp>(op)  ? "MatmulAccLhsOp"
                                                                 : "MatmulPopOp";
  judge.refuse(
      reason::kUnsupportedOp, op->getLoc(),
      {.message = fmt::format("{} not supported on TPU generations {} 7", name, queue ? ">=" : "<"),
       .need = fmt::format("a TPU of generation {} 7", queue ? "<" : ">="),
       .have = fmt::format("generation {}", generation),
       .help = queue ? "use matmul_acc_lhs and matmul_pop there" : "use matmul_lhs_fifo and matmul_pop_fifo there"});
}

void walk(mlir::Block& block, bool startsEmpty, const Judge& judge) {
  std::map<int64_t, int64_t> rows;  // by matrix unit; beyond what it held at the start of the block
  bool known = startsEmpty;
  for (mlir::Operation& op : block) {
    if (usesQueueInside(&op)) {
      for (mlir::Region& region : op.getRegions())
        for (mlir::Block& inner : region) walk(inner, false, judge);
      known = false;
      rows.clear();
    } else if (auto push = mlir::dyn_cast<MatmulLhsFifoOp>(op)) {
      const int64_t held = rows[push.getMxuIndex()] += rowsOf(push.getLhs().getType());
      if (held > judge.chip.mxu.queueRows)
        return judge.refuse(reason::kMatrixQueue, op.getLoc(),
                            {.message = "Cannot schedule FIFO push instruction when the FIFO is full",
                             .need = fmt::format("at most {} rows in the queue of matrix unit {}",
                                                 judge.chip.mxu.queueRows, push.getMxuIndex()),
                             .have = fmt::format("{} rows", held),
                             .help = "take products out before more are pushed"});
    } else if (auto pop = mlir::dyn_cast<MatmulPopFifoOp>(op)) {
      const int64_t held = rows[pop.getMxuIndex()] -= rowsOf(pop.getResult().getType());
      if (held < 0 && known)
        return judge.refuse(reason::kMatrixQueue, op.getLoc(),
                            {.message = "Cannot schedule FIFO pop instruction when the FIFO is empty",
                             .need = fmt::format("{} rows in the queue of matrix unit {}",
                                                 rowsOf(pop.getResult().getType()), pop.getMxuIndex()),
                             .have = fmt::format("{} rows", held + rowsOf(pop.getResult().getType())),
                             .help = "pop as many rows as were pushed"});
    }
  }
}

void onKernel(const Judge& judge) {
  if (judge.chip.device.generation >= 7) return;
  mlir::func::FuncOp f = judge.kernel.kernelFunction();
  if (!f.getBody().empty()) walk(f.getBody().front(), true, judge);
}

}  // namespace

std::span<const Rule> queueRules() {
  static constexpr Rule kRules[]{{.onOp = onGeneration}, {.onKernel = onKernel}};
  return kRules;
}

}  // namespace smalti::tpu
