#include <cstring>

#include "eval/Shape.h"

namespace smalti::eval {

void fill(void* out, const void* value, int64_t n, int elementBytes) {
  auto* bytes = static_cast<std::byte*>(out);
  if (elementBytes == 1) {
    std::memset(bytes, static_cast<const unsigned char*>(value)[0], n);
    return;
  }
  for (int64_t i = 0; i < n; ++i) std::memcpy(bytes + i * elementBytes, value, elementBytes);
}

}  // namespace smalti::eval
