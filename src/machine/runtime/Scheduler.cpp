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

}  // namespace

Status runPrograms(Runtime& runtime, std::vector<std::unique_ptr<Program>>& programs) {
  Random random(runtime.options.seed ^ 0x5ced);
  const int64_t quantum = std::max<int64_t>(1, runtime.options.stepQuantum);
  std::vector<Program*> live;
  for (auto& p : programs) live.push_back(p.get());
  const int64_t limit = runtime.options.stepLimit;
  int64_t work = 0;

  while (!live.empty()) {
    for (size_t i = live.size(); i > 1; --i) std::swap(live[i - 1], live[random.below(static_cast<int64_t>(i))]);
    bool progress = false;
    for (Program* program : live) {
      const int64_t before = program->work();
      auto did = turn(*program, limit > 0 ? std::min(quantum, limit - work + 1) : quantum);
      if (!did) return fail(std::move(did.error()));
      progress |= *did;
      work += program->work() - before;
      if (limit > 0 && work > limit) return fail(livelock(runtime, programs));
    }
    std::erase_if(live, [](Program* p) { return p->state() == RunState::finished; });
    if (!progress) {
      if (!runtime.dma.drain()) return fail(deadlock(runtime, programs));
    } else {
      // Whoever polls memory instead of waiting sees the copy arrive in the end.
      runtime.dma.moveOne();
    }
  }
  return {};
}

}  // namespace smalti::machine
