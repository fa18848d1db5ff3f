// Takes the place of base/memory/BlockMemory.cpp in this program.
#include "GuardedBlocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/io/Bytes.h"
#include "base/memory/BlockMemory.h"

namespace smalti {
namespace fuzz {
namespace {

constexpr size_t kPage = 4096;
constexpr unsigned char kFilling = 0xa5;

Guard guard = Guard::off;

/// Bytes of a block's pages that are not the block's.
struct Rest {
  const unsigned char* bytes = nullptr;
  size_t size = 0;
};
std::array<Rest, 4096> rests;
size_t numRests = 0;

size_t roundedUp(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

void guardBlocks(Guard g) { guard = g; }

void* takeGuarded(size_t bytes, size_t alignment, Guard where) {
  const size_t inner = roundedUp(std::max<size_t>(bytes, 1), kPage);
  if (inner < bytes) return nullptr;
  void* memory = mmap(nullptr, inner + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* first = static_cast<unsigned char*>(memory) + kPage;
  if (mprotect(first, inner, PROT_READ | PROT_WRITE) != 0) return nullptr;
  const size_t before = where == Guard::before ? 0 : (inner - bytes) / alignment * alignment;
  const size_t behind = inner - before - bytes;
  std::memset(first, kFilling, before);
  std::memset(first + before + bytes, kFilling, behind);
  for (const Rest rest : {Rest{first, before}, Rest{first + before + bytes, behind}})
    if (rest.size > 0 && numRests < rests.size()) rests[numRests++] = rest;
  return first + before;
}

bool wroteOutsideABlock() {
  return std::any_of(rests.begin(), rests.begin() + static_cast<std::ptrdiff_t>(numRests), [](const Rest& rest) {
    return std::any_of(rest.bytes, rest.bytes + rest.size, [](unsigned char b) { return b != kFilling; });
  });
}

}  // namespace fuzz

void* allocateBlock(size_t bytes) {
  constexpr size_t kAlignment = 64;
  if (fuzz::guard != fuzz::Guard::off) return fuzz::takeGuarded(bytes, kAlignment, fuzz::guard);
  return std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
}

MessageMemory messageMemory{.allocate = allocateBlock, .free = freeBlock};

void lockBlocks() {}
void unlockBlocks() {}
void freeBlock(void* block, size_t) {
  if (fuzz::guard == fuzz::Guard::off) std::free(block);
}

}  // namespace smalti
