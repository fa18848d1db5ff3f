#include "eval/bits/Widen.h"

#include <array>
#include <cstring>

#include "eval/FloatFormats.h"

namespace smalti::eval {
namespace {

using Table = std::array<float, 256>;

template <float (*toF32)(uint8_t)>
void byteFloats(const std::byte* from, float* to, int64_t n) {
  static const Table table = [] {
    Table t;
    for (int i = 0; i < 256; ++i) t[i] = toF32(static_cast<uint8_t>(i));
    return t;
  }();
  for (int64_t i = 0; i < n; ++i) to[i] = table[static_cast<uint8_t>(from[i])];
}

template <class T, class F>
void eachTo(const float* from, std::byte* to, int64_t n, F f) {
  T* out = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) out[i] = f(from[i]);
}

template <class From>
void extend(const std::byte* from, int32_t* to, int64_t n) {
  const From* in = reinterpret_cast<const From*>(from);
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<int32_t>(in[i]);
}

template <class To>
void truncate(const int32_t* from, std::byte* to, int64_t n) {
  To* out = reinterpret_cast<To*>(to);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<To>(from[i]);
}

}  // namespace

void floatsToF32(DType t, const std::byte* from, float* to, int64_t n) {
  switch (t) {
    case DType::bf16: {
      const uint16_t* in = reinterpret_cast<const uint16_t*>(from);
      uint32_t* bits = reinterpret_cast<uint32_t*>(to);
      for (int64_t i = 0; i < n; ++i) bits[i] = static_cast<uint32_t>(in[i]) << 16;
      return;
    }
    case DType::f16: {
      const uint16_t* in = reinterpret_cast<const uint16_t*>(from);
      for (int64_t i = 0; i < n; ++i) to[i] = f16ToF32(in[i]);
      return;
    }
    case DType::f8e5m2:
      return byteFloats<f8e5m2ToF32>(from, to, n);
    case DType::f8e4m3fn:
      return byteFloats<f8e4m3fnToF32>(from, to, n);
    case DType::f8e4m3b11fnuz:
      return byteFloats<f8e4m3b11fnuzToF32>(from, to, n);
    case DType::f4e2m1fn:
      return byteFloats<f4e2m1fnToF32>(from, to, n);
    default:
      std::memcpy(to, from, n * sizeof(float));
  }
}

void floatsFromF32(DType t, const float* from, std::byte* to, int64_t n) {
  switch (t) {
    case DType::bf16:
      return eachTo<uint16_t>(from, to, n, f32ToBf16);
    case DType::f16:
      return eachTo<uint16_t>(from, to, n, f32ToF16);
    case DType::f8e5m2:
      return eachTo<uint8_t>(from, to, n, f32ToF8e5m2);
    case DType::f8e4m3fn:
      return eachTo<uint8_t>(from, to, n, f32ToF8e4m3fn);
    case DType::f8e4m3b11fnuz:
      return eachTo<uint8_t>(from, to, n, f32ToF8e4m3b11fnuz);
    case DType::f4e2m1fn:
      return eachTo<uint8_t>(from, to, n, f32ToF4e2m1fn);
    default:
      std::memcpy(to, from, n * sizeof(float));
  }
}

void integersToI32(DType t, bool asUnsigned, const std::byte* from, int32_t* to, int64_t n) {
  const int bits = bit_width(t);
  if (bits < 8 && bits > 1) {
    const int shift = 32 - bits;
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t high = static_cast<uint32_t>(from[i]) << shift;
      to[i] = asUnsigned ? static_cast<int32_t>(high >> shift) : static_cast<int32_t>(high) >> shift;
    }
    return;
  }
  switch (bits) {
    case 1:
      return extend<uint8_t>(from, to, n);
    case 8:
      return asUnsigned ? extend<uint8_t>(from, to, n) : extend<int8_t>(from, to, n);
    case 16:
      return asUnsigned ? extend<uint16_t>(from, to, n) : extend<int16_t>(from, to, n);
    default:
      std::memcpy(to, from, n * sizeof(int32_t));
  }
}

void integersFromI32(DType t, const int32_t* from, std::byte* to, int64_t n) {
  if (bit_width(t) < 8) {
    for (int64_t i = 0; i < n; ++i) to[i] = std::byte(subByteStorage(t, static_cast<uint32_t>(from[i])));
    return;
  }
  switch (storage_bytes(t)) {
    case 1:
      return truncate<uint8_t>(from, to, n);
    case 2:
      return truncate<uint16_t>(from, to, n);
    default:
      std::memcpy(to, from, n * sizeof(int32_t));
  }
}

}  // namespace smalti::eval
