#include "gpu/host/Fibres.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "eval/FloatFormats.h"
#include "gpu/device/Primitives.h"

namespace smalti::gpu {
namespace {

constexpr size_t kStackBytes = size_t{256} << 10, kPageBytes = 4096;
/// In which swizzled addresses repeat.
constexpr size_t kSharedAlignment = 1024;
constexpr int32_t kCopyBytes = 16;
/// Between two looks at the flag that ends the call.
constexpr int64_t kRoundsPerLook = 1024;

/// Stacks of one thread of the process, kept for the next block. The lowest page of each may not be touched.
class Stacks {
 public:
  ~Stacks() {
    for (void* stack : stacks_) munmap(stack, kStackBytes);
  }
  /// Null: there is no memory.
  void* at(size_t i) {
    while (stacks_.size() <= i) {
      void* made =
          mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (made == MAP_FAILED) return nullptr;
      mprotect(made, kPageBytes, PROT_NONE);
      stacks_.push_back(made);
    }
    return stacks_[i];
  }

 private:
  std::vector<void*> stacks_;
};
thread_local Stacks stacks;

enum class FibreState : uint8_t { ready, atBarrier, atShuffle, looking, done };

/// 16 bytes on their way.
struct PendingCopy {
  std::byte* to;
  const std::byte* from;
  int32_t bytes;
};
struct PendingProduct {
  float* sums;
  const std::byte *left, *right;
  GroupProduct product;
};

struct Fibre {
  FibreState state = FibreState::ready;
  bool begun = false;
  int32_t site = 0;
  int64_t shuffles = 0, rounds = 0;
  std::deque<std::vector<PendingCopy>> copies;  ///< groups, and at the end those that are in none yet
  std::vector<PendingProduct> products;
  ucontext_t context{};
  jmp_buf at{};
};

class Block {
 public:
  Block(const BlockLaunch& launch, const std::function<void()>& body)
      : launch_(launch),
        body_(body),
        fibres_(static_cast<size_t>(launch.threads)),
        values_(2 * kWords * static_cast<size_t>(launch.threads)),
        shared_(new (std::align_val_t(kSharedAlignment))
                    std::byte[static_cast<size_t>(std::max<int64_t>(launch.sharedBytes, 1))]),
        order_(static_cast<size_t>(launch.threads)),
        random_(launch.seed) {
    std::iota(order_.begin(), order_.end(), 0);
  }
  ~Block() { ::operator delete[](shared_, std::align_val_t(kSharedAlignment)); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::optional<std::string> run();

  const BlockLaunch& launch() const { return launch_; }
  int32_t thread() const { return current_; }
  std::byte* shared() { return shared_; }
  bool stopped() const { return stopped_; }
  Fibre& fibre() { return fibres_[static_cast<size_t>(current_)]; }
  /// What the thread has given to the exchange of this number; of up to kWords words.
  int32_t* given(int64_t exchange, int32_t thread) {
    return &values_[static_cast<size_t>(((exchange % 2) * launch_.threads + thread) * kWords)];
  }
  /// Others run; this thread again when all that it waits for have come.
  void wait(FibreState why) {
    Fibre& self = fibre();
    self.state = why;
    if (_setjmp(self.at) == 0) _longjmp(scheduler_, 1);
  }
  [[noreturn]] void finish() {
    fibre().state = FibreState::done;
    _longjmp(scheduler_, 1);
  }
  void body() { body_(); }
  /// Whether what may happen later happens now.
  bool atOnce() { return launch_.seed != 0 && (next() & 1) != 0; }

 private:
  /// A linear congruential generator (Knuth's MMIX).
  uint64_t next() { return (random_ = random_ * 6364136223846793005u + 1442695040888963407u) >> 33; }
  bool resume(int32_t thread);
  void shuffleOrder();
  bool releaseWarps();

  const BlockLaunch& launch_;
  const std::function<void()>& body_;
  std::vector<Fibre> fibres_;
  static constexpr int32_t kWords = 6;
  std::vector<int32_t> values_;  ///< what is exchanged: of every other exchange, by thread
  std::byte* shared_;
  std::vector<int32_t> order_;
  uint64_t random_;
  int32_t current_ = 0;
  bool stopped_ = false;
  jmp_buf scheduler_{};
};

thread_local Block* running = nullptr;

void enter() {
  running->body();
  running->finish();
}

/// Runs the thread until it waits or is done. False: there is no memory for it.
bool Block::resume(int32_t thread) {
  current_ = thread;
  Fibre& f = fibre();
  if (!f.begun) {
    void* stack = stacks.at(static_cast<size_t>(thread));
    if (!stack) return false;
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = stack;
    f.context.uc_stack.ss_size = kStackBytes;
    f.context.uc_link = nullptr;
    makecontext(&f.context, enter, 0);
  }
  if (_setjmp(scheduler_) == 0) {
    if (f.begun) _longjmp(f.at, 1);
    f.begun = true;
    setcontext(&f.context);
  }
  return true;
}

/// Fisher and Yates.
void Block::shuffleOrder() {
  for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[next() % i]);
}

bool Block::releaseWarps() {
  bool any = false;
  for (size_t first = 0; first < fibres_.size(); first += kWarp) {
    const size_t end = std::min(first + kWarp, fibres_.size());
    const auto warp = [&](auto&& p) {
      return std::all_of(fibres_.begin() + static_cast<ptrdiff_t>(first), fibres_.begin() + static_cast<ptrdiff_t>(end),
                         p);
    };
    if (!warp(
            [&](const Fibre& f) { return f.state == FibreState::atShuffle && f.shuffles == fibres_[first].shuffles; }))
      continue;
    for (size_t i = first; i < end; ++i) fibres_[i].state = FibreState::ready;
    any = true;
  }
  return any;
}

std::optional<std::string> Block::run() {
  for (;;) {
    for (const int32_t t : order_)
      if (fibres_[static_cast<size_t>(t)].state == FibreState::ready && !resume(t))
        return fmt::format("there is no memory for the stacks of {} threads", launch_.threads);
    if (releaseWarps()) continue;
    const auto count = [&](FibreState s) {
      return std::count_if(fibres_.begin(), fibres_.end(), [&](const Fibre& f) { return f.state == s; });
    };
    const auto all = static_cast<ptrdiff_t>(fibres_.size());
    if (count(FibreState::done) == all) return std::nullopt;
    const bool looking = count(FibreState::looking) == all;
    const bool together =
        count(FibreState::atBarrier) == all &&
        std::all_of(fibres_.begin(), fibres_.end(), [&](const Fibre& f) { return f.site == fibres_[0].site; });
    if (!looking && !together)
      return fmt::format("of {} threads {} wait at a barrier, {} in a shuffle, and {} have ended", launch_.threads,
                         count(FibreState::atBarrier) + count(FibreState::looking), count(FibreState::atShuffle),
                         count(FibreState::done));
    // The same for all threads until they come together again.
    if (looking && launch_.stop) stopped_ = launch_.stop->load(std::memory_order_relaxed);
    if (launch_.seed != 0) shuffleOrder();
    for (Fibre& f : fibres_) f.state = FibreState::ready;
  }
}

}  // namespace

std::optional<std::string> runBlock(const BlockLaunch& launch, const std::function<void()>& body) {
  const auto block = std::make_unique<Block>(launch, body);
  Block* const outer = running;
  running = block.get();
  auto trouble = block->run();
  running = outer;
  return trouble;
}

int32_t hostThread() { return running->thread(); }
int32_t hostBlock() { return running->launch().block; }
int32_t hostBlocks() { return running->launch().blocks; }
void* hostShared() { return running->shared(); }

void hostBarrier(int32_t site) {
  running->fibre().site = site;
  running->wait(FibreState::atBarrier);
}

int32_t hostShuffle(int32_t bits, int32_t laneMask) {
  Block& b = *running;
  const int32_t self = b.thread();
  const int64_t number = ++b.fibre().shuffles;
  *b.given(number, self) = bits;
  b.wait(FibreState::atShuffle);
  return *b.given(number, self ^ laneMask);
}

namespace {

/// The half of a word.
float halfOf(int32_t word, int64_t which, bool isF16) {
  const auto bits = static_cast<uint16_t>(static_cast<uint32_t>(word) >> (16 * which));
  return isF16 ? eval::f16ToF32(bits) : eval::bf16ToF32(bits);
}

}  // namespace

/// The element (row, k) of the left operand is in lane 4·(row mod 8) + (k mod 8) / 2, in the word (row ≥ 8) + 2·(k ≥
/// 8); (k, column) of the right one in lane 4·column + (k mod 8) / 2, in the word k ≥ 8; the half is k mod 2.
void hostMma(float* sums, int32_t isF16, const int32_t (&left)[4], const int32_t (&right)[2]) {
  Block& b = *running;
  const int32_t self = b.thread(), lane = self % kWarp, first = self - lane;
  const int64_t number = ++b.fibre().shuffles;
  std::copy_n(left, 4, b.given(number, self));
  std::copy_n(right, 2, b.given(number, self) + 4);
  b.wait(FibreState::atShuffle);
  for (int32_t e = 0; e < 4; ++e) {
    const int32_t row = lane / 4 + 8 * (e / 2), column = 2 * (lane % 4) + e % 2;
    for (int32_t k = 0; k < 16; ++k) {
      const int32_t inRow = k % 8 / 2;
      const int32_t x = b.given(number, first + 4 * (row % 8) + inRow)[row / 8 + 2 * (k / 8)],
                    y = b.given(number, first + 4 * column + inRow)[4 + k / 8];
      sums[e] += halfOf(x, k % 2, isF16 != 0) * halfOf(y, k % 2, isF16 != 0);
    }
  }
}

void hostLoadMatrices(int32_t (&words)[4], const void* row, int32_t transposed) {
  Block& b = *running;
  const int32_t self = b.thread(), lane = self % kWarp, first = self - lane;
  const int64_t number = ++b.fibre().shuffles;
  const auto address = reinterpret_cast<uintptr_t>(row);
  b.given(number, self)[0] = static_cast<int32_t>(address);
  b.given(number, self)[1] = static_cast<int32_t>(address >> 32);
  b.wait(FibreState::atShuffle);
  for (int32_t matrix = 0; matrix < 4; ++matrix) {
    const auto at = [&](int32_t r, int32_t c) {
      const int32_t* given = b.given(number, first + 8 * matrix + r);
      const uintptr_t from = static_cast<uint32_t>(given[0]) | static_cast<uintptr_t>(static_cast<uint32_t>(given[1]))
                                                                   << 32;
      uint16_t bits = 0;
      std::memcpy(&bits, reinterpret_cast<const std::byte*>(from) + 2 * c, sizeof(bits));
      return static_cast<uint32_t>(bits);
    };
    const int32_t r = lane / 4, c = 2 * (lane % 4);
    words[matrix] = static_cast<int32_t>(transposed ? at(c, r) | at(c + 1, r) << 16 : at(r, c) | at(r, c + 1) << 16);
  }
}

namespace {

void complete(const PendingCopy& c) {
  std::memcpy(c.to, c.from, static_cast<size_t>(c.bytes));
  std::memset(c.to + c.bytes, 0, static_cast<size_t>(kCopyBytes - c.bytes));
}

/// An element of an operand of a warp group's product: rows of 128 bytes, eight of which follow each other; bits 4 to 6
/// of its address are xored with bits 7 to 9 (PTX ISA, "Swizzling Modes", 128-Byte swizzling). `side`: its row or
/// column.
float operandAt(const std::byte* base, int64_t side, int64_t depth, bool depthInner, int64_t stride, bool isF16) {
  constexpr int64_t kRow = 128, kEightRows = 8 * kRow, kInner = 64;
  auto address = reinterpret_cast<uintptr_t>(base);
  if (depthInner)
    address += static_cast<uintptr_t>(side / 8 * kEightRows + side % 8 * kRow + depth * 2);
  else
    address +=
        static_cast<uintptr_t>(side / kInner * stride + depth / 8 * kEightRows + depth % 8 * kRow + side % kInner * 2);
  address ^= (address >> 7 & 7) << 4;
  uint16_t bits = 0;
  std::memcpy(&bits, reinterpret_cast<const void*>(address), sizeof(bits));
  return isF16 ? eval::f16ToF32(bits) : eval::bf16ToF32(bits);
}

/// What this thread has of a warp group's product (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16").
void complete(const PendingProduct& p, int32_t thread) {
  const GroupProduct& g = p.product;
  const int64_t lane = thread % kWarp, firstRow = thread / kWarp % 4 * 16 + lane / 4;
  for (int64_t half = 0; half < 2; ++half) {
    float left[16];
    for (int64_t k = 0; k < 16; ++k)
      left[k] = operandAt(p.left, firstRow + 8 * half, k, g.lhsDepthInner, g.lhsStride, g.isF16);
    for (int64_t piece = 0; piece < g.columns / 8; ++piece)
      for (int64_t e = 0; e < 2; ++e) {
        float& sum = p.sums[4 * piece + 2 * half + e];
        for (int64_t k = 0; k < 16; ++k)
          sum += left[k] * operandAt(p.right, 8 * piece + 2 * (lane % 4) + e, k, g.rhsDepthInner, g.rhsStride, g.isF16);
      }
  }
}

}  // namespace

void hostCopy(void* to, const void* from, int32_t bytes) {
  const PendingCopy copy{static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes};
  if (running->atOnce()) return complete(copy);
  auto& copies = running->fibre().copies;
  if (copies.empty()) copies.emplace_back();
  copies.back().push_back(copy);
}

void hostCommitCopies() {
  auto& copies = running->fibre().copies;
  if (copies.empty()) copies.emplace_back();
  copies.emplace_back();
}

void hostWaitForCopies(int32_t groups) {
  auto& copies = running->fibre().copies;
  while (copies.size() > static_cast<size_t>(groups) + 1) {
    for (const PendingCopy& copy : copies.front()) complete(copy);
    copies.pop_front();
  }
}

void hostGroupBegin() {}
void hostGroupMma(float* sums, const void* left, const void* right, const GroupProduct& product) {
  running->fibre().products.push_back(
      {sums, static_cast<const std::byte*>(left), static_cast<const std::byte*>(right), product});
}
void hostGroupEnd() {
  auto& products = running->fibre().products;
  for (const PendingProduct& p : products) complete(p, running->thread());
  products.clear();
}

int32_t hostStopped() {
  Block& b = *running;
  if (++b.fibre().rounds % kRoundsPerLook == 0) b.wait(FibreState::looking);
  return b.stopped() ? 1 : 0;
}

}  // namespace smalti::gpu
