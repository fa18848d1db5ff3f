// Scalar conversions between f32 and every narrow float, proved against llvm::APFloat
// (f4e2m1fn and f8e8m0fnu as JAX does it: f4e2m1fn has NaN → -0, ±inf → ±6). Round to nearest even, IEEE denormals.
#pragma once

#include <bit>
#include <cstdint>

#include "smalti/dtype.h"

namespace smalti::eval {

inline float bf16ToF32(uint16_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }
inline uint16_t f32ToBf16(float f) {
  uint32_t u = std::bit_cast<uint32_t>(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | 0x40);
  return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
}
float f16ToF32(uint16_t);
uint16_t f32ToF16(float);
float f8e5m2ToF32(uint8_t);
uint8_t f32ToF8e5m2(float);
float f8e4m3fnToF32(uint8_t);
uint8_t f32ToF8e4m3fn(float);
float f8e4m3b11fnuzToF32(uint8_t);
uint8_t f32ToF8e4m3b11fnuz(float);
float f8e8m0fnuToF32(uint8_t);
uint8_t f32ToF8e8m0fnu(float);
float f4e2m1fnToF32(uint8_t);
uint8_t f32ToF4e2m1fn(float);

/// f64 → f32, but inexact values go to the neighbour with an odd last bit: rounding that on to a narrower float gives
/// what rounding the f64 once would have given. Overflow gives the largest finite value, infinities stay.
float f64ToF32Odd(double);

/// Any element as f64 (integers, floats, pred exactly), for comparison and printing.
double elementAsDouble(DType, const void* element);
/// Stores a number as an element, rounded or saturated as a conversion would.
void elementFromDouble(DType, double value, void* element);

}  // namespace smalti::eval
