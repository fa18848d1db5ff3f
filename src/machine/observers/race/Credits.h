// The consequences of a wait. A semaphore is a number: a wait that succeeds does not know who raised it, only that the
// count would be too low without some of the raises.
#pragma once

#include <vector>

#include "machine/observers/race/Clock.h"

namespace smalti::machine::race {

/// The credits of one semaphore that no wait has proved yet.
class Credits {
 public:
  /// `event` raises the semaphore by `amount`, now or, if it is the end of a copy, at any time from now on. All that
  /// `clock` covers has happened by then, the event too.
  void raise(Epoch event, Clock clock, int64_t amount);
  /// A wait took `amount`: `waiter` learns of every event without which this much could not have been there.
  void take(int64_t amount, Clock& waiter);
  /// The waiter saw this count and took nothing.
  void see(int64_t count, Clock& waiter) const;

 private:
  struct Credit {
    Epoch event;
    Clock clock;
    int64_t amount = 0;
  };
  /// Whether a total of `taken` cannot be reached by the others alone: by those that do not follow it.
  bool isNeeded(const Credit&, int64_t taken) const;

  std::vector<Credit> credits_;
  int64_t total_ = 0, taken_ = 0;
};

}  // namespace smalti::machine::race
