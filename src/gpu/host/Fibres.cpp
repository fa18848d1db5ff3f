// The order in which fibres run, and their barriers, shuffles and copies.
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "base/process/ThreadLasting.h"
#include "gpu/host/Block.h"

namespace smalti::gpu {
namespace {

/// Of a thread's stack: what the primitives and `body` of a test need.
constexpr size_t kStackBytes = size_t{256} << 10, kPageBytes = 4096;
/// The period of the 128-byte swizzle.
constexpr size_t kSharedAlignment = 1024;
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

void enter() {
  running->body();
  running->finish();
}

}  // namespace

thread_local Block* running = nullptr;

Block::Block(const BlockLaunch& launch, const std::function<void()>& body)
    : launch_(launch),
      body_(body),
      fibres_(static_cast<size_t>(launch.threads)),
      values_(2 * kWords * static_cast<size_t>(launch.threads)),
      order_(static_cast<size_t>(launch.threads)),
      warps_((order_.size() + kWarp - 1) / kWarp),
      random_(launch.seed) {
  const auto bytes = static_cast<size_t>(std::max<int64_t>(launch.sharedBytes, 1));
  shared_ = new (std::align_val_t(kSharedAlignment)) std::byte[bytes];
  isUnpublished_.resize(bytes / kCopyBytes + 1);
  std::memset(shared_, 0xff, bytes);  // NaN: what the last block left here is undefined
  std::iota(order_.begin(), order_.end(), 0);
  std::iota(warps_.begin(), warps_.end(), 0);
}

Block::~Block() { ::operator delete[](shared_, std::align_val_t(kSharedAlignment)); }

void Block::wait(FibreState why) {
  Fibre& self = fibre();
  self.state = why;
  if (_setjmp(self.at) == 0) _longjmp(scheduler_, 1);
}

void Block::finish() {
  fibre().state = FibreState::done;
  _longjmp(scheduler_, 1);
}

Mbarrier* Block::mbarrierAt(void* at) {
  const auto found = mbarriers_.find(at);
  if (found != mbarriers_.end()) return &found->second;
  fail("a signal is used before it is initialised");
  return nullptr;
}

void Block::noteCopy(const std::byte* to) {
  if (to < shared_ || to >= shared_ + launch_.sharedBytes) return;
  const auto unit = static_cast<size_t>(to - shared_) / kCopyBytes;
  isUnpublished_[unit] = true;
  fibre().copied.push_back(unit);
}

void Block::publish() {
  for (const size_t unit : fibre().copied) isUnpublished_[unit] = false;
  fibre().copied.clear();
}

bool Block::isPublished(const std::byte* at) const {
  const auto unit = static_cast<size_t>(at - shared_) / kCopyBytes;
  return unit >= isUnpublished_.size() || !isUnpublished_[unit];
}

void Block::start(const PendingBox& box) {
  if (atOnce())
    complete(box);
  else
    boxes_.push_back(box);
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

std::span<Fibre> Block::fibresOf(int32_t warp) {
  const size_t first = static_cast<size_t>(warp) * kWarp;
  return std::span(fibres_).subspan(first, std::min<size_t>(kWarp, fibres_.size() - first));
}

/// Lets the warp continue if all of its threads are in the same shuffle.
bool Block::releaseWarp(int32_t warp) {
  const std::span<Fibre> fibres = fibresOf(warp);
  const auto isThere = [&](const Fibre& f) {
    return f.state == FibreState::atShuffle && f.shuffles == fibres.front().shuffles;
  };
  if (!std::ranges::all_of(fibres, isThere)) return false;
  for (Fibre& f : fibres) f.state = FibreState::ready;
  return true;
}

bool Block::releaseWarps() {
  bool any = false;
  for (const int32_t warp : warps_) any |= releaseWarp(warp);
  return any;
}

bool Block::runThread(int32_t thread) {
  if (fibres_[static_cast<size_t>(thread)].state != FibreState::ready) return false;
  if (!resume(thread)) fail(fmt::format("there is no memory for the stacks of {} threads", launch_.threads));
  return !trouble_;
}

/// Runs a warp until its next shuffle, or until it waits for others.
bool Block::runWarp(int32_t warp) {
  bool any = false;
  const int32_t first = warp * kWarp, end = first + static_cast<int32_t>(fibresOf(warp).size());
  for (int32_t t = first; t < end; ++t) any |= runThread(t);
  return releaseWarp(warp) || any;
}

/// Runs threads until all of them wait. If warps run ahead, the first one that can continue always does: all others are
/// then as late as possible.
void Block::runReady() {
  if (!runsAhead()) {
    for (const int32_t t : order_) runThread(t);
    return;
  }
  while (std::ranges::any_of(warps_, [&](int32_t warp) { return runWarp(warp); })) releaseMbarriers();
}

/// Lets the fibres continue that wait for this, or some of them.
bool Block::release(FibreState why, const std::function<bool(const Fibre&)>& which) {
  bool any = false;
  for (Fibre& f : fibres_)
    if (f.state == why && (!which || which(f))) {
      f.state = FibreState::ready;
      any = true;
    }
  return any;
}

/// Those whose phase has ended.
bool Block::releaseMbarriers() {
  return release(FibreState::atMbarrier, [](const Fibre& f) { return f.mbarrier->parity != f.parity; });
}

bool Block::releaseBarriers() {
  const auto first = std::ranges::find(fibres_, FibreState::atBarrier, &Fibre::state);
  if (first == fibres_.end()) return false;
  const int32_t site = first->site, expected = first->expected;
  const auto isThere = [&](const Fibre& f) { return f.site == site && f.expected == expected; };
  const auto waits = [&](const Fibre& f) { return f.state == FibreState::atBarrier && isThere(f); };
  if (std::ranges::count_if(fibres_, waits) != expected) return false;
  if (launch_.seed != 0) shuffleOrder();
  return release(FibreState::atBarrier, isThere);
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

/// What has not ended with the block. Copies would write to the memory of the next one; products are computed one by
/// one if the kernel may end before them (warning C7518 of ptxas).
std::optional<std::string> Block::inFlight() const {
  if (!boxes_.empty()) return "copies to shared memory are in flight at the end";
  const auto multiplies = [](const Fibre& f) {
    return std::ranges::any_of(f.products, [](const auto& group) { return !group.empty(); });
  };
  if (std::ranges::any_of(fibres_, multiplies)) return "products of warp groups are in flight at the end";
  return std::nullopt;
}

std::optional<std::string> Block::run() {
  const auto all = static_cast<ptrdiff_t>(fibres_.size());
  ptrdiff_t ended = 0;  // fibres that had ended when those at mbarriers were last told to test them again
  for (;;) {
    runReady();
    if (trouble_) return trouble_;
    if (count(FibreState::done) == all) return inFlight();
    if (releaseWarps() || releaseMbarriers() || releaseBarriers()) continue;
    // A fibre that waits for an mbarrier may find that others have ended.
    if (count(FibreState::done) > ended && release(FibreState::atMbarrier)) {
      ended = count(FibreState::done);
      continue;
    }
    // Products in flight end when no copy is in flight, either.
    if (completeBox() || release(FibreState::yielded)) continue;
    const ptrdiff_t looking = count(FibreState::looking), atMbarriers = count(FibreState::atMbarrier);
    if (looking > 0 && looking + atMbarriers + count(FibreState::done) == all) {
      // The flag is the same for all threads until all of them test it again.
      if (launch_.stop) stopped_ = launch_.stop->load(std::memory_order_relaxed);
      if (launch_.seed != 0) shuffleOrder();
      release(FibreState::looking);
      continue;
    }
    return waiting();
  }
}

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

void complete(const PendingCopy& c) {
  std::memcpy(c.to, c.from, static_cast<size_t>(c.bytes));
  std::memset(c.to + c.bytes, 0, static_cast<size_t>(kCopyBytes - c.bytes));
  running->noteCopy(c.to);
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

void hostPublish() { running->publish(); }

int32_t hostStopped() {
  Block& b = *running;
  if (++b.fibre().iterations % kIterationsPerCheck == 0) b.wait(FibreState::looking);
  return b.stopped() ? 1 : 0;
}

}  // namespace smalti::gpu
