// A block of threads while it runs: its fibres and their operations in flight. Only for src/gpu/host.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/host/Fibres.h"

namespace smalti::gpu {

/// `looking`: for the stop flag. `yielded`: its products are in flight.
enum class FibreState : uint8_t { ready, atBarrier, atShuffle, atMbarrier, looking, yielded, done };

constexpr int32_t kCopyBytes = 16;

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
  /// The sums when it was issued, if no other product in flight adds to them.
  std::optional<std::vector<std::byte>> before{};
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
  std::vector<size_t> copied;  ///< units of shared memory that it has copied to since its last fence.proxy.async
  bool isFenced = false;       ///< wgmma.fence since the registers of products may have been accessed
  ucontext_t context{};
  jmp_buf at{};
};

class Block {
 public:
  Block(const BlockLaunch&, const std::function<void()>& body);
  ~Block();
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
  void wait(FibreState why);
  [[noreturn]] void finish();
  void body() { body_(); }
  /// Ends the block, when this fibre waits, with what is wrong: a sentence without a full stop.
  void fail(std::string trouble) {
    if (!trouble_) trouble_ = std::move(trouble);
  }
  /// Null, and the block fails, if there is none at this address.
  Mbarrier* mbarrierAt(void* at);
  /// Copies of threads to shared memory are visible to products of warp groups after a fence of these threads (PTX ISA,
  /// "Async Proxy").
  void noteCopy(const std::byte* to);
  void publish();
  bool isPublished(const std::byte* at) const;
  void makeMbarrier(void* at, int32_t arrivals) { mbarriers_[at] = {.arrivals = arrivals, .missing = arrivals}; }
  void start(const PendingBox&);
  /// Whether warps run ahead of others: in every second order of the threads.
  bool runsAhead() const { return launch_.seed % 2 == 1; }
  /// Whether products of warp groups read their operands when they are issued, or as late as possible: by seeds in
  /// turn.
  bool multipliesAtOnce() const { return launch_.seed / 2 % 2 == 1; }
  /// Whether an asynchronous copy completes immediately.
  bool atOnce() { return launch_.seed != 0 && (next() & 1) != 0; }

 private:
  /// A linear congruential generator (Knuth's MMIX).
  uint64_t next() { return (random_ = random_ * 6364136223846793005u + 1442695040888963407u) >> 33; }
  bool resume(int32_t thread);
  std::span<Fibre> fibresOf(int32_t warp);
  bool runThread(int32_t thread);
  bool runWarp(int32_t warp);
  void runReady();
  void shuffleOrder();
  bool releaseWarp(int32_t warp);
  bool releaseWarps();
  bool release(FibreState why, const std::function<bool(const Fibre&)>& which = {});
  bool releaseMbarriers();
  bool releaseBarriers();
  bool completeBox();
  void complete(const PendingBox&);
  ptrdiff_t count(FibreState s) const {
    return std::count_if(fibres_.begin(), fibres_.end(), [&](const Fibre& f) { return f.state == s; });
  }
  std::string waiting() const;
  std::optional<std::string> inFlight() const;

  const BlockLaunch& launch_;
  const std::function<void()>& body_;
  std::vector<Fibre> fibres_;
  static constexpr int32_t kWords = 6;
  std::vector<int32_t> values_;  ///< what threads contribute to even and to odd shuffles, by thread
  std::byte* shared_ = nullptr;
  std::vector<bool> isUnpublished_;     ///< by unit of shared memory, of kCopyBytes
  std::vector<int32_t> order_, warps_;  ///< the order of threads, and of warps
  uint64_t random_;
  int32_t current_ = 0;
  bool stopped_ = false;
  std::map<void*, Mbarrier> mbarriers_;
  std::vector<PendingBox> boxes_;
  std::optional<std::string> trouble_;
  jmp_buf scheduler_{};
};

/// The block that runs in this thread of the process.
extern thread_local Block* running;

}  // namespace smalti::gpu
