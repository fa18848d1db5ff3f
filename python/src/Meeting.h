// Where the devices of a program of JAX meet for a kernel that they run together: one that names an axis of their mesh.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "smalti/executable.h"

namespace smalti::python {

/// One execution of a program on all its devices, and a call in it. A call's address is that of its attributes, which
/// XLA keeps once for every call of a compiled program, whatever device runs it.
struct CallSite {
  int64_t run = 0;
  const void* call = nullptr;
  auto operator<=>(const CallSite&) const = default;
};

using Outcome = Result<std::shared_ptr<const RunReport>>;

/// What a device brings along: arrays of the kernel's types, without the leading dimension of the executable's.
struct Seat {
  std::vector<Array> inputs, outputs;
  std::function<void(const Outcome&)> done;  ///< called once, on any thread
};

class Meetings {
 public:
  static Meetings& instance();

  /// Takes the device's seat among `devices` with the same call in the same run, the n-th time each (it may be in a
  /// loop), and returns. The last to come executes: `executable` takes and gives arrays whose leading dimension counts
  /// the devices. Then all are done, with their outputs written; with SM5010 once one has waited for `limit`. Nobody
  /// blocks, since a waiting thread may be the one that another device needs to get here.
  void meet(const CallSite&, int device, int devices, Seat, const Executable& executable, std::chrono::seconds limit);

 private:
  struct Round {
    std::chrono::steady_clock::time_point until;
    std::chrono::seconds limit{0};
    std::vector<std::optional<Seat>> seats;
    int taken = 0;
    bool givenUp = false;
  };
  using Key = std::pair<CallSite, int>;

  void watch();
  static Diagnostic giveUp(Round&, std::vector<Seat>& waiting);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool watched_ = false;
  /// How often a device was there; runs end without a word, so that whoever has not come for longest is forgotten.
  struct Visits {
    int count = 0;
    std::list<Key>::iterator place;
  };
  int visit(const CallSite&, int device);
  std::map<Key, Visits> visits_;
  std::list<Key> lastVisits_;    ///< who has not come for longest first
  std::map<Key, Round> rounds_;  ///< that wait for somebody
};

}  // namespace smalti::python
