#include <algorithm>
#include <numeric>
#include <vector>

#include "machine/Scheduler.h"
#include "machine/runtime/Random.h"

namespace smalti::machine {
namespace {

class SeededScheduler final : public Scheduler {
 public:
  SeededScheduler(uint64_t seed, int64_t quantum) : random_(seed ^ 0x5ced), quantum_(std::max<int64_t>(1, quantum)) {}

  void start(std::span<const Actor> programs) override {
    live_.resize(programs.size());
    std::iota(live_.begin(), live_.end(), 0);
    finished_.assign(programs.size(), false);
  }

  std::optional<Turn> next() override {
    if (!inRound_) beginRound();
    if (at_ < live_.size()) return Turn{live_[at_++], quantum_};
    inRound_ = false;
    return std::nullopt;
  }

  void ran(const Turn& turn, const TurnOutcome& outcome) override {
    finished_[static_cast<size_t>(turn.program)] = outcome.state == RunState::finished;
  }

 private:
  void beginRound() {
    std::erase_if(live_, [&](int p) { return finished_[static_cast<size_t>(p)]; });
    for (size_t i = live_.size(); i > 1; --i) std::swap(live_[i - 1], live_[random_.below(static_cast<int64_t>(i))]);
    at_ = 0;
    inRound_ = true;
  }

  Random random_;
  int64_t quantum_;
  std::vector<int> live_;  ///< in this round's order
  std::vector<bool> finished_;
  size_t at_ = 0;  ///< into `live_`: whose turn is next
  bool inRound_ = false;
};

}  // namespace

std::unique_ptr<Scheduler> makeSeededScheduler(uint64_t seed, int64_t quantum) {
  return std::make_unique<SeededScheduler>(seed, quantum);
}

}  // namespace smalti::machine
