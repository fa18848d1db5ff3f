// Reductions of 64-bit elements: simple, since they are rare (TPUs do not have them).
#pragma once

#include "eval/Reduce.h"
#include "eval/reduce/Layout.h"

namespace smalti::eval {

bool reduce64(ReduceKind kind, const Input& in, const ReduceLayout& layout, const Input& acc, const Output& out);

}  // namespace smalti::eval
