// Copies that a kernel has started and not yet waited for: any thread may execute them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace smalti::cpu {

/// Runs of bytes, numbered in up to kMaxRank dimensions; source and target do not overlap. Generated code builds it as
/// an array of i64: the members in this order.
struct Copy {
  static constexpr size_t kMaxRank = 4;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  int64_t runBytes = 0;
  std::array<int64_t, kMaxRank> sizes{1, 1, 1, 1};           ///< number of runs
  std::array<int64_t, kMaxRank> toStrides{}, fromStrides{};  ///< in bytes

  int64_t bytes() const { return runBytes * sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
  /// Whether one of the two may write what the other reads or writes.
  bool mayConflict(const Copy&) const;
  void execute() const;
};

/// One thread, the owner, pushes and finishes; any thread executes. A full queue refuses.
class CopyQueue {
 public:
  /// Finishes the copies that this one may conflict with, which is to be executed next: copies behave as if each were
  /// complete when it starts.
  void finishConflicting(const Copy&);
  /// The same, and leaves the copy to any thread. `semaphore`: the one that the kernel waits for. False: the queue is
  /// full.
  bool push(const Copy&, const void* semaphore);
  /// Executes the oldest copy that nobody has begun; false: there is none.
  bool runOne();
  /// Returns when the copies of this semaphore are done, of any if it is null; executes those that nobody has begun.
  void finish(const void* semaphore);
  /// Bytes of copies that nobody has begun, roughly.
  int64_t waitingBytes() const { return waiting_.load(std::memory_order_relaxed); }
  /// Whether nobody has begun a copy, in one order with the flags of threads that go to sleep.
  bool hasWork() const { return begun_.load() < pushed_.load(); }

 private:
  enum State : int { kFree, kReady, kTaken };
  struct alignas(64) Slot {
    std::atomic<int> state{kFree};
    Copy copy{};
    const void* semaphore = nullptr;  ///< the owner's
  };
  /// Executes the copy in this slot, if nobody has begun it.
  bool run(Slot&);
  /// Finishes the copies in progress for which `which` holds.
  template <class Which>
  void finishThose(Which which);

  static constexpr int64_t kSlots = 128;
  std::array<Slot, kSlots> slots_{};
  std::atomic<int64_t> pushed_{0};  ///< copies so far; number n is in slot n % kSlots
  std::atomic<int64_t> begun_{0};   ///< all before this one have been begun
  std::atomic<int64_t> waiting_{0};
  int64_t done_ = 0;  ///< the owner's: all before this one are done
};

}  // namespace smalti::cpu
