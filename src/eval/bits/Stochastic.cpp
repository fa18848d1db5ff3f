// Stochastic rounding: random bits are added below the last kept mantissa bit, then what is below is cut off, so a
// value goes to the farther neighbour with the probability of its distance from the nearer one.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "eval/Bits.h"
#include "eval/bits/Widen.h"

namespace smalti::eval {
namespace {

struct Format {
  int mantissaBits;
  int minExponent;  // of the smallest normal number
};

bool formatOf(DType t, Format& f) {
  switch (t) {
    case DType::bf16:
      f = {7, -126};
      return true;
    case DType::f16:
      f = {10, -14};
      return true;
    case DType::f8e5m2:
      f = {2, -14};
      return true;
    case DType::f8e4m3fn:
      f = {3, -6};
      return true;
    case DType::f8e4m3b11fnuz:
      f = {3, -10};
      return true;
    case DType::f4e2m1fn:
      f = {1, 0};
      return true;
    default:
      return false;
  }
}

/// |x| = significand * 2^(exponent - 23), rounded to a multiple of 2^(exponent - 23 + dropped) with the low
/// `dropped` bits of `bits`; more than 32 dropped bits take `bits` as the highest of them.
float roundStochastic(float x, uint32_t bits, Format f) {
  const uint32_t raw = std::bit_cast<uint32_t>(x);
  const int biased = static_cast<int>(raw >> 23 & 0xff);
  if (biased == 0xff || (raw & 0x7fffffff) == 0) return x;
  const int exponent = biased == 0 ? -126 : biased - 127;
  const uint64_t significand = (raw & 0x7fffff) | (biased == 0 ? 0 : 0x800000);
  int dropped = 23 - f.mantissaBits;
  if (exponent < f.minExponent) dropped += f.minExponent - exponent;
  if (dropped > 56) return std::copysign(0.0f, x);  // less than 2^-32 of the smallest step
  const uint64_t random = dropped <= 32 ? bits & ((uint64_t{1} << dropped) - 1) : uint64_t{bits} << (dropped - 32);
  const uint64_t kept = (significand + random) >> dropped;
  return std::copysign(std::ldexp(static_cast<float>(kept), exponent - 23 + dropped), x);
}

/// Integers: a fraction f goes up when f + bits / 2^32 ≥ 1.
int64_t roundToInteger(float x, uint32_t bits, DType t) {
  const int width = bit_width(t);
  const bool isSigned = is_signed_integer(t);
  const double low = isSigned ? -std::ldexp(1.0, width - 1) : 0;
  const double high = std::ldexp(1.0, isSigned ? width - 1 : width) - 1;
  if (std::isnan(x)) return 0;
  const double moved = std::floor(static_cast<double>(x) + std::ldexp(static_cast<double>(bits), -32));
  return static_cast<int64_t>(std::fmin(std::fmax(moved, low), high));
}

void roundRow(const float* x, const uint32_t* bits, int64_t n, Format format, float* to) {
  const uint32_t dropped = (1u << (23 - format.mantissaBits)) - 1;
  const uint32_t smallestNormal = static_cast<uint32_t>(format.minExponent + 127) << 23;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t raw = std::bit_cast<uint32_t>(x[i]), magnitude = raw & 0x7fffffff;
    if (magnitude - smallestNormal < 0x7f800000 - smallestNormal)  // normal in the target, and finite
      to[i] = std::bit_cast<float>((raw + (bits[i] & dropped)) & ~dropped);
    else
      to[i] = roundStochastic(x[i], bits[i], format);
  }
}

}  // namespace

bool stochasticConvert(Input value, Input bits, Output out) {
  if (value.dtype != DType::f32 || storage_bytes(bits.dtype) != 4 || is_float(bits.dtype)) return false;
  Format format{};
  const bool isInteger = is_integer(out.dtype) && bit_width(out.dtype) <= 32;
  if (!isInteger && !formatOf(out.dtype, format)) return false;
  constexpr int64_t kChunk = 256;
  float x[kChunk], rounded[kChunk];
  uint32_t random[kChunk];
  for (int64_t at = 0, total = out.elements(); at < total; at += kChunk) {
    const int64_t n = std::min(kChunk, total - at);
    std::byte* to = out.data + at * storage_bytes(out.dtype);
    std::memcpy(x, value.data + (value.splat ? 0 : at * 4), (value.splat ? 1 : n) * 4);
    std::memcpy(random, bits.data + (bits.splat ? 0 : at * 4), (bits.splat ? 1 : n) * 4);
    if (value.splat) std::fill(x + 1, x + n, x[0]);
    if (bits.splat) std::fill(random + 1, random + n, random[0]);
    if (isInteger) {
      int32_t integers[kChunk];
      for (int64_t i = 0; i < n; ++i) integers[i] = static_cast<int32_t>(roundToInteger(x[i], random[i], out.dtype));
      integersFromI32(out.dtype, integers, to, n);
    } else {
      roundRow(x, random, n, format, rounded);
      floatsFromF32(out.dtype, rounded, to, n);  // exact, or overflows as the format does
    }
  }
  return true;
}

}  // namespace smalti::eval
