#include "lang/transform/Dependence.h"

#include <algorithm>

#include "lang/ops/OpRecord.h"

namespace smalti::lang {
namespace {

class Dependence {
 public:
  Dependence(const TracedFunction& traced, Through through)
      : types_(traced.function.values), through_(through), on_(types_.size()) {}

  Mask block(std::span<const ValueId> arguments, const std::vector<Op>& list, const Mask& flags) {
    for (size_t i = 0; i < arguments.size(); ++i) set(arguments[i], flags[i]);
    for (const Op& op : list) {
      if (op.name == "return") return of(op.operands);
      const Mask results = resultsOf(op);
      for (size_t i = 0; i < op.results.size(); ++i) set(op.results[i], results[i]);
    }
    return {};
  }

 private:
  void set(ValueId v, bool flag) { on_[v] = flag && (through_ == Through::everything || is_float(types_[v].dtype)); }
  Mask of(std::span<const ValueId> ids) const {
    Mask flags;
    for (const ValueId v : ids) flags.push_back(on_[v]);
    return flags;
  }
  bool any(const Op& op) const {
    const auto on = [&](ValueId v) { return on_[v]; };
    const auto inside = [&](const Block& block) {
      return std::any_of(block.ops.begin(), block.ops.end(), [&](const Op& o) { return any(o); });
    };
    return std::any_of(op.operands.begin(), op.operands.end(), on) ||
           std::any_of(op.regions.begin(), op.regions.end(), inside);
  }

  Mask resultsOf(const Op& op) {
    const Mask operands = of(op.operands);
    if (op.name == "if") {
      Mask flags(op.results.size(), operands[0]);
      for (const Block& branch : op.regions) join(flags, block({}, branch.ops, {}));
      return flags;
    }
    if (op.name == "checkpoint" || op.name == "manual_computation")
      return block(op.regions[0].arguments, op.regions[0].ops, operands);
    if (op.name == "for") {
      const bool bounds = operands[0] || operands[1];
      return loop(op.regions[0], {bounds}, {operands.begin() + 2, operands.end()}, {}, op.results.size(), bounds);
    }
    if (op.name == "scan") {
      const auto carries = std::get<int64_t>(*op.find("num_carry"));
      return loop(op.regions[0], {}, {operands.begin(), operands.begin() + carries},
                  {operands.begin() + carries, operands.end()}, op.results.size(), false);
    }
    if (op.name == "while") {
      Mask flags = operands;
      for (;;) {
        Mask next = flags;
        if (block(op.regions[0].arguments, op.regions[0].ops, flags)[0]) next.assign(flags.size(), true);
        join(next, block(op.regions[1].arguments, op.regions[1].ops, next));
        if (next == flags) return flags;
        flags = std::move(next);
      }
    }
    return Mask(op.results.size(), any(op) && !isFlat(op));
  }

  /// Whether its derivative is zero everywhere, so that no tangent passes through.
  bool isFlat(const Op& op) const {
    if (through_ != Through::floats) return false;
    const OpRecord* record = findOp(op.name);
    return record && isFlatEverywhere(*record);
  }

  /// A body of `first`, carries and `last`, until the carries stay; what follows them in its results comes along.
  Mask loop(const Block& body, const Mask& first, Mask carries, const Mask& last, size_t results, bool all) {
    if (all) return Mask(results, true);
    for (;;) {
      Mask arguments = first;
      arguments.insert(arguments.end(), carries.begin(), carries.end());
      arguments.insert(arguments.end(), last.begin(), last.end());
      const Mask flags = block(body.arguments, body.ops, arguments);
      Mask next = carries;
      join(next, flags);
      if (next == carries) {
        next.insert(next.end(), flags.begin() + carries.size(), flags.end());
        return next;
      }
      carries = std::move(next);
    }
  }

  static void join(Mask& flags, const Mask& more) {
    for (size_t i = 0; i < flags.size(); ++i) flags[i] = flags[i] || more[i];
  }

  const std::vector<ArrayType>& types_;
  Through through_;
  std::vector<bool> on_;  ///< by ValueId
};

}  // namespace

Mask dependent(const TracedFunction& traced, const Mask& arguments, Through through) {
  const Function& f = traced.function;
  return Dependence(traced, through).block(f.arguments, f.ops, arguments);
}

}  // namespace smalti::lang
