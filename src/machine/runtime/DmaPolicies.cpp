// The three policies that the options name.
#include "machine/DmaPolicy.h"
#include "machine/runtime/Random.h"

namespace smalti::machine {
namespace {

/// Eager: a copy completes when it starts.
class EagerDma final : public DmaPolicy {
 public:
  std::optional<size_t> choose(DmaOccasion, const DmaCandidates&) override { return 0; }
};

/// As late as possible: when a program waits for it or polls for it, in the order they were started.
class OnWaitDma final : public DmaPolicy {
 public:
  explicit OnWaitDma(uint64_t seed) : random_(seed) {}
  std::optional<size_t> choose(DmaOccasion occasion, const DmaCandidates& candidates) override {
    switch (occasion) {
      case DmaOccasion::start:
      case DmaOccasion::activity:
        return std::nullopt;
      case DmaOccasion::roundEnd:
        return random_.below(static_cast<int64_t>(candidates.size()));
      default:
        return 0;
    }
  }

 private:
  Random random_;
};

/// At any time, in any order.
class RandomDma final : public DmaPolicy {
 public:
  explicit RandomDma(uint64_t seed) : random_(seed) {}
  std::optional<size_t> choose(DmaOccasion occasion, const DmaCandidates& candidates) override {
    switch (occasion) {
      case DmaOccasion::start:
      case DmaOccasion::poll:
        return std::nullopt;
      case DmaOccasion::stuck:
        return 0;
      case DmaOccasion::activity:
        // With probability 1/2 one of the copies moves: often enough to see both orders, rarely enough to leave some in
        // flight.
        if (!(random_.next() & 1)) return std::nullopt;
        [[fallthrough]];
      default:
        return random_.below(static_cast<int64_t>(candidates.size()));
    }
  }

 private:
  Random random_;
};

}  // namespace

std::unique_ptr<DmaPolicy> makeDmaPolicy(DmaExecution execution, uint64_t seed) {
  switch (execution) {
    case DmaExecution::eager:
      return std::make_unique<EagerDma>();
    case DmaExecution::onWait:
      return std::make_unique<OnWaitDma>(seed);
    case DmaExecution::random:
      break;
  }
  return std::make_unique<RandomDma>(seed);
}

}  // namespace smalti::machine
