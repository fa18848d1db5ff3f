#include <cstring>

#include "eval/Shape.h"

namespace smalti::eval {
namespace {

template <class T>
void fillWords(void* out, const void* value, int64_t n) {
  T word;
  std::memcpy(&word, value, sizeof(T));
  auto* words = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) words[i] = word;
}

}  // namespace

void fill(void* out, const void* value, int64_t n, int elementBytes) {
  switch (elementBytes) {
    case 1:
      if (n > 0) std::memset(out, *static_cast<const unsigned char*>(value), n);
      return;
    case 2:
      return fillWords<uint16_t>(out, value, n);
    case 4:
      return fillWords<uint32_t>(out, value, n);
    case 8:
      return fillWords<uint64_t>(out, value, n);
    default:
      for (int64_t i = 0; i < n; ++i) std::memcpy(static_cast<std::byte*>(out) + i * elementBytes, value, elementBytes);
  }
}

}  // namespace smalti::eval
