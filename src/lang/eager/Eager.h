// Ops outside traces: computed now, by the functions that every target uses.
#pragma once

#include "lang/trace/Tracer.h"

namespace smalti::lang {

/// Runs one op on concrete arrays, whatever tracer is in force. Error SM6106 for an op that exists in kernels only.
std::vector<Array> computeNow(const OpRecord&, std::span<const Array> operands, std::span<const ArrayType> results,
                              Attributes);

/// An evaluator's frame: runs `compute` into a new result; it gives false for dtypes it does not know.
template <class F>
plain::PlainResults into(plain::PlainCall& call, F&& compute) {
  auto result = Array::allocate(call.results[0]);
  if (!result) return fail(std::move(result.error()));
  if (result->elements() > 0 && !compute(plain::out(*result)))
    return fail(plain::noEvaluation(call, call.operands[0].dtype()));
  return plain::one(std::move(*result));
}

}  // namespace smalti::lang
