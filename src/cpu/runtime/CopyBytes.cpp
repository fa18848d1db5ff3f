#include "cpu/runtime/CopyBytes.h"

#include <cstdint>
#include <cstring>

namespace smalti::cpu {
namespace {

/// Bytes: no copy of fewer or of more uses the instruction.
constexpr size_t kFewest = 1024, kMost = 2 * 1024 * 1024;

bool isSlow(const void* to, const void* from, size_t bytes) {
  const uintptr_t behind = (reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from)) % 4096;
  return behind - 1 < 63 && bytes >= kFewest && bytes < kMost;
}

/// Chunks of four vectors, so that the compiler does not make it a call of memcpy.
void copyChunks(std::byte* to, const std::byte* from, size_t bytes) {
  using Vector = long long __attribute__((vector_size(16), aligned(1), may_alias));
  constexpr size_t kChunk = 4 * sizeof(Vector);
  size_t at = 0;
  for (; at + kChunk <= bytes; at += kChunk) {
    const auto* source = reinterpret_cast<const Vector*>(from + at);
    auto* target = reinterpret_cast<Vector*>(to + at);
    const Vector a = source[0], b = source[1], c = source[2], d = source[3];
    target[0] = a;
    target[1] = b;
    target[2] = c;
    target[3] = d;
  }
  std::memcpy(to + at, from + at, bytes - at);
}

}  // namespace

void* copyBytes(void* to, const void* from, size_t bytes) {
  if (!isSlow(to, from, bytes)) return std::memcpy(to, from, bytes);
  copyChunks(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
  return to;
}

void* moveBytes(void* to, const void* from, size_t bytes) {
  const uintptr_t target = reinterpret_cast<uintptr_t>(to), source = reinterpret_cast<uintptr_t>(from);
  const bool overlap = target < source + bytes && source < target + bytes;
  return overlap ? std::memmove(to, from, bytes) : copyBytes(to, from, bytes);
}

}  // namespace smalti::cpu
