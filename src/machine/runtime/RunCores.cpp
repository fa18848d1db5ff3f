#include "machine/runtime/RunCores.h"

#include <algorithm>

#include "machine/Scheduler.h"

namespace smalti::machine {
namespace {

/// The remaining instructions of all programs together.
class StepBudget {
 public:
  explicit StepBudget(int64_t limit) : left_(limit > 0 ? limit : INT64_MAX) {}
  int64_t left() const { return left_; }
  void spend(int64_t work) { left_ = std::max<int64_t>(0, left_ - work); }

 private:
  int64_t left_;
};

std::unique_ptr<Scheduler> makeScheduler(const MachineOptions& options) {
  return options.scheduler ? options.scheduler(options) : makeSeededScheduler(options.seed, options.stepQuantum);
}

class Runner {
 public:
  Runner(Runtime& runtime, std::vector<std::unique_ptr<CoreExecution>>& programs)
      : runtime_(runtime),
        programs_(programs),
        scheduler_(makeScheduler(runtime.options)),
        budget_(runtime.options.stepLimit),
        unfinished_(programs.size()) {}

  Status run() {
    std::vector<Actor> actors;
    for (const auto& p : programs_) actors.push_back(p->actor());
    scheduler_->start(actors);
    while (unfinished_ > 0) {
      const std::optional<Turn> turn = futileTurns_ > programs_.size() ? std::nullopt : scheduler_->next();
      if (Status ok = turn ? give(*turn) : endRound(); !ok) return ok;
      if (Status ok = receive(); !ok) return ok;
    }
    runtime_.dma.onRoundEnd();
    runtime_.dma.drain();
    if (!runtime_.dma.status()) return runtime_.dma.status();
    return runtime_.transport->barrier();
  }

 private:
  Status give(const Turn& turn) {
    if (runtime_.options.stop && runtime_.options.stop->load(std::memory_order_relaxed))
      return fail(stopped(runtime_, programs_));
    const auto number = static_cast<size_t>(turn.program);
    if (number >= programs_.size() || programs_[number]->state() == RunState::finished) {
      ++futileTurns_;
      return {};
    }
    CoreExecution& program = *programs_[number];
    const bool wasBlocked = program.state() == RunState::blocked, hasBudget = budget_.left() > 0;
    TurnOutcome outcome{.state = program.state()};
    if (wasBlocked && !hasBudget) {
      missedTurn_ = true;
    } else {
      const int64_t work = program.work(), waits = program.waitsDone();
      auto state = program.advance(std::min(std::max<int64_t>(1, turn.maxInstructions), budget_.left()));
      if (!state) return fail(std::move(state.error()));
      // A program that is still blocked at the same wait has made no progress.
      outcome = {*state, !(wasBlocked && *state == RunState::blocked && program.waitsDone() == waits),
                 program.work() - work};
      budget_.spend(outcome.instructions);
      unfinished_ -= *state == RunState::finished;
      progress_ |= outcome.progressed;
    }
    futileTurns_ = outcome.progressed && hasBudget ? 0 : futileTurns_ + 1;
    scheduler_->ran(turn, outcome);
    return {};
  }

  /// Messages from other devices that have arrived.
  Status receive() {
    if (!runtime_.dma.status()) return runtime_.dma.status();
    auto some = runtime_.transport->progress();
    if (!some) return fail(std::move(some.error()));
    progress_ |= *some;
    return {};
  }

  Status endRound() {
    if (progress_) {
      // A program that polls memory instead of waiting eventually sees the copy arrive.
      runtime_.dma.onRoundEnd();
    } else if (!missedTurn_ && !runtime_.dma.onStuck() && !runtime_.transport->awaitsMessages()) {
      return fail(deadlock(runtime_, programs_));
    }
    progress_ = missedTurn_ = false;
    futileTurns_ = 0;
    if (budget_.left() == 0) return fail(livelock(runtime_, programs_));
    return {};
  }

  Runtime& runtime_;
  std::vector<std::unique_ptr<CoreExecution>>& programs_;
  std::unique_ptr<Scheduler> scheduler_;
  StepBudget budget_;
  size_t unfinished_;
  size_t futileTurns_ = 0;                      ///< since the last one that made progress
  bool progress_ = false, missedTurn_ = false;  ///< in this round
};

}  // namespace

Status runCores(Runtime& runtime, std::vector<std::unique_ptr<CoreExecution>>& programs) {
  return Runner(runtime, programs).run();
}

}  // namespace smalti::machine
