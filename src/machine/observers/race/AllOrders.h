// The properties that all orders of a run share. Semaphores of the machine are counters on which only their owner
// waits: no step of a thread disables a step of another, so that all orders execute the same steps, as long as no
// thread looks at a count without waiting for it and no two accesses race. Therefore two accesses race in some order if
// and only if each can happen while the other's thread is stopped before its own; if none race and one order ends, all
// end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "machine/observers/race/History.h"

namespace smalti::machine::race {

class AllOrders {
 public:
  /// A step of a thread: it begins after others have ended, may wait, then raises, then starts a thread.
  struct Operation {
    int waitsOn = -1;
    int64_t waitsFor = 0;
    bool takes = true;  ///< subtracts the count that it waits for; false: a poll
    int raises = -1;
    int64_t raisesBy = 0;
    int begins = -1;
    std::vector<int> follows{};  ///< threads
  };
  struct Access {
    int thread = 0;
    int after = 0;        ///< operations of its thread that come before it
    bool within = false;  ///< it is part of the next operation: of a copy's
    bool write = false;
    Footprint footprint;
    Party party;
  };

  /// A thread that begins with the run, or (`begun` false) is started by an operation.
  int addThread(bool begun);
  void add(int thread, Operation operation) {
    threads_[static_cast<size_t>(thread)].operations.push_back(std::move(operation));
  }
  Operation& last(int thread) { return threads_[static_cast<size_t>(thread)].operations.back(); }
  int operations(int thread) const { return static_cast<int>(threads_[static_cast<size_t>(thread)].operations.size()); }
  /// Accesses that an equal one of the same thread between the same operations stands for are left out.
  void add(Access);
  int64_t size() const { return size_; }

  /// How far each thread comes when `thread` does no more than `most` operations: by number of operations.
  std::vector<int> farthest(int thread, int most) const;
  /// Calls `race` with every two accesses that some order leaves unordered. False: that would take more than `mostWork`
  /// steps.
  bool races(int64_t mostWork, const std::function<void(const Access&, const Access&)>& race) const;

 private:
  struct Thread {
    bool begun = true;
    std::vector<Operation> operations;
  };
  std::vector<Thread> threads_;
  std::vector<std::vector<Access>> memories_;  ///< accesses, by allocation
  std::map<AllocationId, size_t> memoryOf_;
  int64_t size_ = 0;
};

}  // namespace smalti::machine::race
