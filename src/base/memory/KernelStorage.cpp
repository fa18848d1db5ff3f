#include "base/memory/KernelStorage.h"

#include <cstring>

namespace smalti {
namespace {

bool isUnsignedSubByte(DType t) { return is_unsigned_integer(t) && bit_width(t) < 8; }

/// Integer elements of one width to another; what does not fit wraps.
void resizeIntegers(const std::byte* in, int inBytes, std::byte* out, int outBytes, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    int64_t value = 0;
    std::memcpy(&value, in + i * inBytes, inBytes);
    std::memcpy(out + i * outBytes, &value, outBytes);
  }
}

}  // namespace

bool storageDiffers(DType outside, DType inside) {
  return isUnsignedSubByte(outside) || is_semaphore(inside) != is_semaphore(outside);
}

Result<Array> toKernelStorage(const Array& array, DType inside) {
  auto result = Array::allocate({inside, array.shape()});
  if (!result) return result;
  const int64_t n = array.elements();
  if (is_semaphore(inside)) {
    resizeIntegers(array.data(), storage_bytes(array.dtype()), result->data(), storage_bytes(inside), n);
    return result;
  }
  const int shift = 8 - bit_width(inside);
  const auto* in = array.as<uint8_t>();
  auto* out = result->as<int8_t>();
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<int8_t>(static_cast<int8_t>(in[i] << shift) >> shift);
  return result;
}

Result<Array> fromKernelStorage(const Array& array, const ArrayType& outside) {
  auto result = Array::allocate(outside);
  if (!result) return result;
  const int64_t n = array.elements();
  if (is_semaphore(array.dtype())) {
    resizeIntegers(array.data(), storage_bytes(array.dtype()), result->data(), storage_bytes(outside.dtype), n);
    return result;
  }
  const auto mask = static_cast<uint8_t>((1 << bit_width(outside.dtype)) - 1);
  const auto* in = array.as<uint8_t>();
  auto* out = result->as<uint8_t>();
  for (int64_t i = 0; i < n; ++i) out[i] = in[i] & mask;
  return result;
}

Array retyped(const Array& array, const ArrayType& type) {
  if (array.type() == type) return array;
  auto owner = std::make_shared<Array>(array);
  return Array::view(type, owner->data(), owner);
}

}  // namespace smalti
