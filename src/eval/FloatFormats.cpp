#include "eval/FloatFormats.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "eval/elementwise/isa/Formats.h"

namespace smalti::eval {

float f16ToF32(uint16_t x) { return baseline::F16::load(x); }
uint16_t f32ToF16(float f) { return baseline::F16::store(f); }
float f8e5m2ToF32(uint8_t x) { return baseline::F8e5m2::load(x); }
uint8_t f32ToF8e5m2(float f) { return baseline::F8e5m2::store(f); }
float f8e4m3fnToF32(uint8_t x) { return baseline::F8e4m3fn::load(x); }
uint8_t f32ToF8e4m3fn(float f) { return baseline::F8e4m3fn::store(f); }
float f8e4m3b11fnuzToF32(uint8_t x) { return baseline::F8e4m3b11fnuz::load(x); }
uint8_t f32ToF8e4m3b11fnuz(float f) { return baseline::F8e4m3b11fnuz::store(f); }
float f8e8m0fnuToF32(uint8_t x) { return baseline::F8e8m0fnu::load(x); }
uint8_t f32ToF8e8m0fnu(float f) { return baseline::F8e8m0fnu::store(f); }
float f4e2m1fnToF32(uint8_t x) { return baseline::F4e2m1fn::load(x); }
uint8_t f32ToF4e2m1fn(float f) { return baseline::F4e2m1fn::store(f); }

float f64ToF32Odd(double x) {
  const float nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) == x || std::isnan(x)) return nearest;
  if (std::isinf(nearest)) return std::copysign(std::numeric_limits<float>::max(), nearest);
  // Inexact: choose the neighbour of x whose last bit is 1.
  if (std::bit_cast<uint32_t>(nearest) & 1) return nearest;
  const float towards = static_cast<double>(nearest) < x ? INFINITY : -INFINITY;
  return std::nextafter(nearest, towards);
}

namespace {

template <class T>
T loadAs(const void* p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

template <class T>
void storeAs(void* p, T x) {
  std::memcpy(p, &x, sizeof x);
}

/// Truncates and saturates to `bits` bits; NaN is 0.
uint64_t saturate(double x, int bits, bool isSigned) {
  if (std::isnan(x)) return 0;
  const double limit = std::ldexp(1.0, isSigned ? bits - 1 : bits);
  const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  if (!isSigned) return x <= 0 ? 0 : x >= limit ? all : static_cast<uint64_t>(x);
  if (x >= limit) return all >> 1;
  if (x < -limit) return ~(all >> 1);
  return static_cast<uint64_t>(static_cast<int64_t>(x));
}

}  // namespace

double elementAsDouble(DType t, const void* p) {
  switch (t) {
    case DType::pred:
      return loadAs<uint8_t>(p) != 0;
    case DType::i2:
      return static_cast<int8_t>(loadAs<uint8_t>(p) << 6) >> 6;
    case DType::i4:
      return static_cast<int8_t>(loadAs<uint8_t>(p) << 4) >> 4;
    case DType::i8:
      return loadAs<int8_t>(p);
    case DType::i16:
      return loadAs<int16_t>(p);
    case DType::i32:
      return loadAs<int32_t>(p);
    case DType::i64:
    case DType::index:
    case DType::semaphore:
    case DType::dma_semaphore:
      return static_cast<double>(loadAs<int64_t>(p));
    case DType::u2:
      return loadAs<uint8_t>(p) & 3;
    case DType::u4:
      return loadAs<uint8_t>(p) & 15;
    case DType::u8:
      return loadAs<uint8_t>(p);
    case DType::u16:
      return loadAs<uint16_t>(p);
    case DType::u32:
      return loadAs<uint32_t>(p);
    case DType::u64:
      return static_cast<double>(loadAs<uint64_t>(p));
    case DType::f4e2m1fn:
      return f4e2m1fnToF32(loadAs<uint8_t>(p));
    case DType::f8e8m0fnu:
      return f8e8m0fnuToF32(loadAs<uint8_t>(p));
    case DType::f8e5m2:
      return f8e5m2ToF32(loadAs<uint8_t>(p));
    case DType::f8e4m3fn:
      return f8e4m3fnToF32(loadAs<uint8_t>(p));
    case DType::f8e4m3b11fnuz:
      return f8e4m3b11fnuzToF32(loadAs<uint8_t>(p));
    case DType::bf16:
      return bf16ToF32(loadAs<uint16_t>(p));
    case DType::f16:
      return f16ToF32(loadAs<uint16_t>(p));
    case DType::f32:
      return loadAs<float>(p);
    case DType::f64:
      return loadAs<double>(p);
    case DType::c64:
    case DType::c128:
      return elementAsDouble(part_of(t), p);  // the real part
  }
  return 0;
}

void elementFromDouble(DType t, double x, void* p) {
  switch (t) {
    case DType::pred:
      return storeAs<uint8_t>(p, x != 0);
    case DType::f4e2m1fn:
      return storeAs(p, f32ToF4e2m1fn(f64ToF32Odd(x)));
    case DType::f8e8m0fnu:
      return storeAs(p, f32ToF8e8m0fnu(f64ToF32Odd(x)));
    case DType::f8e5m2:
      return storeAs(p, f32ToF8e5m2(f64ToF32Odd(x)));
    case DType::f8e4m3fn:
      return storeAs(p, f32ToF8e4m3fn(f64ToF32Odd(x)));
    case DType::f8e4m3b11fnuz:
      return storeAs(p, f32ToF8e4m3b11fnuz(f64ToF32Odd(x)));
    case DType::bf16:
      return storeAs(p, f32ToBf16(f64ToF32Odd(x)));
    case DType::f16:
      return storeAs(p, f32ToF16(f64ToF32Odd(x)));
    case DType::f32:
      return storeAs(p, static_cast<float>(x));
    case DType::f64:
      return storeAs(p, x);
    case DType::c64:
    case DType::c128:
      elementFromDouble(part_of(t), x, p);
      return elementFromDouble(part_of(t), 0, static_cast<std::byte*>(p) + storage_bytes(t) / 2);
    default: {
      const uint64_t word = saturate(x, bit_width(t), !is_unsigned_integer(t));
      std::memcpy(p, &word, storage_bytes(t));  // little endian; saturate() leaves sub-byte integers in storage form
    }
  }
}

}  // namespace smalti::eval
