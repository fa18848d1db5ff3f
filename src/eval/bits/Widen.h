// Rows of any dtype as f32 or i32 and back: what reductions and products compute in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "smalti/dtype.h"

namespace smalti::eval {

/// to[i] = from[i] as f32 (exact), for floats up to 32 bits.
void floatsToF32(DType t, const std::byte* from, float* to, int64_t n);
/// to[i] = from[i] rounded to nearest even.
void floatsFromF32(DType t, const float* from, std::byte* to, int64_t n);

/// to[i] = from[i] as i32, for integers and pred up to 32 bits. `asUnsigned` zero-extends, else the sign is extended,
/// whatever the dtype's own signedness (pred: 0 or 1).
void integersToI32(DType t, bool asUnsigned, const std::byte* from, int32_t* to, int64_t n);
/// Keeps the low bits, in the dtype's storage form.
void integersFromI32(DType t, const int32_t* from, std::byte* to, int64_t n);

/// The low `bit_width(t)` bits of x as `t` stores them: i2/i4 sign-extended to a byte, u2/u4/f4/pred zero-extended.
inline uint8_t subByteStorage(DType t, uint32_t x) {
  const int bits = bit_width(t);
  const uint32_t low = x & ((1u << bits) - 1);
  const bool extend = is_signed_integer(t) && (low >> (bits - 1));
  return static_cast<uint8_t>(extend ? low | (0xffu << bits) : low);
}

}  // namespace smalti::eval
