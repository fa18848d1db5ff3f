// Copies in flight: started, moved when the policy says so, completed on their semaphores.
#pragma once

#include <vector>

#include "machine/DmaPolicy.h"
#include "machine/Transport.h"

namespace smalti::machine {

/// The count of a semaphore: the element that a ref of one element names.
int64_t& semaphoreCount(const Ref&);
/// The amount that a copy adds to this semaphore, and a wait takes: the bytes, or 1 on a regular one (S-G2, S-G3).
int64_t dmaCredit(const Ref& semaphore, int64_t bytes);

class DmaEngine {
 public:
  /// Copies to other cores and devices go through `transport`.
  DmaEngine(std::unique_ptr<DmaPolicy> policy, Transport& transport, Poison poison, bool tracks,
            RunStatistics& statistics)
      : policy_(std::move(policy)),
        transport_(&transport),
        poison_(poison),
        tracks_(tracks),
        statistics_(&statistics) {}
  void observe(Observer* observer) { observer_ = observer; }

  /// Takes the copy; when its data moves is up to the policy. `program`: who issued it.
  void start(DmaTransfer transfer, int program);
  int64_t nextId() const { return nextId_; }
  // Events of the machine, at which the policy may let data move.
  void onActivity();
  /// A waiter needs the semaphore's count to be at least `amount`.
  void onWait(const Ref& semaphore, int64_t amount) { moveFor(DmaOccasion::wait, semaphore, amount); }
  void onPoll(const Ref& semaphore) { moveFor(DmaOccasion::poll, semaphore, semaphoreCount(semaphore) + 1); }
  void onRoundEnd();
  /// No program can continue until something arrives: moves at least one copy. False if none is in flight.
  bool onStuck();
  /// Moves everything that is left.
  void drain();
  /// The error of the transport, if any.
  const Status& status() const { return status_; }

 private:
  /// Moves copies that complete on this semaphore, as the policy chooses, until its count is at least `amount`.
  void moveFor(DmaOccasion, const Ref& semaphore, int64_t amount);
  void moveChosen(DmaOccasion);
  void complete(size_t position);
  void execute(const DmaInFlight&);
  /// Reads the source into `bytes_` and `mask_`. True: with a mask.
  bool stage(const Ref& source, bool masks);
  void moveHere(const DmaTransfer&);
  void send(const DmaTransfer&);

  std::unique_ptr<DmaPolicy> policy_;
  Transport* transport_;
  Status status_;
  Poison poison_;
  bool tracks_;
  RunStatistics* statistics_;
  Observer* observer_ = nullptr;
  int64_t nextId_ = 0;
  std::vector<DmaInFlight> pending_;  ///< in the order they were started
  std::vector<size_t> candidates_;
  std::vector<std::byte> bytes_;  ///< staging
  std::vector<uint8_t> mask_;
};

}  // namespace smalti::machine
