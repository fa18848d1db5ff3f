// Dead code: reading a Ref for a store (`o[_] = v`) records an unused read, which is removed here.
#include <algorithm>
#include <unordered_set>

#include "lang/call/CalledKernel.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/trace/Trace.h"

namespace smalti::lang {
namespace {

using Kernels = std::vector<std::shared_ptr<const CalledKernel>>;
using Used = std::unordered_set<ValueId>;

/// Whether an op does more than give results, itself or in its regions.
bool hasEffect(const Op& op, const Kernels& kernels) {
  if (op.kernel >= 0) return kernels[op.kernel]->traced().params.has_side_effects;
  const OpRecord* record = findOp(op.name);
  if (record && record->effect) return true;
  for (const Block& block : op.regions)
    if (std::any_of(block.ops.begin(), block.ops.end(), [&](const Op& o) { return hasEffect(o, kernels); }))
      return true;
  return false;
}

bool readsSemaphore(const Block& block) {
  return std::ranges::any_of(block.ops, [](const Op& op) {
    return op.name == "semaphore_read" || std::ranges::any_of(op.regions, readsSemaphore);
  });
}

/// JAX removes a loop whose results nothing uses, also if it waits for another core or device. Its author cannot mean
/// that.
void refuseToRemovePolling(const Op& op) {
  if (op.name != "while" || std::ranges::none_of(op.regions, readsSemaphore)) {
    for (const Block& block : op.regions) std::ranges::for_each(block.ops, refuseToRemovePolling);
    return;
  }
  refuse({.code = "SM6126",
          .message = "a while_loop that polls a semaphore would be removed, since nothing uses its results",
          .place = op.place,
          .need = "a use of a result of the loop, such as a carry with the count that was read",
          .help = "wait with semaphore_wait, or return the count as a carry and store it"});
}

void sweep(std::vector<Op>& ops, const Kernels& kernels, Used& used) {
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    const bool live = op->name == "return" || hasEffect(*op, kernels) ||
                      std::any_of(op->results.begin(), op->results.end(), [&](ValueId v) { return used.count(v) > 0; });
    if (!live) {
      refuseToRemovePolling(*op);
      op->name.clear();
      continue;
    }
    for (const ValueId v : op->operands) used.insert(v);
    for (Block& block : op->regions) sweep(block.ops, kernels, used);
  }
  std::erase_if(ops, [](const Op& op) { return op.name.empty(); });
}

}  // namespace

void removeDead(TracedFunction& traced) {
  Used used;
  sweep(traced.function.ops, traced.kernels, used);
}

}  // namespace smalti::lang
