#include "machine/flat/Liveness.h"

#include <algorithm>
#include <array>

#include "mlir/IR/Block.h"
#include "mlir/IR/Region.h"

namespace smalti::machine::flat {
namespace {

template <size_t N>
bool isOneOf(llvm::StringRef name, const std::array<llvm::StringLiteral, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<llvm::StringLiteral, 18> kPureTpuOps{"tpu.matmul",
                                                          "tpu.conv",
                                                          "tpu.iota",
                                                          "tpu.concatenate",
                                                          "tpu.transpose",
                                                          "tpu.dynamic_rotate",
                                                          "tpu.dynamic_gather",
                                                          "tpu.reduce_index",
                                                          "tpu.bitcast",
                                                          "tpu.reciprocal",
                                                          "tpu.reduce_precision",
                                                          "tpu.weird",
                                                          "tpu.stochastic_convert",
                                                          "tpu.pack_elementwise",
                                                          "tpu.unpack_elementwise",
                                                          "tpu.assume_multiple",
                                                          "tpu.iteration_bound",
                                                          "tpu.memref_memory_space_is"};
constexpr std::array<llvm::StringLiteral, 3> kLoads{"vector.load", "memref.load", "tpu.strided_load"};
constexpr std::array<llvm::StringLiteral, 12> kReadsOnly{"tpu.memref_slice",
                                                         "tpu.memref_squeeze",
                                                         "tpu.memref_reshape",
                                                         "tpu.memref_bitcast",
                                                         "tpu.annotate",
                                                         "tpu.device_id",
                                                         "tpu.log",
                                                         "tpu.log_buffer",
                                                         "tpu.trace_start",
                                                         "tpu.trace_stop",
                                                         "tpu.trace_value",
                                                         "cf.assert"};

bool isLoad(mlir::Operation& op) { return isOneOf(op.getName().getStringRef(), kLoads); }

bool mayChangeMemory(mlir::Operation& op) {
  return !(isPure(op) || isLoad(op) || isOneOf(op.getName().getStringRef(), kReadsOnly));
}

bool isLoop(mlir::Operation& op) {
  const llvm::StringRef name = op.getName().getStringRef();
  return name == "scf.for" || name == "scf.while";
}

}  // namespace

bool isPure(mlir::Operation& op) {
  const llvm::StringRef name = op.getName().getStringRef();
  if (name.starts_with("arith.") || name.starts_with("math.")) return true;
  if (name.starts_with("vector.")) return name != "vector.load" && name != "vector.store";
  return isOneOf(name, kPureTpuOps);
}

bool mayAlias(mlir::Operation& op) {
  static constexpr std::array<llvm::StringLiteral, 7> kAliasing{
      "vector.shape_cast", "vector.broadcast",   "vector.transpose",   "vector.extract_strided_slice",
      "tpu.transpose",     "tpu.dynamic_rotate", "tpu.assume_multiple"};
  return isOneOf(op.getName().getStringRef(), kAliasing);
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
    if ((isPure(*op) || isLoad(*op)) && op->getNumRegions() == 0 && op->getNumResults() != 0 &&
        // A dead load still reads its indices, to check its bounds.
        llvm::all_of(op->getUsers(), [&](mlir::Operation* user) { return dead_.contains(user) && isPure(*user); }))
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

}  // namespace smalti::machine::flat
