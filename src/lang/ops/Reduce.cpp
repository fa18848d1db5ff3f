// Reductions: what jax.numpy promotes and composes; one op of the language per kind, which drops the axes.
#include "smalti/ops/reduce.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "lang/ops/Support.h"
#include "smalti/ops/create.h"
#include "smalti/ops/elementwise.h"
#include "smalti/ops/shape.h"

namespace smalti {

using lang::AtPlace;

namespace {

std::vector<int64_t> resolve(std::string_view op, const Operand& x, const Axes& axes) {
  std::vector<int64_t> resolved;
  for (const int64_t a : axes.axes) resolved.push_back(lang::checkedAxis(op, a, x.rank()));
  if (resolved.empty()) {
    resolved.resize(x.rank());
    std::iota(resolved.begin(), resolved.end(), 0);
  }
  std::sort(resolved.begin(), resolved.end());
  if (std::adjacent_find(resolved.begin(), resolved.end()) != resolved.end())
    lang::refuse({.code = "SM6305",
                  .message = fmt::format("'{}' names an axis twice", op),
                  .place = {},
                  .need = "different axes",
                  .have = fmt::format("axis {} twice", *std::adjacent_find(resolved.begin(), resolved.end())),
                  .help = "name each axis once"});
  return resolved;
}

Shape without(const Shape& shape, const std::vector<int64_t>& axes, bool keepAsOne) {
  Shape rest;
  for (size_t a = 0; a < shape.size(); ++a) {
    const bool gone = std::find(axes.begin(), axes.end(), static_cast<int64_t>(a)) != axes.end();
    if (!gone || keepAsOne) rest.push_back(gone ? 1 : shape[a]);
  }
  return rest;
}

Array reduce(std::string_view op, const Array& x, const std::vector<int64_t>& axes, bool keepdims) {
  if (axes.empty()) return x;
  const Array reduced = lang::bind1(op, {x}, {x.dtype(), without(x.shape(), axes, false)}, {{"axes", axes}});
  return (keepdims ? lang::reshapeTo(reduced, without(x.shape(), axes, true)) : reduced).with_weak_type(x.weak_type());
}

/// What sums and products are computed in: narrow floats in f32, narrow integers and pred in 32 bits.
DType accumulatorOf(DType t) {
  if (is_float(t)) return bit_width(t) < 32 ? DType::f32 : t;
  if (t == DType::pred) return DType::i32;
  return bit_width(t) >= 32 ? t : is_unsigned_integer(t) ? DType::u32 : DType::i32;
}

Array accumulate(std::string_view op, const Operand& x, const Axes& axes) {
  AtPlace place(x.at());
  const DType wide = accumulatorOf(x.dtype());
  const Array result = reduce(op, lang::convertTo(x.array(), wide), resolve(op, x, axes), axes.keepdims);
  return is_float(x.dtype()) ? lang::convertTo(result, x.dtype()) : result;
}

Array extreme(std::string_view op, const Operand& x, const Axes& axes) {
  AtPlace place(x.at());
  const auto resolved = resolve(op, x, axes);
  for (const int64_t a : resolved)
    if (x.shape()[a] == 0)
      lang::refuse({.code = "SM6307",
                    .message = fmt::format("'{}' of no elements", op),
                    .place = {},
                    .need = "an axis of size 1 or more",
                    .have = fmt::format("axis {} of size 0", a),
                    .help = "a maximum or minimum of nothing has no value"});
  if (x.dtype() == DType::pred)
    return reduce(op == "reduce_max" ? "reduce_or" : "reduce_and", x.array(), resolved, axes.keepdims);
  // Formats below 16 bits widen and narrow exactly.
  const bool narrow = is_float(x.dtype()) && bit_width(x.dtype()) < 16;
  const Array wide = narrow ? lang::convertTo(x.array(), DType::f32) : x.array();
  return lang::convertTo(reduce(op, wide, resolved, axes.keepdims), x.dtype());
}

Array logical(std::string_view op, const Operand& x, const Axes& axes) {
  AtPlace place(x.at());
  const Array pred = x.dtype() == DType::pred ? x.array() : not_equal(x, 0);
  return reduce(op, pred, resolve(op, x, axes), axes.keepdims);
}

Array indexOfExtreme(std::string_view op, const Operand& x, int64_t axis) {
  AtPlace place(x.at());
  axis = lang::checkedAxis(op, axis, x.rank());
  if (x.shape()[axis] == 0)
    lang::refuse({.code = "SM6307",
                  .message = fmt::format("'{}' of no elements", op),
                  .place = {},
                  .need = "an axis of size 1 or more",
                  .have = "size 0",
                  .help = "a maximum or minimum of nothing has no index"});
  Array a = x.array();
  if (a.dtype() == DType::pred) a = lang::convertTo(a, DType::i32);
  if (is_float(a.dtype()) && a.dtype() != DType::bf16 && bit_width(a.dtype()) < 32) a = lang::convertTo(a, DType::f32);
  return lang::bind1(op, {a}, {DType::i32, without(a.shape(), {axis}, false)}, {{"axis", axis}});
}

int64_t countOf(const Operand& x, const Axes& axes) {
  int64_t n = 1;
  for (const int64_t a : resolve("mean", x, axes)) n *= x.shape()[a];
  return n;
}

/// The mean, not yet narrowed.
Array wideMean(const Operand& x, const Axes& axes) {
  const DType t = is_float(x.dtype()) ? accumulatorOf(x.dtype()) : DType::f32;
  const Array total = reduce("reduce_sum", lang::convertTo(x.array(), t), resolve("mean", x, axes), axes.keepdims);
  return divide(total, static_cast<double>(countOf(x, axes)));
}
DType floatOf(DType t) { return is_float(t) ? t : DType::f32; }

}  // namespace

Array sum(const Operand& x, Axes axes) { return accumulate("reduce_sum", x, axes); }
Array prod(const Operand& x, Axes axes) { return accumulate("reduce_prod", x, axes); }
Array max(const Operand& x, Axes axes) { return extreme("reduce_max", x, axes); }
Array min(const Operand& x, Axes axes) { return extreme("reduce_min", x, axes); }
Array any(const Operand& x, Axes axes) { return logical("reduce_or", x, axes); }
Array all(const Operand& x, Axes axes) { return logical("reduce_and", x, axes); }
Array argmax(const Operand& x, int64_t axis) { return indexOfExtreme("argmax", x, axis); }
Array argmin(const Operand& x, int64_t axis) { return indexOfExtreme("argmin", x, axis); }

Array mean(const Operand& x, Axes axes) {
  AtPlace place(x.at());
  return lang::convertTo(wideMean(x, axes), floatOf(x.dtype()));
}

Array var(const Operand& x, Axes axes) {
  AtPlace place(x.at());
  const Array wide = lang::convertTo(x.array(), accumulatorOf(floatOf(x.dtype())));
  const Array centred = subtract(wide, wideMean(wide, {axes.axes, true}));
  return lang::convertTo(wideMean(square(centred), axes), floatOf(x.dtype()));
}

Array softmax(const Operand& x, int64_t axis) {
  AtPlace place(x.at());
  const Array floats = lang::convertTo(x.array(), floatOf(x.dtype()));
  const Array e = exp(subtract(floats, max(floats, Axes{{axis}, true})));
  return divide(e, sum(e, Axes{{axis}, true}));
}

}  // namespace smalti
