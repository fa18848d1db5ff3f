// Element types of arrays and their properties.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace smalti {

/// Element type. Signedness is a property of *arrays* (u8 and i8 differ); inside kernels integers are
/// signless, written with the signed member, and the op determines the interpretation of bits (S-E8).
/// Storage is one element per `storage_bytes`: sub-byte types take one byte each, sign-extended for
/// i2/i4, zero-extended for u2/u4/f4e2m1fn; `pred` is one byte holding 0 or 1.
enum class DType : uint8_t {
  pred,
  i2,
  i4,
  i8,
  i16,
  i32,
  i64,
  u2,
  u4,
  u8,
  u16,
  u32,
  u64,
  f4e2m1fn,
  f8e5m2,
  f8e4m3fn,
  f8e4m3b11fnuz,
  f8e8m0fnu,  ///< the power of two 2^(code - 127), or NaN: the scale of a block of narrow numbers
  bf16,
  f16,
  f32,
  f64,
  index,          ///< 64-bit address arithmetic inside kernels
  semaphore,      ///< counting semaphore, only in semaphore memory; stored as i64
  dma_semaphore,  ///< byte-counting semaphore, only in semaphore memory; stored as i64
  c64,            ///< a complex number of two f32, real part first; only in arrays around kernels
  c128,           ///< of two f64
};
inline constexpr int kNumDTypes = static_cast<int>(DType::c128) + 1;

/// Width in bits according to the type's name (pred 1, i4 4, index 64).
int bit_width(DType);
/// Bytes that one element takes in an `Array` and in the machine's memories (≥ 1).
int storage_bytes(DType);
/// Short name: "f32", "bf16", "u8", "i1" is "pred".
std::string_view name(DType);
/// Inverse of `name`; nullopt: no dtype has this name.
std::optional<DType> dtype_from_name(std::string_view);

bool is_float(DType);
/// Integers of any signedness; not pred, not index, not semaphores.
bool is_integer(DType);
bool is_signed_integer(DType);
bool is_unsigned_integer(DType);
bool is_semaphore(DType);
bool is_complex(DType);
/// The type of a complex number's parts; for other types the type itself.
DType part_of(DType);
/// The signless type that represents it inside kernels: u8 → i8, everything else unchanged.
DType signless(DType);

}  // namespace smalti
