// The accesses to one allocation that a later access may still race with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "machine/observers/race/Clock.h"
#include "machine/observers/race/Footprint.h"

namespace smalti::machine::race {

using Step = std::shared_ptr<const std::vector<int32_t>>;

/// A copy, as long as an access may race with it.
struct Copy {
  SourcePlace place;
  std::string source, target;  ///< names of the buffers
  std::string sent, received;  ///< of the semaphores; `sent` empty: it is local
  int targetDevice = 0, targetCore = 0;
};

/// The actor of an access, and its place in the kernel.
struct Party {
  int device = 0, core = 0;  ///< of a copy: that started it
  Step step;
  MemoryAccess::Kind kind = MemoryAccess::Kind::load;
  const SourcePlace* place = nullptr;  ///< of what is not a copy
  std::shared_ptr<const Copy> copy;
  bool isAtomic() const { return kind == MemoryAccess::Kind::atomic; }
  bool isWindow() const {
    return kind == MemoryAccess::Kind::windowFetch || kind == MemoryAccess::Kind::windowWriteBack;
  }
  SourcePlace where() const { return copy ? copy->place : place ? *place : SourcePlace{}; }
  bool sameProgram(const Party& o) const { return device == o.device && core == o.core; }
};

/// Whether two unordered accesses to the same memory are a race: one writes, and not both are atomic.
inline bool conflict(bool write, const Party& party, bool otherWrite, const Party& other) {
  return (write || otherWrite) && !(party.isAtomic() && other.isAtomic());
}

struct Record {
  Epoch epoch;
  bool write = false;
  Footprint footprint;
  Party party;
};

class History {
 public:
  /// Calls `race` with each record that conflicts with this access of a thread whose clock is `clock`.
  template <class F>
  void check(const Clock& clock, const Footprint& footprint, bool write, const Party& party, F&& race) const {
    for (const Record& r : records_)
      if (conflict(write, party, r.write, r.party) && !clock.covers(r.epoch) && meet(r.footprint, footprint)) race(r);
  }
  /// `clock`: what its doer has seen. Records before it that it covers are dropped: an access that races with one of
  /// these races with this one too.
  void add(Record record, const Clock& clock) {
    std::erase_if(records_, [&](const Record& r) {
      const bool conflictsLess = record.party.isAtomic() && !r.party.isAtomic();
      return (record.write || !r.write) && !conflictsLess && clock.covers(r.epoch) &&
             contains(record.footprint, r.footprint);
    });
    records_.push_back(std::move(record));
  }
  /// Drops records that `clock` covers; for memory that only one program and its copies access.
  void forget(const Clock& clock) {
    std::erase_if(records_, [&](const Record& r) { return clock.covers(r.epoch); });
  }
  bool empty() const { return records_.empty(); }

 private:
  std::vector<Record> records_;
};

}  // namespace smalti::machine::race
