// Shared by the forward and backward kernels of attention: the weights of keys, as powers of 2.
#pragma once

#include <limits>

#include "smalti/smalti.h"

namespace smalti::kernels {

/// Powers of 2 are cheaper than of e.
inline constexpr float kLog2E = 1.44269504f;
/// The score of a key that a query does not see.
inline constexpr float kMasked = -std::numeric_limits<float>::infinity();
/// Powers of 2 less than this are negligible compared with the row's largest, 1. None is denormal: that stops some
/// processors.
inline constexpr float kNegligible = -100;

/// The power of 2 of each exponent, f32 and at most about 0; those that are negligible become 0 if `masks`, since
/// masked keys weigh 0, and otherwise 2^kNegligible, which is cheaper. On GPUs, whose instruction takes any exponent,
/// they may stay as they are.
inline Array weights_of(const Array& exponents, bool masks) {
  return exp2(where(exponents < kNegligible, masks ? kMasked : kNegligible, exponents), {.atol = 0x1p-100});
}

}  // namespace smalti::kernels
