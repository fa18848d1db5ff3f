#include "lang/transform/rules/Support.h"

#include <fmt/format.h>

#include "lang/transform/Dependence.h"
#include "smalti/ops/elementwise.h"

namespace smalti::lang {

void refuseProduct(const OpCall& call) {
  refuse({.code = "SM7102",
          .message = fmt::format("'{}' is not linear in tangents, which reverse mode needs", call.op.shownName()),
          .place = {},
          .need = "a rule for tangents that is linear in them: sums, and products with values that are no tangents",
          .have = fmt::format("{} with a tangent {}", call.op.shownName(),
                              call.op.name == "divide" ? "as divisor" : "on both sides"),
          .help = "correct the rule of the custom_jvp"});
}

Differentiated jvpZero(const OpCall& call, Tangents) { return {{primalOf(call)}, {std::nullopt}}; }

bool isFlatEverywhere(const OpRecord& op) { return op.jvp == &jvpZero; }

Differentiated jvpLinear(const OpCall& call, Tangents tangents) {
  std::vector<Array> t;
  for (size_t i = 0; i < tangents.size(); ++i) t.push_back(instantiated(tangents[i], call.operands[i].type()));
  return {{primalOf(call)}, {bindLike(call, t, call.results[0])[0]}};
}

namespace {

Differentiated linearIn(size_t operand, const OpCall& call, Tangents tangents) {
  MaybeZero t;
  if (tangents[operand]) {
    std::vector<Array> operands(call.operands.begin(), call.operands.end());
    operands[operand] = *tangents[operand];
    t = bindLike(call, operands, call.results[0])[0];
  }
  return {{primalOf(call)}, {t}};
}

}  // namespace

Differentiated jvpLinearInFirst(const OpCall& call, Tangents t) { return linearIn(0, call, t); }
Differentiated jvpLinearInSecond(const OpCall& call, Tangents t) { return linearIn(1, call, t); }

std::vector<Array> spreadAll(std::span<const Array> operands, const Mask& isBatched, int64_t size) {
  std::vector<Array> all;
  for (size_t i = 0; i < operands.size(); ++i) all.push_back(isBatched[i] ? operands[i] : spread(operands[i], size));
  return all;
}

std::vector<Array> batchElementwise(const OpCall& call, const Mask& isBatched, int64_t size) {
  return bindLike(call, spreadAll(call.operands, isBatched, size), batchedType(call.results[0], size));
}

}  // namespace smalti::lang
