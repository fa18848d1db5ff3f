// Fewer bits of exponent and mantissa, on the bit patterns: as XLA computes stablehlo.reduce_precision.
#include <cstdint>
#include <cstring>

#include "eval/Bits.h"

namespace smalti::eval {
namespace {

struct Layout {
  int exponentBits, mantissaBits;
};

/// Rounds to nearest even; exponents that are too large give infinity, too small ones zero. NaN stays.
template <class Word>
Word reduced(Word x, Layout of, int exponentBits, int mantissaBits) {
  const uint64_t one = 1, sign = one << (of.exponentBits + of.mantissaBits);
  const uint64_t infinity = sign - (one << of.mantissaBits);
  if ((x & (sign - 1)) > infinity) return x;
  uint64_t rounded = x;
  if (const int dropped = of.mantissaBits - mantissaBits; dropped > 0) {
    const uint64_t unit = one << dropped;
    rounded = (x + unit / 2 - 1 + (x >> dropped & 1)) & ~(unit - 1);
  }
  if (exponentBits >= of.exponentBits) return static_cast<Word>(rounded);
  const uint64_t bias = (one << (of.exponentBits - 1)) - 1, narrowBias = (one << (exponentBits - 1)) - 1;
  const uint64_t exponent = (rounded & infinity) >> of.mantissaBits;
  if (exponent > bias + narrowBias) return static_cast<Word>((x & sign) | infinity);
  return static_cast<Word>(exponent <= bias - narrowBias ? x & sign : rounded);
}

template <class Word>
void reduceAll(const std::byte* from, std::byte* to, int64_t n, Layout of, int exponentBits, int mantissaBits) {
  for (int64_t i = 0; i < n; ++i) {
    Word x;
    std::memcpy(&x, from + i * static_cast<int64_t>(sizeof x), sizeof x);
    x = reduced(x, of, exponentBits, mantissaBits);
    std::memcpy(to + i * static_cast<int64_t>(sizeof x), &x, sizeof x);
  }
}

}  // namespace

bool reducePrecision(DType t, const std::byte* from, int64_t n, int exponentBits, int mantissaBits, std::byte* to) {
  if (exponentBits < 1 || mantissaBits < 0) return false;
  switch (t) {
    case DType::f64:
      reduceAll<uint64_t>(from, to, n, {11, 52}, exponentBits, mantissaBits);
      return true;
    case DType::f32:
      reduceAll<uint32_t>(from, to, n, {8, 23}, exponentBits, mantissaBits);
      return true;
    case DType::bf16:
      reduceAll<uint16_t>(from, to, n, {8, 7}, exponentBits, mantissaBits);
      return true;
    case DType::f16:
      reduceAll<uint16_t>(from, to, n, {5, 10}, exponentBits, mantissaBits);
      return true;
    default:
      return false;
  }
}

}  // namespace smalti::eval
