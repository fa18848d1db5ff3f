// Integer layouts as codecs: loading gives an element's bits, zero-extended; storing cuts to the width.
#pragma once

#include <cstdint>

#include "eval/elementwise/isa/Isa.h"

namespace smalti::eval::SMALTI_ISA {

/// `Bits` wide, in words of U; `Wide` is a word in which products do not overflow as `int`.
template <int Bits, bool Signed, class U_, class S_, class Wide_>
struct Integer {
  using U = U_;
  using S = S_;
  using Wide = Wide_;
  using Word = U;
  static constexpr int kBits = Bits;
  static constexpr int kPadding = static_cast<int>(8 * sizeof(U)) - Bits;
  static constexpr U kOnes = static_cast<U>(~U{0}) >> kPadding;
  static constexpr U kMinimum = U{1} << (Bits - 1);

  /// The value that the low bits have as a signed number.
  static S extended(U bits) { return static_cast<S>(static_cast<S>(bits << kPadding) >> kPadding); }
  static U load(Word w) { return w & kOnes; }
  static Word store(U bits) { return Signed && kPadding ? static_cast<U>(extended(bits)) : bits & kOnes; }
};

using IntPred = Integer<1, false, uint8_t, int8_t, uint32_t>;
using IntI2 = Integer<2, true, uint8_t, int8_t, uint32_t>;
using IntU2 = Integer<2, false, uint8_t, int8_t, uint32_t>;
using IntI4 = Integer<4, true, uint8_t, int8_t, uint32_t>;
using IntU4 = Integer<4, false, uint8_t, int8_t, uint32_t>;
using IntW8 = Integer<8, false, uint8_t, int8_t, uint32_t>;
using IntW16 = Integer<16, false, uint16_t, int16_t, uint32_t>;
using IntW32 = Integer<32, false, uint32_t, int32_t, uint32_t>;
using IntW64 = Integer<64, false, uint64_t, int64_t, uint64_t>;

}  // namespace smalti::eval::SMALTI_ISA
