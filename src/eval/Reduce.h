// Reductions: narrow floats accumulate in f32 and round once; NaN propagates through max and min (S-E7).
#pragma once

#include <optional>
#include <string_view>

#include "eval/Tensor.h"

namespace smalti::eval {

enum class ReduceKind { add, mul, maximumf, minimumf, maxsi, minsi, maxui, minui, andi, ori, xori };
/// From vector.kind's spelling ("add", "maximumf", …).
std::optional<ReduceKind> reduceKindFromName(std::string_view);

/// out = combine(acc, reduce(in over dims)); `out.shape` is in's without `dims`. acc may be a splat.
/// Returns false when the kind does not exist for the dtype.
bool multiReduce(ReduceKind, Input in, Dims dims, Input acc, Output out);

/// First NaN, else first extreme value, along `axis` (S-E13); `out` is i32 or i16.
bool reduceIndex(bool isMax, Input in, int axis, Output out);

}  // namespace smalti::eval
