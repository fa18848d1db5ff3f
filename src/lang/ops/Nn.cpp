#include "smalti/ops/nn.h"

#include <cmath>
#include <numbers>

#include "lang/ops/Support.h"
#include "lang/transform/Custom.h"
#include "smalti/ops/create.h"
#include "smalti/ops/shape.h"

namespace smalti {

using lang::SourceLocationScope;

namespace {

Array toFloat(const Operand& x) { return is_float(x.dtype()) ? x.array() : lang::convertTo(x.array(), DType::f32); }

}  // namespace

Array relu(const Operand& x) {
  SourceLocationScope place(x.at());
  return lang::withSlope(
      x, [](const Array& a) { return maximum(a, 0); },
      [](const Array& t, const Array& a, const Array&) { return where(a > 0, t, zeros_like(t)); });
}
Array relu6(const Operand& x) {
  SourceLocationScope place(x.at());
  return lang::withSlope(
      x, [](const Array& a) { return minimum(maximum(a, 0), 6); },
      [](const Array& t, const Array& a, const Array&) { return where(logical_and(a > 0, a < 6), t, zeros_like(t)); });
}
Array leaky_relu(const Operand& x, double negative_slope) {
  SourceLocationScope place(x.at());
  return where(greater_equal(x, 0), x, multiply(x, negative_slope));
}
Array silu(const Operand& x) {
  SourceLocationScope place(x.at());
  return multiply(x, logistic(x));
}

Array gelu(const Operand& x, bool approximate) {
  SourceLocationScope place(x.at());
  const Array a = toFloat(x);
  if (!approximate) return 0.5 * a * (1.0 + erf(a * std::numbers::sqrt2 / 2));
  const Array cdf = 0.5 * (1.0 + tanh(std::sqrt(2 / std::numbers::pi) * (a + 0.044715 * integer_pow(a, 3))));
  return a * cdf;
}

Array softplus(const Operand& x) {
  SourceLocationScope place(x.at());
  return lang::withSlope(
      toFloat(x), [](const Array& a) -> Array { return maximum(a, 0) + log1p(exp(-abs(a))); },
      [](const Array& t, const Array& a, const Array&) { return t * logistic(a); });
}

Array logsumexp(const Operand& x, Axes axes) {
  SourceLocationScope place(x.at());
  const Array a = toFloat(x);
  const Array top = lang::maximumOrLowest(a, axes.axes);
  const Array shift = where(is_finite(top), top, 0);
  const Array total = sum(exp(a - shift), axes);
  return log(total) + lang::reshapeTo(shift, total.shape());
}

Array log_softmax(const Operand& x, int64_t axis) {
  SourceLocationScope place(x.at());
  const Array a = toFloat(x);
  const Array shifted = a - lang::maximumOrLowest(a, {axis});
  return shifted - log(sum(exp(shifted), Axes{{axis}, true}));
}

}  // namespace smalti
