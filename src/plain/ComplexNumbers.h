// Products of complex numbers as XLA has them: without C's care for infinities.
#pragma once

#include <complex>

namespace smalti::plain {

inline double product(double x, double y) { return x * y; }
template <class Real>
std::complex<Real> product(std::complex<Real> x, std::complex<Real> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

}  // namespace smalti::plain
