// Dead code: reading a Ref for a store (`o[_] = v`) records a read that nobody uses; it goes here.
#include <algorithm>
#include <array>
#include <unordered_set>

#include "lang/trace/Trace.h"

namespace smalti::lang {
namespace {

// "get" is no effect: what it gives is all it does.
constexpr std::array<std::string_view, 17> kEffects{
    "return",           "swap",           "store",       "dma_start",   "dma_wait",
    "semaphore_signal", "semaphore_wait", "debug_print", "debug_check", "prng_seed",
    "prng_random_bits", "delay",          "trace_value", "trace_start", "trace_stop",
    "matmul_push_rhs",  "touch"};
constexpr std::array<std::string_view, 4> kMoreEffects{"matmul_acc_lhs", "matmul_pop", "matmul_lhs_fifo",
                                                       "matmul_pop_fifo"};

using Used = std::unordered_set<ValueId>;

void sweep(std::vector<Op>& ops, Used& used) {
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    const bool live = hasEffect(*op) ||
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

bool hasEffect(const Op& op) {
  const auto in = [&](const auto& names) { return std::find(names.begin(), names.end(), op.name) != names.end(); };
  if (op.name != "return" && (in(kEffects) || in(kMoreEffects))) return true;
  if (op.name == "return") return true;
  for (const Block& block : op.regions)
    for (const Op& inner : block.ops)
      if (inner.name != "return" && hasEffect(inner)) return true;
  return false;
}

void removeDead(Function& function) {
  Used used;
  sweep(function.ops, used);
}

}  // namespace smalti::lang
