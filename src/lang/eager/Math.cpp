// Element-wise ops that kernels have and StableHLO has not.
#include <array>

#include "eval/Elementwise.h"
#include "lang/eager/Rules.h"

namespace smalti::lang {
namespace {

plain::PlainResults exp2(plain::PlainCall& call) {
  const auto kernel = eval::findUnary("math.exp2", call.results[0].dtype);
  if (!kernel) return fail(plain::noEvaluation(call, call.results[0].dtype));
  auto result = plain::resultArray(call, 0, true);
  if (!result) return fail(std::move(result.error()));
  kernel(call.operands[0].data(), result->data(), result->elements());
  return plain::one(std::move(*result));
}

constexpr std::array kMathEvaluators{plain::EvaluatorRow{"exp2", exp2}};

}  // namespace

std::span<const plain::EvaluatorRow> mathEvaluators() { return kMathEvaluators; }

}  // namespace smalti::lang
