// Decides which program of the abstract machine runs next. Hardware does not define the order of programs: a scheduler
// chooses it, one per run. Runs use the seeded one; others may follow a clock, or replay or enumerate schedules.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "machine/Core.h"

namespace smalti::machine {

/// A turn of one program. Programs are numbered device by device, core by core.
struct Turn {
  int program = 0;
  int64_t maxInstructions = 1;  ///< at least 1; the turn ends earlier when the program blocks or finishes
  bool operator==(const Turn&) const = default;
};

/// The outcome of a turn.
struct TurnOutcome {
  RunState state = RunState::preempted;
  bool progressed = false;   ///< false: the program was blocked at a wait, and still is
  int64_t instructions = 0;  ///< done in this turn, index maps included
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// Called before the first turn: the programs, by number.
  virtual void start(std::span<const Actor> programs) = 0;
  /// The next turn. Nothing ends the round: then copies may move, messages arrive, and if no turn of the round made
  /// progress and nothing is in flight, the run ends with a deadlock. A round must end when no program can proceed; the
  /// runner ends one in which more turns than there are programs came to nothing. A finished program's turn comes to
  /// nothing.
  virtual std::optional<Turn> next() = 0;
  /// After each turn that `next` gave.
  virtual void ran(const Turn&, const TurnOutcome&) = 0;
};

/// Rounds in which every unfinished program has one turn of `quantum` instructions, in an order that the seed shuffles.
std::unique_ptr<Scheduler> makeSeededScheduler(uint64_t seed, int64_t quantum);

}  // namespace smalti::machine
