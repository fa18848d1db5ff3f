#include "eval/Poison.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "eval/FloatFormats.h"
#include "eval/Shape.h"

namespace smalti::eval {
namespace {

/// One element of undefined memory, in storage form.
void poisonElement(DType type, Poison kind, std::byte* element) {
  std::fill_n(element, storage_bytes(type), std::byte{0});
  if (kind == Poison::zero || type == DType::pred || is_semaphore(type)) return;
  if (type == DType::i16 && kind == Poison::intMin) return;  // interpret=True takes int16 for a semaphore
  if (is_complex(type)) {
    poisonElement(part_of(type), kind, element);
    std::copy_n(element, storage_bytes(type) / 2, element + storage_bytes(type) / 2);
    return;
  }
  if (is_float(type)) {
    elementFromDouble(type, std::numeric_limits<double>::quiet_NaN(), element);
    return;
  }
  const int bits = bit_width(type);
  const bool isUnsigned = is_unsigned_integer(type);
  int64_t value = 0;
  if (kind == Poison::intMin)
    value = isUnsigned ? 0 : std::numeric_limits<int64_t>::min() >> (64 - bits);
  else
    value = isUnsigned ? static_cast<int64_t>(~uint64_t{0} >> (64 - bits))
                       : std::numeric_limits<int64_t>::max() >> (64 - bits);
  std::memcpy(element, &value, storage_bytes(type));  // little-endian: the low bytes
}

}  // namespace

void poison(DType type, Poison kind, std::byte* out, int64_t elements) {
  std::byte element[16];
  poisonElement(type, kind, element);
  fill(out, element, elements, storage_bytes(type));
}

}  // namespace smalti::eval
