// Evaluators of the language's own ops, one table per family; Rules.cpp lists them.
#pragma once

#include "lang/eager/Eager.h"

namespace smalti::lang {

/// Runs `compute` into a new result; it gives false for dtypes it does not know.
template <class F>
plain::PlainResults into(plain::PlainCall& call, F&& compute) {
  auto result = Array::allocate(call.results[0]);
  if (!result) return fail(std::move(result.error()));
  if (result->elements() > 0 && !compute(plain::out(*result)))
    return fail(plain::noEvaluation(call, call.operands[0].dtype()));
  return plain::one(std::move(*result));
}

std::span<const plain::EvaluatorRow> mathEvaluators();
std::span<const plain::EvaluatorRow> reduceEvaluators();
std::span<const plain::EvaluatorRow> tpuEvaluators();

}  // namespace smalti::lang
