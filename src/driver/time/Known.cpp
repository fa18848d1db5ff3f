#include "driver/time/Known.h"

#include <algorithm>
#include <functional>
#include <set>

#include "plain/PlainEvaluators.h"

namespace smalti::driver {
namespace {

using Results = std::optional<std::vector<Array>>;

/// Larger values decide about no grid.
constexpr int64_t kMaxBytes = int64_t{1} << 22;
constexpr int64_t kMaxKnownRounds = 100'000;

class Evaluation {
 public:
  Evaluation(const Program& program, const Function& f, KnownValues& known)
      : program_(program), function_(f), known_(known) {}

  Results evaluate(const Op& op) {
    std::vector<Array> operands;
    for (const ValueId v : op.operands) {
      if (!of(v)) return std::nullopt;
      operands.push_back(*of(v));
    }
    if (op.name == "while") return loop(op, std::move(operands));
    if (op.name == "case" || op.name == "if") return branch(op, operands[0]);
    if (op.name == "call") return call(op, operands);
    return plain(op, std::move(operands));
  }

 private:
  std::optional<Array>& of(ValueId v) { return known_[static_cast<size_t>(v)]; }

  Results run(const std::vector<Op>& ops) {
    for (const Op& op : ops) {
      if (op.name == "return") {
        std::vector<Array> out;
        for (const ValueId v : op.operands) {
          if (!of(v)) return std::nullopt;
          out.push_back(*of(v));
        }
        return out;
      }
      auto results = evaluate(op);
      if (!results) return std::nullopt;
      for (size_t i = 0; i < op.results.size(); ++i) of(op.results[i]) = (*results)[i];
    }
    return std::nullopt;
  }

  Results block(const Block& block, const std::vector<Array>& arguments) {
    for (size_t i = 0; i < block.arguments.size(); ++i) of(block.arguments[i]) = arguments[i];
    return run(block.ops);
  }

  Results loop(const Op& op, std::vector<Array> carried) {
    for (int64_t round = 0; round < kMaxKnownRounds; ++round) {
      const Results condition = block(op.regions[0], carried);
      if (!condition) return std::nullopt;
      if (*(*condition)[0].as<uint8_t>() == 0) return carried;
      Results next = block(op.regions[1], carried);
      if (!next) return std::nullopt;
      carried = std::move(*next);
    }
    return std::nullopt;
  }

  Results branch(const Op& op, const Array& index) { return block(op.regions[chosenBranch(op, index)], {}); }

  Results call(const Op& op, const std::vector<Array>& operands) {
    const Function* callee = program_.find(op.callee);
    KnownValues inner(callee->values.size());
    for (size_t i = 0; i < operands.size(); ++i) inner[static_cast<size_t>(callee->arguments[i])] = operands[i];
    return Evaluation(program_, *callee, inner).run(callee->ops);
  }

  /// Whether the values that the op's regions take from outside are known. Those of the regions themselves are not yet.
  bool knowsOuterValues(const Op& op) {
    std::set<ValueId> inside;
    const std::function<bool(const Op&)> known = [&](const Op& o) {
      inside.insert(o.results.begin(), o.results.end());
      return std::ranges::all_of(o.regions, [&](const Block& region) {
        inside.insert(region.arguments.begin(), region.arguments.end());
        return std::ranges::all_of(region.ops, [&](const Op& each) {
          return std::ranges::all_of(each.operands, [&](ValueId v) { return inside.contains(v) || of(v); }) &&
                 known(each);
        });
      });
    };
    return known(op);
  }

  Results plain(const Op& op, std::vector<Array> operands) {
    if (!knowsOuterValues(op)) return std::nullopt;
    std::vector<ArrayType> types;
    for (const ValueId v : op.results) {
      types.push_back(function_.values[static_cast<size_t>(v)]);
      if (types.back().bytes() > kMaxBytes) return std::nullopt;
    }
    const plain::PlainEvaluator evaluator = plain::findEvaluator(op.name);
    if (!evaluator) return std::nullopt;
    plain::PlainCall call{.op = op,
                          .function = function_,
                          .operands = operands,
                          .results = types,
                          .outer = [this](ValueId v) -> const Array& { return *of(v); },
                          .program = &program_};
    auto results = evaluator(call);
    if (!results) return std::nullopt;
    return std::move(*results);
  }

  const Program& program_;
  const Function& function_;
  KnownValues& known_;
};

}  // namespace

size_t chosenBranch(const Op& op, const Array& index) {
  const auto branches = static_cast<int64_t>(op.regions.size());
  int64_t chosen = op.name == "if" ? (*index.as<uint8_t>() != 0 ? 0 : 1) : *index.as<int32_t>();
  if (chosen < 0 || chosen >= branches) chosen = branches - 1;
  return static_cast<size_t>(chosen);
}

Results evaluateKnown(const Program& program, const Function& f, const Op& op, KnownValues& known) {
  return Evaluation(program, f, known).evaluate(op);
}

}  // namespace smalti::driver
