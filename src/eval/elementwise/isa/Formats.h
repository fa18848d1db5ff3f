// Narrow floats to f32 and back, without branches, so that loops over them vectorise.
#pragma once

#include <cstdint>

#include "eval/elementwise/isa/Isa.h"

namespace smalti::eval::SMALTI_ISA {

inline uint32_t bitsOf(float f) { return __builtin_bit_cast(uint32_t, f); }
inline float floatOf(uint32_t u) { return __builtin_bit_cast(float, u); }

/// 2^e, for e of a normal f32.
constexpr float powerOfTwo(int e) { return __builtin_bit_cast(float, static_cast<uint32_t>(e + 127) << 23); }

/// What the codes above the largest finite value mean.
enum class Specials {
  ieee,     ///< largest exponent: infinity and NaNs
  nanOnly,  ///< "fn": one NaN of each sign, no infinity
  fnuz,     ///< "fnuz": -0's code is the only NaN, no infinity
  finite,   ///< neither: saturates; NaN becomes -0, as JAX does
};

/// A sign bit, `E` exponent bits and `M` mantissa bits.
template <int E, int M, int Bias, Specials S, class W>
struct Format {
  using Word = W;
  static constexpr uint32_t kSign = 1u << (E + M);
  static constexpr uint32_t kMagnitude = kSign - 1;
  static constexpr uint32_t kInfinity = ((1u << E) - 1) << M;  // ieee only
  static constexpr uint32_t kLargest = S == Specials::ieee ? kInfinity - 1 : kMagnitude - (S == Specials::nanOnly);
  static constexpr int kShift = 23 - M;
  static constexpr uint32_t kRebias = static_cast<uint32_t>(127 - Bias) << 23;
  static constexpr uint32_t kQuietNan = 0x7fc00000;

  static float load(Word w) {
    const uint32_t sign = static_cast<uint32_t>(w & kSign) << (31 - E - M);
    const uint32_t magnitude = w & kMagnitude;
    const float denormal = static_cast<float>(static_cast<int32_t>(magnitude)) * powerOfTwo(1 - Bias - M);
    uint32_t u = magnitude < (1u << M) ? bitsOf(denormal) : (magnitude << kShift) + kRebias;
    if constexpr (S == Specials::ieee) {
      u = magnitude >= kInfinity ? 0x7f800000 | (magnitude << kShift) : u;
      u = magnitude > kInfinity ? u | kQuietNan : u;
    }
    if constexpr (S == Specials::nanOnly) u = magnitude == kMagnitude ? kQuietNan : u;
    if constexpr (S == Specials::fnuz) u = (w & (kSign | kMagnitude)) == kSign ? kQuietNan : u;
    return floatOf(u | sign);
  }

  static Word store(float f) {
    const uint32_t sign = (bitsOf(f) >> 31) << (E + M);
    const uint32_t u = bitsOf(f) & 0x7fffffff;
    const uint32_t rounding = (1u << (kShift - 1)) - 1 + ((u >> kShift) & 1);
    const uint32_t normal = (u - kRebias + rounding) >> kShift;
    // Adding a number whose last place is the smallest denormal lets the hardware round.
    constexpr float kAligner = powerOfTwo(24 - Bias - M);
    const uint32_t denormal = bitsOf(floatOf(u) + kAligner) - bitsOf(kAligner);
    constexpr uint32_t kSmallestNormal = static_cast<uint32_t>(128 - Bias) << 23;
    uint32_t code = u < kSmallestNormal ? denormal : normal;
    const bool isNan = u > 0x7f800000;
    if constexpr (S == Specials::ieee) {
      const uint32_t nan = kInfinity | (1u << (M - 1)) | ((u >> kShift) & ((1u << M) - 1));
      code = isNan ? nan : code > kLargest ? kInfinity : code;
      return static_cast<Word>(code | sign);
    } else if constexpr (S == Specials::nanOnly) {
      code = code > kLargest ? kMagnitude : code;
      return static_cast<Word>(code | sign);
    } else if constexpr (S == Specials::fnuz) {
      const uint32_t signedCode = code == 0 ? 0 : code | sign;
      return static_cast<Word>(code > kLargest ? kSign : signedCode);
    } else {
      code = code > kLargest ? kLargest : code;
      return static_cast<Word>(isNan ? kSign : code | sign);
    }
  }
};

using F16 = Format<5, 10, 15, Specials::ieee, uint16_t>;
using F8e5m2 = Format<5, 2, 15, Specials::ieee, uint8_t>;
using F8e4m3fn = Format<4, 3, 7, Specials::nanOnly, uint8_t>;
using F8e4m3b11fnuz = Format<4, 3, 11, Specials::fnuz, uint8_t>;
using F4e2m1fn = Format<2, 1, 1, Specials::finite, uint8_t>;

/// A power of two without a sign: no zero and no infinity. What is negative, zero or too large is NaN, as in XLA.
struct F8e8m0fnu {
  using Word = uint8_t;
  static constexpr uint32_t kNan = 0xff;
  static float load(Word w) {
    const uint32_t normal = static_cast<uint32_t>(w) << 23;
    return floatOf(w == kNan ? 0x7fc00000 : w == 0 ? 0x00400000 : normal);
  }
  /// To the nearest power of two; halfway to the larger one.
  static Word store(float f) {
    const uint32_t u = bitsOf(f);
    const uint32_t denormal = u >= 0x00600000;  // below 2^-126: 2^-127 is the smallest, 1.5 times it rounds up
    const uint32_t code = u < 0x00800000 ? denormal : (u + 0x00400000) >> 23;
    return static_cast<Word>(u == 0 || u >= 0x7f400000 ? kNan : code);
  }
};

struct Bf16 {
  using Word = uint16_t;
  static float load(Word w) { return floatOf(static_cast<uint32_t>(w) << 16); }
  static Word store(float f) {
    const uint32_t u = bitsOf(f);
    const uint32_t rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    return static_cast<Word>((u & 0x7fffffff) > 0x7f800000 ? (u >> 16) | 0x40 : rounded);
  }
};

struct F32 {
  using Word = float;
  static float load(Word w) { return w; }
  static Word store(float f) { return f; }
};

}  // namespace smalti::eval::SMALTI_ISA
