#include "eval/bits/Widen.h"

#include <cstring>

#include "eval/elementwise/Tables.h"

namespace smalti::eval {
namespace {

const CodecRow& codecOf(DType t) {
  const CodecRow* row = activeTables().codecs.begin();
  while (row->dtype != t) ++row;
  return *row;
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
  if (t == DType::f32) {
    if (n > 0) std::memcpy(to, from, n * sizeof(float));
  } else {
    codecOf(t).load(from, to, n);
  }
}

void floatsFromF32(DType t, const float* from, std::byte* to, int64_t n) {
  if (t == DType::f32) {
    if (n > 0) std::memcpy(to, from, n * sizeof(float));
  } else {
    codecOf(t).store(from, to, n);
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
