// Ops outside kernels: computed now, by the functions that every target uses.
#pragma once

#include "lang/trace/Trace.h"
#include "plain/PlainEvaluators.h"

namespace smalti::lang {

/// Runs one op on concrete arrays. Error SM6106 for an op that exists in kernels only.
std::vector<Array> computeNow(std::string_view name, std::span<const Array> operands,
                              std::span<const ArrayType> results, Attributes);

/// Evaluators of ops that plain StableHLO does not have ("reduce_sum", "argmax", …); one table per family in eager/.
plain::PlainEvaluator findLanguageEvaluator(std::string_view op);

}  // namespace smalti::lang
