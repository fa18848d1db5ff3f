#include "machine/runtime/Scheduler.h"

#include <algorithm>

#include "machine/runtime/Random.h"

namespace smalti::machine {
namespace {

/// Gives the program a turn. True when it has done something: a program blocked at the wait it was blocked at has not.
Result<bool> turn(Program& program, int64_t quantum) {
  const bool wasBlocked = program.state() == RunState::blocked;
  const int64_t waits = program.waitsDone();
  auto state = program.advance(quantum);
  if (!state) return fail(std::move(state.error()));
  return !(wasBlocked && *state == RunState::blocked && program.waitsDone() == waits);
}

/// What all programs together may still do.
class StepBudget {
 public:
  explicit StepBudget(int64_t limit) : left_(limit > 0 ? limit : INT64_MAX) {}
  int64_t left() const { return left_; }
  void spend(int64_t work) { left_ = std::max<int64_t>(0, left_ - work); }

 private:
  int64_t left_;
};

}  // namespace

Status runPrograms(Runtime& runtime, std::vector<std::unique_ptr<Program>>& programs) {
  Random random(runtime.options.seed ^ 0x5ced);
  const int64_t quantum = std::max<int64_t>(1, runtime.options.stepQuantum);
  StepBudget budget(runtime.options.stepLimit);
  std::vector<Program*> live;
  for (auto& p : programs) live.push_back(p.get());

  while (!live.empty()) {
    for (size_t i = live.size(); i > 1; --i) std::swap(live[i - 1], live[random.below(static_cast<int64_t>(i))]);
    bool progress = false, missedTurn = false;
    for (Program* program : live) {
      if (runtime.options.stop && runtime.options.stop->load(std::memory_order_relaxed))
        return fail(stopped(runtime, programs));
      if (budget.left() == 0 && program->state() == RunState::blocked) {
        missedTurn = true;
        continue;
      }
      const int64_t before = program->work();
      auto did = turn(*program, std::min(quantum, budget.left()));
      if (!did) return fail(std::move(did.error()));
      budget.spend(program->work() - before);
      progress |= *did;
    }
    std::erase_if(live, [](const Program* p) { return p->state() == RunState::finished; });
    if (progress) {
      // Whoever polls memory instead of waiting sees the copy arrive in the end.
      runtime.dma.moveOne();
    } else if (!missedTurn && !runtime.dma.drain()) {
      return fail(deadlock(runtime, programs));
    }
    if (budget.left() == 0 && !live.empty()) return fail(livelock(runtime, programs));
  }
  return {};
}

}  // namespace smalti::machine
