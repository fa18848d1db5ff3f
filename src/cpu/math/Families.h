// The functions by family: each makes the code of one, from operands of f32 lanes. The code expects the default
// rounding mode and IEEE denormals.
#pragma once

#include <limits>
#include <span>
#include <string_view>

#include "cpu/math/Lanes.h"
#include "smalti/tolerance.h"

namespace smalti::cpu {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                       kNan = std::numeric_limits<float>::quiet_NaN();

struct UnaryFunction {
  std::string_view name;
  Lanes (*emit)(Lanes);
};
struct BinaryFunction {
  std::string_view name;
  Lanes (*emit)(Lanes, Lanes);
};
/// The code of a function whose results may be less exact.
struct Approximation {
  std::string_view name;
  Lanes (*emit)(Lanes, Tolerance);
};

std::span<const UnaryFunction> exponentials();
std::span<const Approximation> approximateExponentials();
std::span<const UnaryFunction> logarithms();
std::span<const UnaryFunction> circular();
std::span<const UnaryFunction> inverseCircular();
std::span<const UnaryFunction> hyperbolic();
std::span<const UnaryFunction> errorFunctions();
std::span<const UnaryFunction> roots();
std::span<const BinaryFunction> binaryFunctions();

/// The angle of (x, y).
Lanes atan2(Lanes y, Lanes x);
Lanes power(Lanes x, Lanes y);

}  // namespace smalti::cpu
