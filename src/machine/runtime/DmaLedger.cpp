#include "machine/runtime/DmaLedger.h"

#include <algorithm>

#include "machine/runtime/DmaEngine.h"

namespace smalti::machine {

void DmaLedger::started(const DmaTransfer& t) {
  debts_.push_back(
      {t, true, dmaCredit(t.targetSemaphore.view, t.bytes), semaphoreIdOf(t.targetSemaphore), idOf(t.target)});
  if (!t.isLocal())
    debts_.push_back(
        {t, false, dmaCredit(t.sourceSemaphore, t.bytes), semaphoreIdOf(t.sourceSemaphore), idOf(*t.source.buffer)});
}

void DmaLedger::settle(size_t position, const Actor& actor, Observer& observer) {
  const Debt debt = std::move(debts_[position]);
  debts_.erase(debts_.begin() + static_cast<ptrdiff_t>(position));
  observer.dmaWaited(actor, debt.transfer, debt.targetSide);
}

void DmaLedger::waited(const Actor& actor, const Ref& semaphore, int64_t amount, const Ref* ref, Observer& observer) {
  const SemaphoreId id = semaphoreIdOf(semaphore);
  auto on = [&](const Debt& d) { return d.semaphore == id; };
  auto same = [&](const Debt& d) {
    return ref && on(d) && d.left == amount && d.allocation == idOf(*ref->buffer) && d.ref().offset == ref->offset &&
           d.ref().viewShape() == ref->viewShape();
  };
  auto found = std::find_if(debts_.begin(), debts_.end(), same);
  if (found == debts_.end())
    found = std::find_if(debts_.begin(), debts_.end(), [&](const Debt& d) { return on(d) && d.left == amount; });
  if (found != debts_.end()) return settle(found - debts_.begin(), actor, observer);
  for (size_t i = 0; i < debts_.size() && amount > 0;) {
    if (!on(debts_[i])) {
      ++i;
      continue;
    }
    const int64_t paid = std::min(amount, debts_[i].left);
    debts_[i].left -= paid;
    amount -= paid;
    if (debts_[i].left == 0)
      settle(i, actor, observer);
    else
      ++i;
  }
}

}  // namespace smalti::machine
