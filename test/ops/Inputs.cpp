#include <cmath>
#include <limits>

#include "Cases.h"

namespace smalti::ops::test {
namespace {

template <class F>
Array filled(Shape shape, DType t, F&& element) {
  std::vector<float> v(num_elements(shape));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(element(i));
  return astype(array(v, std::move(shape)), t);
}

}  // namespace

Array numbers(Shape shape, DType t, int seed) {
  const double scale = is_float(t) ? 8 : bit_width(t) >= 8 ? 1 : 16;
  const double shift = is_unsigned_integer(t) ? 0 : 50;
  return filled(std::move(shape), t, [&](size_t i) {
    const double x = static_cast<double>((i * 7919 + seed * 31 + 3) % 101);
    return t == DType::pred ? static_cast<double>(static_cast<int>(x) % 2) : (x - shift) / scale;
  });
}

Array special(Shape shape, DType t, int seed) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (is_float(t)) {
    const double values[] = {std::nan(""), kInfinity, -kInfinity, 0.0, -0.0, 1.5, -2.5, 0.5, 1e-3, -70, 3e38, 7};
    return filled(std::move(shape), t, [&](size_t i) { return values[(i + seed * 5 + i * seed) % 12]; });
  }
  const int bits = bit_width(t);
  const double low = is_unsigned_integer(t) ? 0 : -std::ldexp(1.0, bits - 1);
  const double high = std::ldexp(1.0, is_unsigned_integer(t) ? bits : bits - 1) - 1;
  const double values[] = {low, high, 0, 1, 3, 2, 5, low, high, 7};
  return filled(std::move(shape), t, [&](size_t i) { return values[(i + seed * 3 + i * seed) % 10]; });
}

Array fractions(Shape shape, DType t) {
  return filled(std::move(shape), t, [](size_t i) { return (static_cast<double>(i * 7919 % 97) + 1) / 99; });
}

}  // namespace smalti::ops::test
