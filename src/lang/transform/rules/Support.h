// Building blocks of transformation rules.
#pragma once

#include "lang/ops/Support.h"
#include "lang/trace/Tracer.h"
#include "lang/transform/Batch.h"
#include "lang/transform/Jvp.h"
#include "smalti/ops/elementwise.h"

namespace smalti::lang {

using Tangents = std::span<const MaybeZero>;

/// The op as it was called, on other operands.
inline std::vector<Array> bindLike(const OpCall& call, std::span<const Array> operands, ArrayType result) {
  return bind(call.op, operands, {&result, 1}, call.attributes);
}
inline Array primalOf(const OpCall& call) { return bindLike(call, call.operands, call.results[0])[0]; }

// --- derivatives of one operand: from the tangent, the operand and the result ---
using Slope = Array (*)(const Array& tangent, const Array& x, const Array& y);
template <Slope slope>
Differentiated jvpUnary(const OpCall& call, Tangents tangents) {
  const Array y = primalOf(call);
  return {{y}, {tangents[0] ? MaybeZero(slope(*tangents[0], call.operands[0], y)) : std::nullopt}};
}

/// The slope of an op of two operands of one type.
using Slope2 = Array (*)(const Array& tangent, const Array& a, const Array& b, const Array& y);
template <Slope2 first, Slope2 second>
Differentiated jvpBinary(const OpCall& call, Tangents tangents) {
  const Array &a = call.operands[0], &b = call.operands[1], y = primalOf(call);
  MaybeZero t;
  if (tangents[0]) t = first(*tangents[0], a, b, y);
  if (tangents[1]) {
    const Array s = second(*tangents[1], a, b, y);
    t = t ? MaybeZero(add(*t, s)) : s;
  }
  return {{y}, {t}};
}

/// Error SM7102 for the transposition of an op that is not linear in its operands together, as a product of tangents
/// is.
[[noreturn]] void refuseProduct(const OpCall&);

/// Piecewise constant: the derivative is zero.
Differentiated jvpZero(const OpCall&, Tangents);
/// Linear in all operands together: the op on the tangents.
Differentiated jvpLinear(const OpCall&, Tangents);
/// Linear in operand 0; the others are integers, or the tangents of the others are nothing.
Differentiated jvpLinearInFirst(const OpCall&, Tangents);
/// The second of two operands; the first one is of integers.
Differentiated jvpLinearInSecond(const OpCall&, Tangents);

/// One element of each operand makes one of the result.
std::vector<Array> batchElementwise(const OpCall&, const Mask& isBatched, int64_t size);
/// Operands batched, those that are not are spread.
std::vector<Array> spreadAll(std::span<const Array> operands, const Mask& isBatched, int64_t size);
inline std::vector<int64_t> shifted(std::vector<int64_t> axes) {
  for (int64_t& a : axes) ++a;
  return axes;
}
/// The op with other attributes.
inline std::vector<Array> bindWith(const OpCall& call, std::span<const Array> operands, ArrayType result,
                                   Attributes attributes) {
  return bind(call.op, operands, {&result, 1}, std::move(attributes));
}

}  // namespace smalti::lang
