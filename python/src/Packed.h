// Elements below a byte: XLA packs them, the first one in the lowest bits; an Array has one a byte.
#pragma once

#include <cstring>

#include "smalti/array.h"

namespace smalti::python {

inline bool isPacked(DType dtype) { return dtype != DType::pred && bit_width(dtype) < 8; }

inline Result<Array> unpacked(const ArrayType& type, const void* packed) {
  auto array = Array::allocate(type);
  if (!array) return array;
  const int bits = bit_width(type.dtype), perByte = 8 / bits;
  const int unused = is_signed_integer(type.dtype) ? 8 - bits : 0;
  const auto* from = static_cast<const uint8_t*>(packed);
  auto* to = reinterpret_cast<uint8_t*>(array->data());
  for (int64_t i = 0, n = type.elements(); i < n; ++i) {
    const int element = (from[i / perByte] >> (i % perByte * bits)) & ((1 << bits) - 1);
    to[i] = static_cast<uint8_t>(static_cast<int8_t>(element << unused) >> unused);
  }
  return array;
}

inline void pack(const Array& array, void* packed) {
  const int bits = bit_width(array.dtype()), perByte = 8 / bits;
  const auto* from = reinterpret_cast<const uint8_t*>(array.data());
  auto* to = static_cast<uint8_t*>(packed);
  std::memset(to, 0, static_cast<size_t>((array.elements() + perByte - 1) / perByte));
  for (int64_t i = 0, n = array.elements(); i < n; ++i)
    to[i / perByte] = static_cast<uint8_t>(to[i / perByte] | ((from[i] & ((1 << bits) - 1)) << (i % perByte * bits)));
}

}  // namespace smalti::python
