#include "base/memory/BlockMemory.h"

#include "base/Lasting.h"
#include "base/io/Bytes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <list>
#include <mutex>
#include <unordered_map>

namespace smalti {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
/// Sizes from here on are rounded up, so that they meet again.
constexpr size_t kLarge = size_t{1} << 20;
/// Smaller blocks are cached by the thread that frees them, the last few only.
constexpr size_t kThreadKeepsBelow = kLarge, kThreadKeeps = 8, kThreadKeepsBytes = size_t{4} << 20;
/// From this size on, freed blocks are cached globally: below it, malloc has pages available.
constexpr size_t kKeptFrom = size_t{16} << 10;
/// The most bytes of all cached blocks, by the machine's memory; the oldest blocks are freed first.
size_t mostKept() {
  static constinit Lasting<const size_t> most;
  return most.get([] {
    constexpr size_t kMin = size_t{256} << 20, kMax = size_t{4} << 30, kShareOfMemory = 16;
    const auto pages = static_cast<size_t>(sysconf(_SC_PHYS_PAGES));
    return std::clamp(pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) / kShareOfMemory, kMin, kMax);
  });
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeeps = false;  // so that use after free is detected
#else
constexpr bool kKeeps = true;
#endif

size_t sizeOf(size_t bytes) {
  const size_t unit = bytes >= kLarge ? kHugePage / 2 : kAlignment;
  return (bytes / unit + 1) * unit;
}

void* allocate(size_t size) {
  void* block = nullptr;  // not of aligned_alloc, which wants a size that is a multiple of the alignment
  if (posix_memalign(&block, size >= kHugePage ? kHugePage : kAlignment, size) != 0) return nullptr;
  if (size >= kHugePage) madvise(block, size, MADV_HUGEPAGE);
  return block;
}

/// Blocks by their size, the newest of a size first.
class KeptBlocks {
 public:
  void* take(size_t size) {
    const std::scoped_lock lock(mutex_);
    const auto ofSize = bySize_.find(size);
    if (ofSize == bySize_.end() || ofSize->second.empty()) return nullptr;
    const auto at = ofSize->second.back();
    ofSize->second.pop_back();
    void* block = at->block;
    byAge_.erase(at);
    bytes_ -= size;
    return block;
  }
  void give(void* block, size_t size) {
    const std::scoped_lock lock(mutex_);
    bySize_[size].push_back(byAge_.insert(byAge_.end(), {block, size}));
    bytes_ += size;
    while (bytes_ > mostKept()) dropOldest();
  }
  void clear() {
    const std::scoped_lock lock(mutex_);
    while (!byAge_.empty()) dropOldest();
  }
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Kept {
    void* block;
    size_t size;
  };
  void dropOldest() {
    const auto [block, size] = byAge_.front();
    const auto ofSize = bySize_.find(size);
    ofSize->second.pop_front();
    if (ofSize->second.empty()) bySize_.erase(ofSize);
    byAge_.pop_front();
    bytes_ -= size;
    std::free(block);
  }
  std::mutex mutex_;
  std::list<Kept> byAge_;
  std::unordered_map<size_t, std::deque<std::list<Kept>::iterator>> bySize_;
  size_t bytes_ = 0;
};

/// Returns a block that no thread owns any more.
void drop(void* block, size_t size);

/// Small blocks without a lock, for calls that take hardly longer than malloc does to find aligned memory and to join
/// it with its neighbours again.
struct ThreadBlocks {
  struct Kept {
    void* block;
    size_t size;
  };
  Kept kept[kThreadKeeps];
  size_t count, bytes;
  bool closed;  ///< the thread ends

  void* take(size_t size) {
    for (size_t i = count; i-- > 0;)
      if (kept[i].size == size) {
        void* block = kept[i].block;
        kept[i] = kept[--count];
        bytes -= size;
        return block;
      }
    return nullptr;
  }
  void give(void* block, size_t size) {
    while (count == kThreadKeeps || bytes + size > kThreadKeepsBytes) dropFirst();
    kept[count++] = {block, size};
    bytes += size;
  }
  void dropFirst() {
    const Kept first = kept[0];
    bytes -= first.size;
    std::copy(kept + 1, kept + count--, kept);
    drop(first.block, first.size);
  }
};
/// Trivial: arrays of the thread's may be destroyed after what empties it.
thread_local constinit ThreadBlocks tBlocks{};
struct EmptiesThreadBlocks {
  ~EmptiesThreadBlocks() {
    tBlocks.closed = true;
    while (tBlocks.count > 0) tBlocks.dropFirst();
  }
};

bool giveToThread(void* block, size_t size) {
  if (!kKeeps || size >= kThreadKeepsBelow || tBlocks.closed) return false;
  thread_local EmptiesThreadBlocks empties;
  (void)empties;
  tBlocks.give(block, size);
  return true;
}

KeptBlocks& kept() {
  static constinit Lasting<KeptBlocks> blocks;  // arrays of static duration outlive it otherwise
  return blocks.get();
}

void drop(void* block, size_t size) {
  if (!kKeeps || size < kKeptFrom || size > mostKept())
    std::free(block);
  else
    kept().give(block, size);
}

}  // namespace

void* allocateBlock(size_t bytes) {
  const size_t size = sizeOf(bytes);
  if (size < bytes) return nullptr;
  if (!kKeeps) return allocate(size);
  if (size < kThreadKeepsBelow)
    if (void* block = tBlocks.take(size)) return block;
  if (size >= kKeptFrom)
    if (void* block = kept().take(size)) return block;
  if (void* block = allocate(size)) return block;
  kept().clear();
  return allocate(size);
}

void lockBlocks() { kept().lock(); }
void unlockBlocks() { kept().unlock(); }

void freeBlock(void* block, size_t bytes) {
  const size_t size = sizeOf(bytes);
  if (!giveToThread(block, size)) drop(block, size);
}

MessageMemory messageMemory{.allocate = allocateBlock, .free = freeBlock};

}  // namespace smalti
