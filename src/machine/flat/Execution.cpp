// Runs a flat program: one indirect call per instruction.
#include <cstring>

#include <fmt/format.h>

#include "machine/flat/Events.h"
#include "machine/flat/Frame.h"
#include "machine/flat/ops/Table.h"

namespace smalti::machine {

using flat::Frame;
using flat::Instruction;
using flat::Slot;
using flat::SlotInit;
using flat::Stop;

struct Execution::State {
  std::shared_ptr<const FlatProgram> program;
  std::vector<Slot> slots;
  std::vector<Ref> refs;
  Frame frame;
  int64_t instructions = 0;
  std::optional<flat::InstructionEvents> events;  ///< once an observer has asked for them
  const Instruction* announced = nullptr;         ///< the observer has seen it: a wait that is tried again
};

namespace {

/// The instruction at which a loop stopped, and how many it might still have done.
struct Stopped {
  const Instruction* at;
  int64_t left;
};

Stopped runQuietly(Frame& f, int64_t left) {
  const Instruction* i = f.at;
  while (left > 0) {
    f.at = i;
    --left;
    const Instruction* next = i->run(f, i);
    if (!next) break;
    i = next;
  }
  return {i, left};
}

Stopped runObserved(Frame& f, int64_t left, const flat::InstructionEvents& events, const Instruction*& announced) {
  const Instruction* i = f.at;
  while (left > 0) {
    f.at = i;
    --left;
    if (i != announced)
      for (const InstructionEvent& e : events.of(i)) f.observer->instruction(f.core->actor(), e);
    announced = nullptr;
    const Instruction* next = i->run(f, i);
    if (!next) {
      if (f.stop == Stop::blocked) announced = i;
      break;
    }
    i = next;
  }
  return {i, left};
}

}  // namespace

Execution::Execution(std::shared_ptr<const FlatProgram> program) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.program = std::move(program);
  s.slots.resize(s.program->slots.size());
  s.refs.resize(static_cast<size_t>(s.program->refs));
  Frame& f = s.frame;
  f.program = s.program.get();
  f.slots = s.slots.data();
  f.refs = s.refs.data();
  f.allocated.assign(s.program->sites.size(), nullptr);
  f.at = s.program->code.data();
  std::byte* arena = f.arena.reserve(s.program->arenaBytes);
  for (size_t i = 0; i < s.slots.size(); ++i) {
    Slot& slot = s.slots[i];
    const SlotInit& init = s.program->slots[i];
    slot.bits = init.bits;
    switch (init.kind) {
      case SlotInit::Kind::inlined:
        slot.home = reinterpret_cast<std::byte*>(&slot.bits);
        break;
      case SlotInit::Kind::arena:
        slot.home = arena + init.offset;
        break;
      case SlotInit::Kind::constant:
        slot.home = const_cast<std::byte*>(s.program->constants.data()) + init.offset;
        break;
    }
    slot.data = slot.home;
  }
}

Execution::~Execution() = default;
Execution::Execution(Execution&&) noexcept = default;

void Execution::start(std::span<const Argument> arguments) {
  State& s = *state_;
  Frame& f = s.frame;
  const auto& parameters = s.program->parameters;
  for (size_t i = 0; i < parameters.size() && i < arguments.size(); ++i) {
    if (parameters[i].isRef) {
      if (const Ref* ref = std::get_if<Ref>(&arguments[i])) f.refs[parameters[i].index] = *ref;
    } else if (const int32_t* value = std::get_if<int32_t>(&arguments[i])) {
      std::memcpy(&f.slots[parameters[i].index].bits, value, sizeof *value);
    }
  }
  f.at = s.program->code.data();
  f.stop = Stop::none;
  f.results.clear();
  f.resultsUndefined = false;
  std::fill(f.allocated.begin(), f.allocated.end(), nullptr);
  f.matrixUnits.clear();
  s.announced = nullptr;
}

Result<RunState> Execution::run(Core& core, int64_t maxInstructions) {
  Frame& f = state_->frame;
  f.core = &core;
  f.observer = core.observer();
  f.tracks = core.tracksInitialisation();
  if (!f.arena.data() || (f.tracks && !f.maskArena.reserve(f.program->arenaBytes)))
    return fail({.code = "SM9003",
                 .message = "out of memory for the values of this kernel",
                 .place = f.place(),
                 .need = fmt::format("{} bytes", f.program->arenaBytes)});
  f.stop = Stop::none;
  Stopped stopped;
  if (f.observer && f.observer->interest().instructions) {
    if (!state_->events) state_->events.emplace(*f.program);
    stopped = runObserved(f, maxInstructions, *state_->events, state_->announced);
  } else {
    stopped = runQuietly(f, maxInstructions);
  }
  f.at = stopped.at;
  state_->instructions += maxInstructions - stopped.left;
  switch (f.stop) {
    case Stop::failed:
      return fail(f.failure);
    case Stop::finished:
      return RunState::finished;
    case Stop::blocked:
      return RunState::blocked;
    case Stop::none:
      break;
  }
  return RunState::preempted;
}

std::span<const int32_t> Execution::results() const { return state_->frame.results; }
bool Execution::resultsUndefined() const { return state_->frame.resultsUndefined; }
SourcePlace Execution::place() const { return state_->frame.place(); }
int64_t Execution::instructions() const { return state_->instructions; }

namespace flat {

const Instruction* finish(Frame& frame, const Instruction*) {
  for (const Operand& result : frame.program->results) {
    frame.results.push_back(static_cast<int32_t>(frame.integer(result)));
    frame.resultsUndefined |= frame.undefined(result);
  }
  frame.stop = Stop::finished;
  return nullptr;
}

}  // namespace flat
}  // namespace smalti::machine
