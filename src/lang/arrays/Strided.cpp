#include <cstring>

#include <fmt/format.h>

#include "eval/FloatFormats.h"
#include "lang/trace/SourceLocationScope.h"
#include "smalti/dlpack_interop.h"

namespace smalti {
namespace {

void copy(std::byte*& to, const std::byte* from, const Shape& shape, const std::vector<int64_t>& strides, size_t axis,
          int64_t bytes) {
  if (axis == shape.size()) {
    std::memcpy(to, from, bytes);
    to += bytes;
    return;
  }
  for (int64_t i = 0; i < shape[axis]; ++i) copy(to, from + i * strides[axis], shape, strides, axis + 1, bytes);
}

void checkItem(const Array& array) {
  if (array.is_traced())
    lang::refuse({.code = "SM6105",
                  .message = fmt::format("a traced value {} has no number yet", array.type().str()),
                  .place = {},
                  .help = "use when, cond or where, which decide when the kernel runs"});
  if (array.elements() != 1)
    lang::refuse({.code = "SM6303",
                  .message = "'item' is for arrays of one element",
                  .place = {},
                  .need = "1 element",
                  .have = array.type().str(),
                  .help = "take a slice first, or read through as<T>()"});
}

}  // namespace

Result<Array> from_strided(ArrayType type, const void* data, const std::vector<int64_t>& byte_strides) {
  if (byte_strides.size() != type.shape.size())
    return fail(Diagnostic{.code = "SM6308",
                           .message = "a strided view needs one stride per axis",
                           .place = {},
                           .need = fmt::format("{} strides", type.shape.size()),
                           .have = fmt::format("{}", byte_strides.size()),
                           .help = "strides are in bytes"});
  auto array = Array::allocate(type);
  if (!array || array->elements() == 0) return array;
  std::byte* to = array->data();
  copy(to, static_cast<const std::byte*>(data), type.shape, byte_strides, 0, storage_bytes(type.dtype));
  return array;
}

double item_as_double(const Array& array) {
  checkItem(array);
  return eval::elementAsDouble(array.dtype(), array.data());
}

int64_t item_as_int(const Array& array) {
  checkItem(array);
  int64_t bits = 0;
  if (!is_float(array.dtype()) && storage_bytes(array.dtype()) == 8) {
    std::memcpy(&bits, array.data(), sizeof bits);
    return bits;
  }
  return static_cast<int64_t>(eval::elementAsDouble(array.dtype(), array.data()));
}

}  // namespace smalti
