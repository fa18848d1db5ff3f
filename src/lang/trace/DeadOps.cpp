// Dead code: reading a Ref for a store (`o[_] = v`) records a read that nobody uses; it goes here.
#include <algorithm>
#include <array>
#include <unordered_set>

#include "lang/trace/Trace.h"

namespace smalti::lang {
namespace {

// "get" is no effect: what it gives is all it does.
constexpr std::array<std::string_view, 20> kEffects{
    "swap",           "store",          "dma_start",   "dma_wait",        "semaphore_signal",
    "semaphore_wait", "debug_print",    "debug_check", "prng_seed",       "prng_random_bits",
    "delay",          "trace_value",    "trace_start", "trace_stop",      "matmul_push_rhs",
    "touch",          "matmul_acc_lhs", "matmul_pop",  "matmul_lhs_fifo", "matmul_pop_fifo"};

/// Whether an op does more than give results, itself or in its regions.
bool hasEffect(const Op& op) {
  return std::find(kEffects.begin(), kEffects.end(), op.name) != kEffects.end() ||
         std::any_of(op.regions.begin(), op.regions.end(),
                     [](const Block& block) { return std::any_of(block.ops.begin(), block.ops.end(), hasEffect); });
}

using Used = std::unordered_set<ValueId>;

void sweep(std::vector<Op>& ops, Used& used) {
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    const bool live = op->name == "return" || hasEffect(*op) ||
                      std::any_of(op->results.begin(), op->results.end(), [&](ValueId v) { return used.count(v) > 0; });
    if (!live) {
      op->name.clear();
      continue;
    }
    for (const ValueId v : op->operands) used.insert(v);
    for (Block& block : op->regions) sweep(block.ops, used);
  }
  std::erase_if(ops, [](const Op& op) { return op.name.empty(); });
}

}  // namespace

void removeDead(Function& function) {
  Used used;
  sweep(function.ops, used);
}

}  // namespace smalti::lang
