// Dead code of functions that are transformed, in loops and branches too: a carry that only itself needs, a result of a
// branch that are unused.
#include "lang/transform/Prune.h"

#include <algorithm>
#include <unordered_set>

#include "lang/call/CalledKernel.h"

namespace smalti::lang {
namespace {

using Used = std::unordered_set<ValueId>;

template <class T>
void filter(std::vector<T>& list, const Mask& keep, size_t first = 0) {
  std::vector<T> kept(list.begin(), list.begin() + static_cast<ptrdiff_t>(first));
  for (size_t i = first; i < list.size(); ++i)
    if (keep[i - first]) kept.push_back(std::move(list[i]));
  list = std::move(kept);
}

class Pruning {
 public:
  explicit Pruning(const TracedFunction& traced) : kernels_(traced.kernels) {}

  void sweep(std::vector<Op>& ops, Used& used) const {
    for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
      const auto isUsed = [&](ValueId v) { return used.count(v) > 0; };
      if (op->name != "return" && std::none_of(op->results.begin(), op->results.end(), isUsed) && !hasEffect(*op)) {
        op->name.clear();
        continue;
      }
      if (!op->regions.empty()) narrow(*op, used);
      used.insert(op->operands.begin(), op->operands.end());
    }
    std::erase_if(ops, [](const Op& op) { return op.name.empty(); });
  }

 private:
  bool hasEffect(const Op& op) const {
    if (op.kernel >= 0) return kernels_[op.kernel]->traced().params.has_side_effects;
    const OpRecord* record = findOp(op.name);
    if (record && record->effect) return true;
    return std::any_of(op.regions.begin(), op.regions.end(), [&](const Block& block) {
      return std::any_of(block.ops.begin(), block.ops.end(), [&](const Op& o) { return hasEffect(o); });
    });
  }

  /// The values that the block needs for the results that are kept.
  Used needs(Block block, const Mask& keep) const {
    Used used;
    filter(block.ops.back().operands, keep);
    sweep(block.ops, used);
    return used;
  }
  static Mask among(std::span<const ValueId> values, const Used& used) {
    Mask mask;
    for (const ValueId v : values) mask.push_back(used.count(v) > 0);
    return mask;
  }

  /// Drops unused results and the ops that compute them; takes what the regions need into `used`.
  void narrow(Op& op, Used& used) const {
    Mask results = among(op.results, used);
    if (op.name == "if") {
      filter(op.results, results);
      for (Block& block : op.regions) filter(block.ops.back().operands, results);
    } else if (op.name == "checkpoint") {
      call(op, results);
    } else if (op.name == "manual_computation") {
      const Mask arguments = call(op, results);
      for (auto& [key, value] : op.attributes) {
        auto* shardings = std::get_if<std::vector<Sharding>>(&value);
        if (key == "in_shardings") filter(*shardings, arguments);
        if (key == "out_shardings" && shardings->size() == results.size()) filter(*shardings, results);
      }
    } else if (op.name == "for") {
      loop(op, results, op.results.size(), 2, 1);
    } else if (op.name == "scan") {
      const auto carries = static_cast<size_t>(std::get<int64_t>(*op.find("num_carry")));
      const int64_t left = loop(op, results, carries, 0, 0);
      for (auto& [key, value] : op.attributes)
        if (key == "num_carry") value = left;
    } else if (op.name == "while") {
      const Used condition = needs(op.regions[0], {true});
      for (size_t i = 0; i < results.size(); ++i)
        results[i] = results[i] || condition.count(op.regions[0].arguments[i]) > 0;
      Block& body = op.regions[1];
      for (;;) {
        const Mask needed = among(body.arguments, needs(body, results));
        if (!join(results, needed)) break;
      }
      filter(op.results, results);
      filter(op.operands, results);
      for (Block& block : op.regions) filter(block.arguments, results);
      filter(body.ops.back().operands, results);
    }
    for (Block& block : op.regions) sweep(block.ops, used);
  }

  /// A body that runs once. Gives which arguments are left.
  Mask call(Op& op, const Mask& results) const {
    Block& body = op.regions[0];
    const Mask arguments = among(body.arguments, needs(body, results));
    filter(op.results, results);
    filter(body.ops.back().operands, results);
    filter(body.arguments, arguments);
    filter(op.operands, arguments);
    return arguments;
  }

  static bool join(Mask& flags, const Mask& more) {
    const Mask before = flags;
    for (size_t i = 0; i < std::min(flags.size(), more.size()); ++i) flags[i] = flags[i] || more[i];
    return flags != before;
  }

  /// Carries are operands from `firstOperand` and arguments from `firstArgument`; what follows them goes along: results
  /// are stacked, and operands scanned. Gives how many carries are left.
  int64_t loop(Op& op, Mask results, size_t carries, size_t firstOperand, size_t firstArgument) const {
    Block& body = op.regions[0];
    Mask arguments;
    for (;;) {
      arguments = among(std::span(body.arguments).subspan(firstArgument), needs(body, results));
      const Mask needed(arguments.begin(), arguments.begin() + static_cast<ptrdiff_t>(carries));
      if (!join(results, needed)) break;
    }
    std::copy_n(results.begin(), carries, arguments.begin());
    filter(op.results, results);
    filter(body.ops.back().operands, results);
    filter(body.arguments, arguments, firstArgument);
    filter(op.operands, arguments, firstOperand);
    return std::count(results.begin(), results.begin() + static_cast<ptrdiff_t>(carries), true);
  }

  const std::vector<std::shared_ptr<const CalledKernel>>& kernels_;
};

}  // namespace

std::shared_ptr<const TracedFunction> keepResults(const TracedFunction& function, const Mask& keep) {
  auto kept = std::make_shared<TracedFunction>(function);
  Function& f = kept->function;
  filter(f.ops.back().operands, keep);
  filter(f.resultTypes, keep);
  Used used;
  Pruning(*kept).sweep(f.ops, used);
  return kept;
}

}  // namespace smalti::lang
