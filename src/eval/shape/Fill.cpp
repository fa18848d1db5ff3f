#include <algorithm>
#include <cstring>

#include "eval/Shape.h"

namespace smalti::eval {
namespace {

constexpr int64_t kStartBytes = 64;
/// Copied again and again: it stays in L1.
constexpr int64_t kCopiedBytes = 4096;

template <class T>
void fillWords(std::byte* out, const void* value, int64_t n) {
  T word;
  std::memcpy(&word, value, sizeof(T));
  for (int64_t i = 0; i < n; ++i) std::memcpy(out + i * static_cast<int64_t>(sizeof(T)), &word, sizeof(T));
}

void fillStart(std::byte* out, const void* value, int64_t n, int elementBytes) {
  switch (elementBytes) {
    case 2:
      return fillWords<uint16_t>(out, value, n);
    case 4:
      return fillWords<uint32_t>(out, value, n);
    case 8:
      return fillWords<uint64_t>(out, value, n);
    default:
      for (int64_t i = 0; i < n; ++i) std::memcpy(out + i * elementBytes, value, elementBytes);
  }
}

}  // namespace

/// Copies what is there already: memcpy has the widest vectors of the processor.
void fill(void* out, const void* value, int64_t n, int elementBytes) {
  if (n <= 0 || elementBytes <= 0) return;
  if (elementBytes == 1) {
    std::memset(out, *static_cast<const unsigned char*>(value), n);
    return;
  }
  auto* bytes = static_cast<std::byte*>(out);
  const int64_t start = std::min<int64_t>(n, std::max<int64_t>(1, kStartBytes / elementBytes));
  fillStart(bytes, value, start, elementBytes);
  const int64_t total = n * elementBytes, most = std::max<int64_t>(1, kCopiedBytes / elementBytes) * elementBytes;
  for (int64_t done = start * elementBytes; done < total;) {
    const int64_t part = std::min({done, most, total - done});
    std::memcpy(bytes + done, bytes, part);
    done += part;
  }
}

}  // namespace smalti::eval
