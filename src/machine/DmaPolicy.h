// Decides when the data of a copy moves, at any time between its start and its wait (S-G1). There is one policy for
// each run. `DmaExecution` names three; others may follow a bandwidth, or replay or enumerate choices.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "machine/Machine.h"

namespace smalti::machine {

/// When a policy is asked.
enum class DmaOccasion : uint8_t {
  start,     ///< a copy has just been started; it is the only candidate
  activity,  ///< a program has begun a grid step, waited, signalled, or started a copy
  wait,      ///< a program can only continue when candidates arrive; asked again until it can
  poll,      ///< a program looks at a semaphore's count, which the candidates would raise
  roundEnd,  ///< every program has had its turn
  stuck,     ///< no program can go on until something arrives, or all have finished; asked again until it says no
};

/// A copy that has been started and whose data has not moved.
struct DmaInFlight {
  DmaTransfer transfer;
  int program = 0;  ///< the program that started it
};

/// The copies that an occasion is about, at least one, in the order they were started.
class DmaCandidates {
 public:
  explicit DmaCandidates(std::span<const DmaInFlight> all) : inFlight_(all), isAll_(true) {}
  DmaCandidates(std::span<const DmaInFlight> all, std::span<const size_t> positions)
      : inFlight_(all), positions_(positions) {}
  size_t size() const { return isAll_ ? inFlight_.size() : positions_.size(); }
  const DmaInFlight& operator[](size_t i) const { return inFlight_[position(i)]; }
  size_t position(size_t i) const { return isAll_ ? i : positions_[i]; }

 private:
  std::span<const DmaInFlight> inFlight_;
  std::span<const size_t> positions_;
  bool isAll_ = false;
};

class DmaPolicy {
 public:
  virtual ~DmaPolicy() = default;
  /// The candidate that moves now; nothing: none does. A `stuck` machine moves the first one if all are refused.
  virtual std::optional<size_t> choose(DmaOccasion, const DmaCandidates&) = 0;
  /// Whether a stuck machine leaves all copies in flight if all are refused.
  virtual bool mayRefuseAll() const { return false; }
};

std::unique_ptr<DmaPolicy> makeDmaPolicy(DmaExecution, uint64_t seed);

}  // namespace smalti::machine
