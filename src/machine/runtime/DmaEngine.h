// Copies in flight: started, moved when the options say so, completed on their semaphores.
#pragma once

#include <vector>

#include "machine/Machine.h"
#include "machine/runtime/Random.h"

namespace smalti::machine {

/// The count of a semaphore: the element that a ref of one element names.
int64_t& semaphoreCount(const Ref&);
/// What a copy adds to this semaphore, and a wait for it takes: the bytes, or 1 on a regular one (S-G2, S-G3).
int64_t dmaCredit(const Ref& semaphore, int64_t bytes);

class DmaEngine {
 public:
  DmaEngine(DmaExecution execution, uint64_t seed, Poison poison, bool tracks, RunStatistics& statistics)
      : execution_(execution), random_(seed), poison_(poison), tracks_(tracks), statistics_(&statistics) {}
  void observe(Observer* observer) { observer_ = observer; }

  /// Takes the copy; when its data moves is up to `DmaExecution`. `program`: who issued it.
  void start(DmaTransfer transfer, int program, bool strictOrdering);
  int64_t nextId() const { return nextId_; }
  /// Called whenever a program does something: with `random`, data may move now.
  void makeProgress();
  /// Moves data of copies that complete on this semaphore until its count is at least `amount`, as a waiter needs.
  void makeProgressFor(const Ref& semaphore, int64_t amount);
  /// Moves one copy's data, whichever.
  void moveOne();
  /// Moves everything that is left. False when there was nothing.
  bool drain();
  bool idle() const { return pending_.empty(); }

 private:
  struct Pending {
    DmaTransfer transfer;
    int program = 0;
    bool strictOrdering = false;
  };
  void complete(size_t position);
  void execute(const Pending&);

  DmaExecution execution_;
  Random random_;
  Poison poison_;
  bool tracks_;
  RunStatistics* statistics_;
  Observer* observer_ = nullptr;
  int64_t nextId_ = 0;
  std::vector<Pending> pending_;  ///< in the order they were started
  std::vector<std::byte> bytes_;  ///< staging
  std::vector<uint8_t> mask_;
};

}  // namespace smalti::machine
