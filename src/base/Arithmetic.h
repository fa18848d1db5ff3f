// Integer arithmetic that sizes and layouts need.
#pragma once

namespace smalti {

/// ⌈a / b⌉ for a ≥ 0 and b > 0.
template <class A, class B>
constexpr auto ceilDiv(A a, B b) {
  return (a + b - 1) / b;
}
/// The smallest multiple of b that is not below a, for a ≥ 0 and b > 0.
template <class A, class B>
constexpr auto roundUp(A a, B b) {
  return ceilDiv(a, b) * b;
}

}  // namespace smalti
