#include "eval/reduce/Reduce64.h"

#include <algorithm>
#include <cmath>

namespace smalti::eval {
namespace {

double extreme(double a, double b, bool isMax) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == b) return std::signbit(a) == isMax ? b : a;
  return (a > b) == isMax ? a : b;
}

template <class T, class Op>
void reduce(const Input& in, const ReduceLayout& layout, const Input& acc, const Output& out, Op op) {
  const T* values = reinterpret_cast<const T*>(in.data);
  const T* accs = reinterpret_cast<const T*>(acc.data);
  T* results = reinterpret_cast<T*>(out.data);
  Odometer<1> kept(layout.kept, {Dims(layout.keptStrides)});
  for (int64_t i = 0, n = out.elements(); i < n; ++i, kept.next()) {
    results[i] = accs[acc.splat ? 0 : i];
    if (productOf(layout.reduced) == 0) continue;
    Odometer<1> along(layout.reduced, {Dims(layout.reducedStrides)});
    T sum = values[in.splat ? 0 : kept.offset(0)];
    while (along.next()) sum = op(sum, values[in.splat ? 0 : kept.offset(0) + along.offset(0)]);
    results[i] = op(sum, results[i]);
  }
}

}  // namespace

bool reduce64(ReduceKind kind, const Input& in, const ReduceLayout& layout, const Input& acc, const Output& out) {
  if (acc.dtype != in.dtype || out.dtype != in.dtype) return false;
  using U = uint64_t;
  using S = int64_t;
  auto floats = [&](auto op) { return reduce<double>(in, layout, acc, out, op), true; };
  auto words = [&](auto op) { return reduce<U>(in, layout, acc, out, op), true; };
  if (is_float(in.dtype)) switch (kind) {
      case ReduceKind::add:
        return floats([](double a, double b) { return a + b; });
      case ReduceKind::mul:
        return floats([](double a, double b) { return a * b; });
      case ReduceKind::maximumf:
        return floats([](double a, double b) { return extreme(a, b, true); });
      case ReduceKind::minimumf:
        return floats([](double a, double b) { return extreme(a, b, false); });
      default:
        return false;
    }
  switch (kind) {
    case ReduceKind::add:
      return words([](U a, U b) { return a + b; });
    case ReduceKind::mul:
      return words([](U a, U b) { return a * b; });
    case ReduceKind::maxsi:
      return words([](U a, U b) { return static_cast<U>(std::max<S>(a, b)); });
    case ReduceKind::minsi:
      return words([](U a, U b) { return static_cast<U>(std::min<S>(a, b)); });
    case ReduceKind::maxui:
      return words([](U a, U b) { return std::max(a, b); });
    case ReduceKind::minui:
      return words([](U a, U b) { return std::min(a, b); });
    case ReduceKind::andi:
      return words([](U a, U b) { return a & b; });
    case ReduceKind::ori:
      return words([](U a, U b) { return a | b; });
    case ReduceKind::xori:
      return words([](U a, U b) { return a ^ b; });
    default:
      return false;
  }
}

}  // namespace smalti::eval
