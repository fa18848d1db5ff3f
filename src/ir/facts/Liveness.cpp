#include "ir/facts/Liveness.h"

#include <algorithm>

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Region.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#include "ir/TpuOpsElementwise.h"
#include "ir/TpuOpsShape.h"

namespace smalti {
namespace {

bool isLoop(mlir::Operation& op) { return mlir::isa<mlir::LoopLikeOpInterface>(op); }

}  // namespace

bool mayAlias(mlir::Operation& op) {
  using namespace mlir::vector;
  return mlir::isa<ShapeCastOp, BroadcastOp, TransposeOp, ExtractStridedSliceOp, tpu::TransposeOp, tpu::DynamicRotateOp,
                   tpu::AssumeMultipleOp>(op);
}

Liveness::Liveness(mlir::Operation* function) {
  int position = 0;
  std::vector<mlir::Operation*> order;
  // An explicit stack: modules may nest deeper than the machine's stack allows.
  struct Item {
    mlir::Operation* op;
    bool entering;
  };
  std::vector<Item> stack{{function, true}};
  while (!stack.empty()) {
    const Item item = stack.back();
    stack.pop_back();
    if (!item.entering) {
      range_[item.op].second = position;
      continue;
    }
    range_[item.op] = {++position, position};
    order.push_back(item.op);
    if (item.op->getNumRegions() == 0) continue;
    stack.push_back({item.op, false});
    for (mlir::Region& region : llvm::reverse(item.op->getRegions()))
      for (mlir::Block& block : llvm::reverse(region)) {
        int epoch = 0;
        for (mlir::Operation& op : block) {
          epoch_[&op] = epoch;
          epoch += mayChangeMemory(op);
        }
        for (mlir::Operation& op : llvm::reverse(block)) stack.push_back({&op, true});
      }
  }
  for (mlir::Operation* op : llvm::reverse(order))
    if (op->getNumRegions() == 0 && op->getNumResults() != 0 &&
        // A dead load still reads its indices, to check its bounds.
        llvm::all_of(op->getUsers(), [&](mlir::Operation* user) { return dead_.contains(user) && isPure(*user); }) &&
        (isPure(*op) || isLoad(*op)))
      dead_.insert(op);
}

int Liveness::lastUse(mlir::Value value) const {
  int last = -1;
  mlir::Block* home = value.getParentBlock();
  for (mlir::Operation* user : value.getUsers()) {
    if (dead_.contains(user) && isPure(*user)) continue;
    int at = begin(user);
    for (mlir::Operation* op = user; op && op->getBlock() != home;) {
      op = op->getParentOp();
      if (op && isLoop(*op) && op->getBlock()) at = std::max(at, end(op));
      if (op && op->getBlock() == home) break;
    }
    last = std::max(last, at);
  }
  return last;
}

bool Liveness::usedUpTo(mlir::Value value, mlir::Operation* load, int memoryEpoch, int depth) const {
  constexpr int kDeepest = 64;  // of aliases of aliases; deeper ones are copied
  if (depth > kDeepest) return false;
  for (mlir::Operation* user : value.getUsers()) {
    if (dead_.contains(user) && isPure(*user)) continue;
    if (user->getBlock() != load->getBlock() || user->getNumRegions() != 0) return false;
    if (!user->getNextNode()) return false;  // the terminator: what a block gives outlives it
    if (epoch_.lookup(user) != memoryEpoch) return false;
    if (mayAlias(*user))
      for (mlir::Value result : user->getResults())
        if (!usedUpTo(result, load, memoryEpoch, depth + 1)) return false;
  }
  return true;
}

bool Liveness::viewable(mlir::Operation* load) const {
  return llvm::all_of(load->getResults(), [&](mlir::Value v) { return usedUpTo(v, load, epoch_.lookup(load)); });
}

}  // namespace smalti
