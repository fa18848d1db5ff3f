// Finds the wait that made each copy safe. Waits take counts off semaphores, copies add to them; the two are matched
// here, for observers. Nothing is kept without observers.
#pragma once

#include <vector>

#include "machine/Observer.h"

namespace smalti::machine {

class DmaLedger {
 public:
  /// A copy has started: its semaphores owe its bytes.
  void started(const DmaTransfer&);
  /// A wait took `amount` off `semaphore`; `ref` (may be null) is the target that the kernel names. The copies
  /// that it makes safe are reported to the observer: that of the same elements, else of the same size, else in
  /// starting order.
  void waited(const Actor&, const Ref& semaphore, int64_t amount, const Ref* ref, Observer&);

 private:
  struct Debt {
    DmaTransfer transfer;
    bool targetSide = true;
    int64_t left = 0;
    SemaphoreId semaphore;
    AllocationId allocation;  ///< of `ref`
    const Ref& ref() const { return targetSide ? transfer.target.view : transfer.source; }
  };
  void settle(size_t position, const Actor&, Observer&);
  std::vector<Debt> debts_;
};

}  // namespace smalti::machine
