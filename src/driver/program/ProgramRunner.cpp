#include "driver/program/ProgramRunner.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/Lasting.h"
#include "base/Success.h"
#include "driver/program/TimeLimit.h"

namespace smalti::driver {
namespace {

void accumulate(machine::RunStatistics& all, const machine::RunStatistics& one) {
  all.gridSteps += one.gridSteps;
  all.instructions += one.instructions;
  all.windowFetches += one.windowFetches;
  all.windowWriteBacks += one.windowWriteBacks;
  all.dmaTransfers += one.dmaTransfers;
  all.dmaBytes += one.dmaBytes;
  all.allOrders += one.allOrders;
  all.someOrders += one.someOrders;
  all.peakWindowBytes = std::max(all.peakWindowBytes, one.peakWindowBytes);
  all.valueBytes = std::max(all.valueBytes, one.valueBytes);
}

Status checkArguments(const Program& program, std::span<const Array> arguments) {
  const Function& main = program.functions[program.main];
  const auto where = [&] { return std::vector<std::string>{fmt::format("program '{}'", program.name)}; };
  if (arguments.size() != main.arguments.size())
    return fail({.code = "SM5001",
                 .message = "the program gets the wrong number of arguments",
                 .place = {},
                 .where = where(),
                 .need = fmt::format("{} arrays", main.arguments.size()),
                 .have = fmt::format("{} arrays", arguments.size()),
                 .help = "give one array for each argument of main"});
  for (size_t i = 0; i < arguments.size(); ++i)
    if (const ArrayType& need = main.values[main.arguments[i]]; arguments[i].type() != need)
      return fail({.code = "SM5001",
                   .message = fmt::format("argument {} is of the wrong type", i),
                   .place = {},
                   .where = where(),
                   .need = need.str(),
                   .have = arguments[i].type().str(),
                   .help = "convert the array, or export the program for these shapes"});
  return success();
}

/// A kernel's error with the op that calls it.
Diagnostic atCall(Diagnostic d, const Op& op, const std::string& kernel) {
  if (!d.place.known()) d.place = op.place;
  if (std::none_of(d.where.begin(), d.where.end(), [](auto& w) { return w.starts_with("kernel '"); }))
    d.where.insert(d.where.begin(), fmt::format("kernel '{}'", kernel));
  return d;
}

}  // namespace

Diagnostic ofSoleKernel(const CompiledProgram& compiled, Diagnostic error) {
  const Program& program = *compiled.program;
  const Op& call = program.functions[static_cast<size_t>(program.main)].ops[0];
  return atCall(std::move(error), call, program.kernels[static_cast<size_t>(compiled.soleKernel)].name);
}

Result<RunOutcome> run(const CompiledProgram& compiled, std::vector<Array> arguments, const ExecuteSettings& settings,
                       std::span<Array> into) {
  if (auto status = checkArguments(*compiled.program, arguments); !status) return fail(std::move(status.error()));
  if (compiled.whole) {
    auto results = compiled.whole->run(arguments, settings);
    if (!results) return fail(std::move(results.error()));
    return RunOutcome{.results = std::move(*results), .findings = {}, .log = {}, .statistics = {}};
  }
  const TargetKernel* sole = compiled.sole();
  if (!sole) return ProgramRunner(compiled, settings).run(std::move(arguments));
  auto ran = sole->run({&arguments, 1}, settings, into);
  if (!ran) return fail(ofSoleKernel(compiled, std::move(ran.error())));
  return RunOutcome{std::move(ran->results[0]), std::move(ran->findings), std::move(ran->log), ran->statistics};
}

Result<RunOutcome> ProgramRunner::run(std::vector<Array> arguments) {
  std::vector<std::vector<Array>> ofLane;
  ofLane.push_back(std::move(arguments));
  if (compiled_.group) {
    shared_.emplace(*compiled_.group, settings_.stop);
    outcome_.process = compiled_.group->processes.rank();
    if (!compiled_.group->known.contains(compiled_.identity)) {
      if (Status same = shared_->agree(compiled_.identity); !same) {
        shared_->giveUp();
        return fail(std::move(same.error()));
      }
      compiled_.group->known.insert(compiled_.identity);
    }
  }
  static constinit Lasting<const Coordinates> kNowhere;
  std::vector<DeviceState> whole(1);
  whole[0].coordinates = &kNowhere.get();
  auto results = runFunction(compiled_.main(), std::move(whole), std::move(ofLane));
  if (!results && shared_) shared_->giveUp();
  if (!results) {  // earlier findings may explain it: for example a race that makes results differ
    Diagnostic d = std::move(results.error());
    for (const machine::Finding& f : outcome_.findings) d.related.push_back(f.diagnostic);
    return fail(std::move(d));
  }
  outcome_.results = std::move((*results)[0]);
  results->clear();
  for (Array& result : outcome_.results) {
    if (result.unique()) continue;  // others are arguments, constants of the program, or the same as another result
    auto copy = result.clone();
    if (!copy) return fail(std::move(copy.error()));
    result = std::move(*copy);
  }
  return std::move(outcome_);
}

void ProgramRunner::takeOperands(const Step& step, DeviceState& state, std::vector<Array>& into) {
  into.reserve(step.takes.size());
  for (size_t i = 0; i < step.takes.size(); ++i) {
    Array& value = state.values[step.operands[i]];
    if (step.takes[i])
      into.push_back(std::move(value));  // leaves an empty array
    else
      into.push_back(value);
  }
}

std::vector<Array> ProgramRunner::takeOperands(const Step& step, DeviceState& state) {
  std::vector<Array> operands;
  takeOperands(step, state, operands);
  return operands;
}

std::vector<std::vector<Array>>& ProgramRunner::takeAllOperands(const Step& step, DeviceStates states) {
  operands_.resize(states.size());
  for (size_t l = 0; l < states.size(); ++l) {
    operands_[l].clear();
    takeOperands(step, *states[l], operands_[l]);
  }
  return operands_;
}

void ProgramRunner::store(const Step& step, DeviceState& state, std::vector<Array> results) {
  for (size_t i = 0; i < step.results.size(); ++i) state.values[step.results[i]] = std::move(results[i]);
}

void ProgramRunner::release(const Step& step, DeviceStates states) {
  for (DeviceState* state : states)
    for (const ValueId v : step.dying) state->values[v] = Array();
}

ProgramRunner::Returned ProgramRunner::runFunction(const Function& f, std::vector<DeviceState> states,
                                                   std::vector<std::vector<Array>> arguments) {
  std::vector<DeviceState*> pointers;
  for (size_t l = 0; l < states.size(); ++l) {
    states[l].values.assign(f.values.size(), Array());
    for (size_t i = 0; i < f.arguments.size(); ++i) states[l].values[f.arguments[i]] = std::move(arguments[l][i]);
    pointers.push_back(&states[l]);
  }
  arguments.clear();
  return runOps(f, f.ops, pointers);
}

ProgramRunner::Returned ProgramRunner::runBlock(const Function& f, const Block& block, DeviceStates states,
                                                std::vector<std::vector<Array>> arguments) {
  for (size_t l = 0; l < states.size(); ++l)
    for (size_t i = 0; i < block.arguments.size(); ++i)
      states[l]->values[block.arguments[i]] = std::move(arguments[l][i]);
  arguments.clear();
  return runOps(f, block.ops, states);
}

ProgramRunner::Returned ProgramRunner::runOps(const Function& f, const std::vector<Op>& ops, DeviceStates states) {
  std::vector<std::vector<Array>> returned;
  for (const Step& step : compiled_.steps.of(ops)) {
    if (settings_.stop && settings_.stop->load(std::memory_order_relaxed))
      return fail(stoppedAt(step.op->place, fmt::format("program '{}'", program_.name)));
    if (step.returns) {
      for (DeviceState* state : states) returned.push_back(takeOperands(step, *state));
      release(step, states);
      break;
    }
    if (auto status = runStep(f, step, states); !status) {
      Diagnostic d = std::move(status.error());
      if (!d.place.known()) d.place = step.op->place;
      return fail(std::move(d));
    }
    release(step, states);
  }
  return returned;
}

Status (ProgramRunner::* ProgramRunner::runnerOf(std::string_view op))(const Function&, const Step&, DeviceStates) {
  if (op == "kernel_call") return &ProgramRunner::runKernel;
  if (op == "call") return &ProgramRunner::runCall;
  if (op == "manual_computation") return &ProgramRunner::runManual;
  if (op == "case" || op == "if") return &ProgramRunner::runBranches;
  if (op == "while") return &ProgramRunner::runWhile;
  if (op == "sharding_constraint") return &ProgramRunner::runSame;
  return nullptr;
}

Status ProgramRunner::runOnce(const Function& f, const Step& step, DeviceStates states) {
  for (DeviceState* state : states.subspan(1))
    for (size_t i = 0; i < step.takes.size(); ++i)
      if (step.takes[i]) state->values[step.operands[i]] = Array();  // they share it: now it may be overwritten
  if (Status ok = runStep(f, step, states.first(1)); !ok) return ok;
  for (DeviceState* state : states.subspan(1))
    for (const ValueId v : step.results) state->values[v] = states[0]->values[v];
  return success();
}

Status ProgramRunner::runStep(const Function& f, const Step& step, DeviceStates states) {
  if (step.once && states.size() > 1) return runOnce(f, step, states);
  if (step.run) return (this->*step.run)(f, step, states);
  if (step.exchange) return runCollective(f, step, states);
  if (step.evaluate) return runPlain(f, step, states);
  return fail({.code = "SM5002",
               .message = fmt::format("op '{}' is not implemented", step.op->name),
               .place = step.op->place,
               .help = "compute it outside the exported function"});
}

Status ProgramRunner::runSame(const Function&, const Step& step, DeviceStates states) {
  for (DeviceState* state : states) store(step, *state, takeOperands(step, *state));
  return success();
}

Status ProgramRunner::runPlain(const Function& f, const Step& step, DeviceStates states) {
  for (DeviceState* state : states) {
    std::vector<Array> operands = takeOperands(step, *state);
    plain::PlainCall call{*step.op,
                          f,
                          operands,
                          step.types,
                          state->device,
                          compiled_.numerics,
                          [state](ValueId v) -> const Array& { return state->values[v]; },
                          &program_,
                          shareWork(),
                          step.permutations};
    auto results = step.evaluate(call);
    if (!results) return fail(std::move(results.error()));
    store(step, *state, std::move(*results));
  }
  return success();
}

Status ProgramRunner::runGroup(const Function&, const Step& step, DeviceStates states) {
  for (DeviceState* state : states) {
    std::vector<Array> operands = takeOperands(step, *state);
    auto results = step.group->run(operands, step.types, shareWork(), settings_.stop);
    if (!results) return fail(std::move(results.error()));
    store(step, *state, std::move(*results));
  }
  return success();
}

Status ProgramRunner::runStepKernel(const Function& f, const Step& step, DeviceStates states) {
  // Observers see the program's own kernels.
  if (settings_.needsMachine()) return step.group ? runGroup(f, step, states) : runPlain(f, step, states);
  for (DeviceState* state : states) {
    auto results = step.kernel->run(takeOperands(step, *state), step.types, settings_);
    if (!results) return fail(std::move(results.error()));
    store(step, *state, std::move(*results));
  }
  return success();
}

Status ProgramRunner::runCall(const Function&, const Step& step, DeviceStates states) {
  const Op& op = *step.op;
  const Function& callee = *compiled_.functions.at(op.callee);
  std::vector<DeviceState> inner(states.size());
  std::vector<std::vector<Array>> arguments;
  for (size_t l = 0; l < states.size(); ++l) {
    inner[l].device = states[l]->device;
    inner[l].coordinates = states[l]->coordinates;
    arguments.push_back(takeOperands(step, *states[l]));
  }
  auto results = runFunction(callee, std::move(inner), std::move(arguments));
  if (!results) return fail(std::move(results.error()));
  for (size_t l = 0; l < states.size(); ++l) store(step, *states[l], std::move((*results)[l]));
  return success();
}

Status ProgramRunner::runKernel(const Function&, const Step& step, DeviceStates states) {
  const Op& op = *step.op;
  const KernelPackage& kernel = program_.kernels[op.kernel];
  // Devices that no other signals or copies to run it on their own, in a branch that others do not take.
  const bool runsAlone = allAxesManual_ && !compiled_.namesDevices.empty() && !compiled_.namesDevices[op.kernel];
  if (!step.once && !runsAlone && states.size() != static_cast<size_t>(share_.count))
    return fail({.code = "SM5004",
                 .message = fmt::format("kernel '{}' is reached by some devices only", kernel.name),
                 .place = op.place,
                 .need = fmt::format("all {} devices", share_.count),
                 .have = fmt::format("{} devices", states.size()),
                 .help = "name every mesh axis in the shard_map around it, and branch inside the kernel (pl.when)"});
  std::vector<std::vector<Array>>& operands = takeAllOperands(step, states);
  auto ran = callKernel(op.kernel, operands);
  for (std::vector<Array>& ofDevice : operands) ofDevice.clear();  // their memory is free now
  if (!ran) return fail(atCall(std::move(ran.error()), op, kernel.name));
  for (size_t l = 0; l < states.size(); ++l) store(step, *states[l], std::move(ran->results[l]));
  std::move(ran->findings.begin(), ran->findings.end(), std::back_inserter(outcome_.findings));
  std::move(ran->log.begin(), ran->log.end(), std::back_inserter(outcome_.log));
  accumulate(outcome_.statistics, ran->statistics);
  return success();
}

// Devices may take different branches: those that agree run theirs together.
Status ProgramRunner::runBranches(const Function& f, const Step& step, DeviceStates states) {
  const Op& op = *step.op;
  const int branches = static_cast<int>(op.regions.size());
  std::vector<std::vector<DeviceState*>> chosen(branches);
  for (DeviceState* state : states) {
    const Array& index = state->values[op.operands[0]];
    int branch = op.name == "if" ? (*index.as<uint8_t>() ? 0 : 1) : *index.as<int32_t>();
    if (branch < 0 || branch >= branches) branch = branches - 1;
    chosen[branch].push_back(state);
  }
  for (int b = 0; b < branches; ++b) {
    if (chosen[b].empty()) continue;
    auto results = runBlock(f, op.regions[b], chosen[b], std::vector<std::vector<Array>>(chosen[b].size()));
    if (!results) return fail(std::move(results.error()));
    for (size_t l = 0; l < chosen[b].size(); ++l) store(step, *chosen[b][l], std::move((*results)[l]));
  }
  return success();
}

// Devices whose condition has become false wait for the others.
Status ProgramRunner::runWhile(const Function& f, const Step& step, DeviceStates states) {
  const Op& op = *step.op;
  std::vector<DeviceState*> running(states.begin(), states.end());
  std::vector<std::vector<Array>> carried;
  for (DeviceState* state : states) carried.push_back(takeOperands(step, *state));
  for (int64_t steps = 0;; ++steps) {
    if (settings_.stepLimit > 0 && steps >= settings_.stepLimit)
      return fail({.code = "SM5005",
                   .message = "a loop around the kernels exceeds the iteration limit",
                   .place = op.place,
                   .need = fmt::format("at most {} iterations", settings_.stepLimit),
                   .help = "check the loop's condition, or raise the step limit"});
    auto conditions = runBlock(f, op.regions[0], running, carried);
    if (!conditions) return fail(std::move(conditions.error()));
    std::vector<DeviceState*> next;
    std::vector<std::vector<Array>> nextCarried;
    for (size_t l = 0; l < running.size(); ++l) {
      if (*(*conditions)[l][0].as<uint8_t>()) {
        next.push_back(running[l]);
        nextCarried.push_back(std::move(carried[l]));
      } else {
        store(step, *running[l], std::move(carried[l]));
      }
    }
    running = std::move(next);
    if (running.empty()) return success();
    carried.clear();
    auto results = runBlock(f, op.regions[1], running, std::move(nextCarried));
    if (!results) return fail(std::move(results.error()));
    carried = std::move(*results);
  }
}

}  // namespace smalti::driver
