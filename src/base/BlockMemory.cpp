#include "base/BlockMemory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <mutex>

namespace smalti {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
/// Smaller blocks are kept by the thread that gives them back, and its last few only.
constexpr size_t kKeptFrom = size_t{1} << 20;
constexpr size_t kThreadKeeps = 8, kThreadKeepsBytes = size_t{4} << 20;
/// Of all blocks kept at a time, by the machine's memory; the oldest go first.
size_t mostKept() {
  constexpr size_t kLeast = size_t{256} << 20, kMost = size_t{4} << 30, kShareOfMemory = 16;
  static const size_t most = std::clamp(
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE)) / kShareOfMemory,
      kLeast, kMost);
  return most;
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeeps = false;  // a block that is used after it was given back shall be seen
#else
constexpr bool kKeeps = true;
#endif

size_t sizeOf(size_t bytes) {
  const size_t unit = bytes >= kKeptFrom ? kHugePage / 2 : kAlignment;
  return (bytes / unit + 1) * unit;
}

void* allocate(size_t size) {
  void* block = nullptr;  // not of aligned_alloc, which wants a size that is a multiple of the alignment
  if (posix_memalign(&block, size >= kHugePage ? kHugePage : kAlignment, size) != 0) return nullptr;
  if (size >= kHugePage) madvise(block, size, MADV_HUGEPAGE);
  return block;
}

class KeptBlocks {
 public:
  void* take(size_t size) {
    const std::scoped_lock lock(mutex_);
    for (auto at = kept_.rbegin(); at != kept_.rend(); ++at)
      if (at->size == size) {
        void* block = at->block;
        kept_.erase(std::next(at).base());
        bytes_ -= size;
        return block;
      }
    return nullptr;
  }
  void give(void* block, size_t size) {
    const std::scoped_lock lock(mutex_);
    kept_.push_back({block, size});
    bytes_ += size;
    while (bytes_ > mostKept()) dropOldest();
  }
  void clear() {
    const std::scoped_lock lock(mutex_);
    while (!kept_.empty()) dropOldest();
  }
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Kept {
    void* block;
    size_t size;
  };
  void dropOldest() {
    bytes_ -= kept_.front().size;
    std::free(kept_.front().block);
    kept_.pop_front();
  }
  std::mutex mutex_;
  std::deque<Kept> kept_;
  size_t bytes_ = 0;
};

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
    std::free(kept[0].block);
    bytes -= kept[0].size;
    std::copy(kept + 1, kept + count--, kept);
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
  if (!kKeeps || size >= kKeptFrom || tBlocks.closed) return false;
  thread_local EmptiesThreadBlocks empties;
  (void)empties;
  tBlocks.give(block, size);
  return true;
}

/// Never destroyed: arrays of static duration may outlive it.
KeptBlocks& kept() {
  static auto& blocks = *new KeptBlocks;
  return blocks;
}

}  // namespace

void* takeBlock(size_t bytes) {
  const size_t size = sizeOf(bytes);
  if (size < bytes) return nullptr;
  if (!kKeeps) return allocate(size);
  if (size < kKeptFrom) {
    void* block = tBlocks.take(size);
    return block ? block : allocate(size);
  }
  if (void* block = kept().take(size)) return block;
  if (void* block = allocate(size)) return block;
  kept().clear();
  return allocate(size);
}

void lockBlocks() { kept().lock(); }
void unlockBlocks() { kept().unlock(); }

void giveBlock(void* block, size_t bytes) {
  const size_t size = sizeOf(bytes);
  if (giveToThread(block, size)) return;
  if (!kKeeps || size < kKeptFrom || size > mostKept())
    std::free(block);
  else
    kept().give(block, size);
}

}  // namespace smalti
