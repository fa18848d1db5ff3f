// Arithmetic on i32 scalars and conditions that may be known while tracing: what is known is not recorded.
#pragma once

#include <functional>

#include "lang/trace/Trace.h"

namespace smalti::lang {

Array constantI32(int64_t);
Array condition(bool);
Array plus(const Array&, int64_t);
Array minus(const Array&, const Array&);
Array times(const Array&, const Array&);
/// i mod n, for i >= 0.
Array modulo(const Array&, int64_t n);
Array isEqual(const Array&, const Array&);
Array isDifferent(const Array&, const Array&);
Array isLess(const Array&, const Array&);
Array logicalAnd(const Array&, const Array&);
Array logicalOr(const Array&, const Array&);
Array selectValue(const Array& condition, const Array& yes, const Array& no);
/// `body` under a condition.
void whenTrue(const Array& condition, const Location& at, const std::function<void()>& body);

}  // namespace smalti::lang
