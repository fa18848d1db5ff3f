#include "gpu/host/Fibres.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "base/process/ThreadLasting.h"
#include "eval/FloatFormats.h"
#include "gpu/device/Primitives.h"

namespace smalti::gpu {
namespace {

/// Of a thread's stack: what the primitives and `body` of a test need.
constexpr size_t kStackBytes = size_t{256} << 10, kPageBytes = 4096;
/// The period of the 128-byte swizzle.
constexpr size_t kSharedAlignment = 1024;
constexpr int32_t kCopyBytes = 16;
/// Loop iterations between two checks of the stop flag.
constexpr int64_t kIterationsPerCheck = 1024;

/// Stacks of one thread of the process, kept for the next block. The lowest page of each is a guard page.
class Stacks {
 public:
  ~Stacks() { release(); }
  /// Before the threads of a block begin.
  void make(size_t bytes) {
    bytes = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    if (bytes <= bytes_) return;
    release();
    bytes_ = bytes;
  }
  size_t bytes() const { return bytes_; }
  /// Null: there is no memory.
  void* at(size_t i) {
    while (stacks_.size() <= i) {
      void* made = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (made == MAP_FAILED) return nullptr;
      mprotect(made, kPageBytes, PROT_NONE);
      stacks_.push_back(made);
    }
    return stacks_[i];
  }

 private:
  void release() {
    for (void* stack : stacks_) munmap(stack, bytes_);
    stacks_.clear();
  }

  std::vector<void*> stacks_;
  size_t bytes_ = 0;
};
thread_local constinit ThreadLasting<Stacks> stacks;

enum class FibreState : uint8_t { ready, atBarrier, atShuffle, atMbarrier, looking, done };

/// A copy of 16 bytes in flight.
struct PendingCopy {
  std::byte* to;
  const std::byte* from;
  int32_t bytes;
};
/// A copy of a box of an array in flight.
struct PendingBox {
  std::byte* to;
  HostTensorMap map;
  void* mbarrier;
  std::array<int32_t, TensorMap::kMaxDimensions> at;
};
/// Counts arrivals and bytes. The first phase has parity 0.
struct Mbarrier {
  int32_t arrivals = 0, missing = 0;   ///< arrivals per phase; arrivals that this phase still waits for
  int64_t bytes = 0;                   ///< bytes that this phase still waits for
  int32_t parity = 0;                  ///< parity of the current phase
  std::map<int32_t, int32_t> lanes{};  ///< lanes that have arrived, by warp
  void endPhaseIfComplete() {
    if (missing != 0 || bytes != 0) return;
    parity ^= 1;
    missing = arrivals;
  }
};
/// A left operand in registers: 16 elements of 16 bits in each of two rows, which the four threads of these rows hold
/// together.
using LeftFragment = std::array<std::array<uint16_t, 16>, 2>;
struct PendingProduct {
  void* sums;
  const std::byte *left, *right;
  bool adds;
  GroupProduct product;
  LeftFragment fragment{};
};

struct Fibre {
  FibreState state = FibreState::ready;
  bool begun = false;
  int32_t site = 0, expected = 0;      ///< the barrier that it waits at: its number, and how many threads must reach it
  const Mbarrier* mbarrier = nullptr;  ///< the mbarrier that it waits for
  int32_t parity = 0;
  int64_t shuffles = 0, iterations = 0;
  std::deque<std::vector<PendingCopy>> copies;       ///< groups; the last one is not committed yet
  std::deque<std::vector<PendingProduct>> products;  ///< likewise
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
        warps_((order_.size() + kWarp - 1) / kWarp),
        random_(launch.seed) {
    std::iota(order_.begin(), order_.end(), 0);
    std::iota(warps_.begin(), warps_.end(), 0);
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
  /// The words, up to kWords, that a thread contributes to the shuffle of this number.
  int32_t* given(int64_t exchange, int32_t thread) {
    return &values_[static_cast<size_t>(((exchange % 2) * launch_.threads + thread) * kWords)];
  }
  /// Yields to other fibres until all that this one waits for have arrived.
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
  /// Null, and the block fails, if there is none at this address.
  Mbarrier* mbarrierAt(void* at) {
    const auto found = mbarriers_.find(at);
    if (found != mbarriers_.end()) return &found->second;
    trouble_ = "a signal is used before it is initialised";
    return nullptr;
  }
  void makeMbarrier(void* at, int32_t arrivals) { mbarriers_[at] = {.arrivals = arrivals, .missing = arrivals}; }
  void start(const PendingBox& box) {
    if (atOnce())
      complete(box);
    else
      boxes_.push_back(box);
  }
  /// Whether warps run ahead of others: in every second order of the threads.
  bool runsAhead() const { return launch_.seed % 2 == 1; }
  /// Whether an asynchronous operation completes immediately.
  bool atOnce() { return launch_.seed != 0 && (next() & 1) != 0; }

 private:
  /// A linear congruential generator (Knuth's MMIX).
  uint64_t next() { return (random_ = random_ * 6364136223846793005u + 1442695040888963407u) >> 33; }
  bool resume(int32_t thread);
  void shuffleOrder();
  bool releaseWarps();
  bool releaseMbarriers(bool all);
  bool releaseBarriers();
  bool completeBox();
  void complete(const PendingBox&);
  ptrdiff_t count(FibreState s) const {
    return std::count_if(fibres_.begin(), fibres_.end(), [&](const Fibre& f) { return f.state == s; });
  }
  std::string waiting() const;

  const BlockLaunch& launch_;
  const std::function<void()>& body_;
  std::vector<Fibre> fibres_;
  static constexpr int32_t kWords = 6;
  std::vector<int32_t> values_;  ///< what threads contribute to even and to odd shuffles, by thread
  std::byte* shared_;
  std::vector<int32_t> order_, warps_;  ///< the order of threads, and of warps
  uint64_t random_;
  int32_t current_ = 0;
  bool stopped_ = false;
  std::map<void*, Mbarrier> mbarriers_;
  std::vector<PendingBox> boxes_;
  std::optional<std::string> trouble_;
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
    void* stack = stacks.get().at(static_cast<size_t>(thread));
    if (!stack) return false;
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = stack;
    f.context.uc_stack.ss_size = stacks.get().bytes();
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
  for (auto* order : {&order_, &warps_})
    for (size_t i = order->size(); i > 1; --i) std::swap((*order)[i - 1], (*order)[next() % i]);
}

/// All warps continue, or only the first one that can, so that it runs as far ahead of others as barriers permit.
bool Block::releaseWarps() {
  bool any = false;
  for (const int32_t number : warps_) {
    const size_t first = static_cast<size_t>(number) * kWarp;
    const size_t end = std::min(first + kWarp, fibres_.size());
    const auto warp = [&](auto&& p) {
      return std::all_of(fibres_.begin() + static_cast<ptrdiff_t>(first), fibres_.begin() + static_cast<ptrdiff_t>(end),
                         p);
    };
    if (!warp(
            [&](const Fibre& f) { return f.state == FibreState::atShuffle && f.shuffles == fibres_[first].shuffles; }))
      continue;
    for (size_t i = first; i < end; ++i) fibres_[i].state = FibreState::ready;
    if (runsAhead()) return true;
    any = true;
  }
  return any;
}

/// `all`: also fibres whose phase has not ended, which test it again.
bool Block::releaseMbarriers(bool all) {
  bool any = false;
  for (Fibre& f : fibres_)
    if (f.state == FibreState::atMbarrier && (all || f.mbarrier->parity != f.parity)) {
      f.state = FibreState::ready;
      any = true;
    }
  return any;
}

bool Block::releaseBarriers() {
  const auto first = std::ranges::find(fibres_, FibreState::atBarrier, &Fibre::state);
  if (first == fibres_.end()) return false;
  const auto together = [&](const Fibre& f) {
    return f.state == FibreState::atBarrier && f.site == first->site && f.expected == first->expected;
  };
  if (std::ranges::count_if(fibres_, together) != first->expected) return false;
  if (launch_.seed != 0) shuffleOrder();
  std::vector<Fibre*> released;
  for (Fibre& f : fibres_)
    if (together(f)) released.push_back(&f);
  for (Fibre* f : released) f->state = FibreState::ready;
  return true;
}

void Block::complete(const PendingBox& box) {
  const HostTensorMap& map = box.map;
  const auto perVector = static_cast<int64_t>(kCopyBytes / map.elementBytes);
  int64_t vectors = map.box[0] / perVector;
  for (int32_t d = 1; d < map.rank; ++d) vectors *= map.box[d];
  for (int64_t i = 0; i < vectors; ++i) {
    int64_t rest = i / (map.box[0] / perVector), offset = 0, stride = map.extents[0];
    bool inside = true;
    for (int32_t d = 1; d < map.rank; ++d) {
      const int64_t at = box.at[static_cast<size_t>(d)] + rest % map.box[d];
      rest /= map.box[d];
      inside &= at >= 0 && at < map.extents[d];
      offset += at * stride;
      stride *= map.extents[d];
    }
    auto to = reinterpret_cast<uintptr_t>(box.to) + static_cast<uintptr_t>(kCopyBytes * i);
    to ^= (to >> 7 & 7) << 4;
    for (int64_t e = 0; e < perVector; ++e) {
      const int64_t at = box.at[0] + i % (map.box[0] / perVector) * perVector + e;
      auto* element = reinterpret_cast<std::byte*>(to) + e * map.elementBytes;
      if (inside && at >= 0 && at < map.extents[0])
        std::memcpy(element, map.base + (offset + at) * map.elementBytes, static_cast<size_t>(map.elementBytes));
      else
        std::memset(element, 0, static_cast<size_t>(map.elementBytes));
    }
  }
  if (Mbarrier* mbarrier = mbarrierAt(box.mbarrier)) {
    mbarrier->bytes -= kCopyBytes * vectors;
    mbarrier->endPhaseIfComplete();
  }
}

/// Copies are delayed as long as possible: until no fibre can continue without them.
bool Block::completeBox() {
  if (boxes_.empty()) return false;
  const size_t which = launch_.seed != 0 ? next() % boxes_.size() : 0;
  const PendingBox box = boxes_[which];
  boxes_.erase(boxes_.begin() + static_cast<ptrdiff_t>(which));
  complete(box);
  return true;
}

std::string Block::waiting() const {
  const ptrdiff_t atMbarriers = count(FibreState::atMbarrier);
  return fmt::format("of {} threads {} wait at a barrier, {} in a shuffle, {}and {} have ended", launch_.threads,
                     count(FibreState::atBarrier) + count(FibreState::looking), count(FibreState::atShuffle),
                     atMbarriers ? fmt::format("{} for a signal, ", atMbarriers) : "", count(FibreState::done));
}

std::optional<std::string> Block::run() {
  bool lookedAgain = false;  // whether all fibres at mbarriers have tested them since the last event
  for (;;) {
    const ptrdiff_t ended = count(FibreState::done);
    for (const int32_t t : order_)
      if (fibres_[static_cast<size_t>(t)].state == FibreState::ready && !resume(t))
        return fmt::format("there is no memory for the stacks of {} threads", launch_.threads);
    if (trouble_) return trouble_;
    const bool moved = count(FibreState::done) != ended;
    if (releaseWarps() || releaseMbarriers(false) || releaseBarriers() || completeBox()) {
      lookedAgain = false;
      continue;
    }
    const auto all = static_cast<ptrdiff_t>(fibres_.size());
    if (count(FibreState::done) == all) return std::nullopt;
    const ptrdiff_t looking = count(FibreState::looking), atMbarriers = count(FibreState::atMbarrier);
    if (looking > 0 && looking + atMbarriers + count(FibreState::done) == all) {
      // The flag is the same for all threads until all of them test it again.
      if (launch_.stop) stopped_ = launch_.stop->load(std::memory_order_relaxed);
      if (launch_.seed != 0) shuffleOrder();
      for (Fibre& f : fibres_)
        if (f.state == FibreState::looking) f.state = FibreState::ready;
      lookedAgain = false;
      continue;
    }
    // A fibre that waits for an mbarrier may find that the block has ended.
    if (atMbarriers == 0 || (lookedAgain && !moved)) return waiting();
    lookedAgain = true;
    releaseMbarriers(true);
  }
}

}  // namespace

std::optional<std::string> runBlock(const BlockLaunch& launch, const std::function<void()>& body) {
  const auto block = std::make_unique<Block>(launch, body);
  stacks.get().make(kStackBytes + static_cast<size_t>(launch.frameBytes));
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

void hostBarrier(int32_t site) { hostNamedBarrier(site, running->launch().threads); }

void hostNamedBarrier(int32_t site, int32_t threads) {
  running->fibre().site = site;
  running->fibre().expected = threads;
  running->wait(FibreState::atBarrier);
}

void hostMbarrierInit(void* mbarrier, int32_t arrivals) { running->makeMbarrier(mbarrier, arrivals); }

void hostMbarrierExpect(void* mbarrier, int32_t bytes) {
  Mbarrier* s = running->mbarrierAt(mbarrier);
  if (!s) return;
  s->bytes += bytes;
  --s->missing;
  s->endPhaseIfComplete();
}

void hostMbarrierArrive(void* mbarrier) {
  Mbarrier* s = running->mbarrierAt(mbarrier);
  if (!s || ++s->lanes[running->thread() / kWarp] < kWarp) return;
  s->lanes.erase(running->thread() / kWarp);
  --s->missing;
  s->endPhaseIfComplete();
}

int32_t hostMbarrierTest(void* mbarrier, int32_t parity) {
  const Mbarrier* s = running->mbarrierAt(mbarrier);
  if (s && s->parity == parity) {
    running->fibre().mbarrier = s;
    running->fibre().parity = parity;
    running->wait(FibreState::atMbarrier);
  }
  return s && s->parity != parity ? 1 : 0;
}

void hostCopyBox(void* to, const HostTensorMap& map, void* mbarrier, const int32_t (&at)[TensorMap::kMaxDimensions]) {
  PendingBox box{.to = static_cast<std::byte*>(to), .map = map, .mbarrier = mbarrier, .at = {}};
  std::ranges::copy(at, box.at.begin());
  running->start(box);
}

void hostWarpBarrier() {
  ++running->fibre().shuffles;
  running->wait(FibreState::atShuffle);
}

namespace {

/// Gives these bits and returns those of another thread of the warp.
int32_t exchanged(int32_t bits, int32_t self, int32_t other) {
  Block& b = *running;
  const int64_t number = ++b.fibre().shuffles;
  *b.given(number, self) = bits;
  b.wait(FibreState::atShuffle);
  return *b.given(number, other);
}

}  // namespace

int32_t hostShuffle(int32_t bits, int32_t laneMask) {
  const int32_t self = running->thread();
  return exchanged(bits, self, self ^ laneMask);
}

int32_t hostQuad(int32_t bits, int32_t lane) {
  constexpr int32_t kQuad = 4;
  const int32_t self = running->thread();
  return exchanged(bits, self, self / kQuad * kQuad + lane);
}

namespace {

/// An element as tensor cores read it.
template <class Sum>
Sum factor(const void* at, DType dtype) {
  uint32_t bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(storage_bytes(dtype)));
  switch (dtype) {
    case DType::i8:
      return static_cast<Sum>(static_cast<int8_t>(bits));
    case DType::f16:
      return static_cast<Sum>(eval::f16ToF32(static_cast<uint16_t>(bits)));
    case DType::bf16:
      return static_cast<Sum>(eval::bf16ToF32(static_cast<uint16_t>(bits)));
    case DType::f8e4m3fn:
      return static_cast<Sum>(eval::f8e4m3fnToF32(static_cast<uint8_t>(bits)));
    case DType::f8e5m2:
      return static_cast<Sum>(eval::f8e5m2ToF32(static_cast<uint8_t>(bits)));
    default: {
      constexpr uint32_t kTf32 = 0xffffe000;  // 10 bits of the mantissa
      return static_cast<Sum>(std::bit_cast<float>(bits & kTf32));
    }
  }
}

/// A word contains E elements, and 16 bytes of a row 4 · E. The element (row, k) of the left operand is in lane
/// 4·(row mod 8) + (k mod 4E) / E, in the word (row ≥ 8) + 2·(k ≥ 4E); (k, column) of the right one in lane
/// 4·column + (k mod 4E) / E, in the word k ≥ 4E; its number in the word is k mod E.
template <class Sum>
void multiplyByWarp(Block& b, Sum* sums, DType dtype, int64_t number, int32_t lane, int32_t first) {
  const auto bytes = static_cast<int32_t>(storage_bytes(dtype)), inWord = 4 / bytes;
  for (int32_t e = 0; e < 4; ++e) {
    const int32_t row = lane / 4 + 8 * (e / 2), column = 2 * (lane % 4) + e % 2;
    for (int32_t k = 0; k < 8 * inWord; ++k) {
      const int32_t inRow = k % (4 * inWord) / inWord, high = k / (4 * inWord);
      const auto* x =
          reinterpret_cast<const std::byte*>(b.given(number, first + 4 * (row % 8) + inRow) + row / 8 + 2 * high);
      const auto* y = reinterpret_cast<const std::byte*>(b.given(number, first + 4 * column + inRow) + 4 + high);
      sums[e] += factor<Sum>(x + k % inWord * bytes, dtype) * factor<Sum>(y + k % inWord * bytes, dtype);
    }
  }
}

}  // namespace

void hostMma(void* sums, DType dtype, const int32_t (&left)[4], const int32_t (&right)[2]) {
  Block& b = *running;
  const int32_t self = b.thread(), lane = self % kWarp, first = self - lane;
  const int64_t number = ++b.fibre().shuffles;
  std::copy_n(left, 4, b.given(number, self));
  std::copy_n(right, 2, b.given(number, self) + 4);
  b.wait(FibreState::atShuffle);
  if (dtype == DType::i8)
    multiplyByWarp(b, static_cast<int32_t*>(sums), dtype, number, lane, first);
  else
    multiplyByWarp(b, static_cast<float*>(sums), dtype, number, lane, first);
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

/// An element of an operand of a warp group's product, in rows of 128 bytes, eight after each other; bits 4 to 6 of its
/// address are xored with bits 7 to 9 (PTX ISA, "Swizzling Modes", 128-Byte swizzling). `side`: its row or
/// column. Only for 16-bit elements may K not be the inner dimension.
template <class Sum>
Sum operandAt(const std::byte* base, int64_t side, int64_t depth, bool depthInner, int64_t stride, DType dtype) {
  constexpr int64_t kRow = 128, kEightRows = 8 * kRow, kInner = 64;
  auto address = reinterpret_cast<uintptr_t>(base);
  if (depthInner)
    address += static_cast<uintptr_t>(side / 8 * kEightRows + side % 8 * kRow + depth * storage_bytes(dtype));
  else
    address +=
        static_cast<uintptr_t>(side / kInner * stride + depth / 8 * kEightRows + depth % 8 * kRow + side % kInner * 2);
  address ^= (address >> 7 & 7) << 4;
  return factor<Sum>(reinterpret_cast<const void*>(address), dtype);
}

/// Computes this thread's sums of a warp group's product (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNkK").
template <class Sum>
void complete(const PendingProduct& p, int32_t thread) {
  constexpr int64_t kMaxDepth = 32;
  const GroupProduct& g = p.product;
  const int64_t depth = kMaxDepth / storage_bytes(g.dtype);
  const int64_t lane = thread % kWarp, firstRow = thread / kWarp % 4 * 16 + lane / 4;
  for (int64_t half = 0; half < 2; ++half) {
    Sum left[kMaxDepth];
    for (int64_t k = 0; k < depth; ++k)
      left[k] = g.lhsInRegisters
                    ? factor<Sum>(&p.fragment[static_cast<size_t>(half)][static_cast<size_t>(k)], g.dtype)
                    : operandAt<Sum>(p.left, firstRow + 8 * half, k, g.lhsDepthInner, g.lhsStride, g.dtype);
    for (int64_t fragment = 0; fragment < g.columns / 8; ++fragment)
      for (int64_t e = 0; e < 2; ++e) {
        Sum& sum = static_cast<Sum*>(p.sums)[4 * fragment + 2 * half + e];
        if (!p.adds) sum = 0;
        for (int64_t k = 0; k < depth; ++k)
          sum += left[k] *
                 operandAt<Sum>(p.right, 8 * fragment + 2 * (lane % 4) + e, k, g.rhsDepthInner, g.rhsStride, g.dtype);
      }
  }
}

void complete(const PendingProduct& p, int32_t thread) {
  if (p.product.dtype == DType::i8)
    complete<int32_t>(p, thread);
  else
    complete<float>(p, thread);
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
void hostGroupMma(void* sums, const void* left, const void* right, bool adds, const GroupProduct& product) {
  auto& products = running->fibre().products;
  if (products.empty()) products.emplace_back();
  products.back().push_back(
      {sums, static_cast<const std::byte*>(left), static_cast<const std::byte*>(right), adds, product});
}
void hostGroupMma(void* sums, const int32_t (&left)[4], const void* right, bool adds, const GroupProduct& product) {
  PendingProduct p{sums, nullptr, static_cast<const std::byte*>(right), adds, product};
  // Words 0 and 1 have elements 0 … 7 along K of a row and of the row 8 further on, words 2 and 3 elements 8 … 15.
  for (int32_t lanes = 0; lanes < 4; ++lanes) {
    const auto column = static_cast<size_t>(2 * (running->thread() % 4 ^ lanes));
    for (size_t w = 0; w < 4; ++w) {
      const auto word = static_cast<uint32_t>(lanes == 0 ? left[w] : hostShuffle(left[w], lanes));
      for (size_t e = 0; e < 2; ++e)
        p.fragment[w % 2][w / 2 * 8 + column + e] = static_cast<uint16_t>(word >> (16 * e));
    }
  }
  auto& products = running->fibre().products;
  if (products.empty()) products.emplace_back();
  products.back().push_back(p);
}
void hostGroupCommit() {
  auto& products = running->fibre().products;
  if (products.empty()) products.emplace_back();
  products.emplace_back();
}
void hostGroupWait(int32_t groups) {
  auto& products = running->fibre().products;
  while (products.size() > static_cast<size_t>(groups) + 1) {
    for (const PendingProduct& p : products.front()) complete(p, running->thread());
    products.pop_front();
  }
}

int32_t hostStopped() {
  Block& b = *running;
  if (++b.fibre().iterations % kIterationsPerCheck == 0) b.wait(FibreState::looking);
  return b.stopped() ? 1 : 0;
}

}  // namespace smalti::gpu
