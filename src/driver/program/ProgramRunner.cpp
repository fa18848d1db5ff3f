#include "driver/program/ProgramRunner.h"

#include <algorithm>

#include <fmt/format.h>

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
  return {};
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
  static const Coordinates kNowhere;
  std::vector<Lane> whole(1);
  whole[0].coordinates = &kNowhere;
  auto results = runFunction(program_.functions[program_.main], std::move(whole), std::move(ofLane));
  if (!results && shared_) shared_->giveUp();
  if (!results) {  // what was found until then may be the cause: a race, and results that differ
    Diagnostic d = std::move(results.error());
    for (const machine::Finding& f : outcome_.findings) d.related.push_back(f.diagnostic);
    return fail(std::move(d));
  }
  outcome_.results = std::move((*results)[0]);
  return std::move(outcome_);
}

std::vector<Array> ProgramRunner::takeOperands(const Step& step, Lane& lane) {
  std::vector<Array> operands;
  operands.reserve(step.takes.size());
  for (size_t i = 0; i < step.takes.size(); ++i) {
    Array& value = lane.values[step.op->operands[i]];
    if (step.takes[i])
      operands.push_back(std::exchange(value, Array()));
    else
      operands.push_back(value);
  }
  return operands;
}

void ProgramRunner::store(const Op& op, Lane& lane, std::vector<Array> results) {
  for (size_t i = 0; i < op.results.size(); ++i) lane.values[op.results[i]] = std::move(results[i]);
}

void ProgramRunner::release(const Step& step, Lanes lanes) {
  for (Lane* lane : lanes)
    for (const ValueId v : step.dying) lane->values[v] = Array();
}

ProgramRunner::Returned ProgramRunner::runFunction(const Function& f, std::vector<Lane> lanes,
                                                   std::vector<std::vector<Array>> arguments) {
  std::vector<Lane*> pointers;
  for (size_t l = 0; l < lanes.size(); ++l) {
    lanes[l].values.assign(f.values.size(), Array());
    for (size_t i = 0; i < f.arguments.size(); ++i) lanes[l].values[f.arguments[i]] = std::move(arguments[l][i]);
    pointers.push_back(&lanes[l]);
  }
  arguments.clear();
  return runOps(f, f.ops, pointers);
}

ProgramRunner::Returned ProgramRunner::runBlock(const Function& f, const Block& block, Lanes lanes,
                                                std::vector<std::vector<Array>> arguments) {
  for (size_t l = 0; l < lanes.size(); ++l)
    for (size_t i = 0; i < block.arguments.size(); ++i)
      lanes[l]->values[block.arguments[i]] = std::move(arguments[l][i]);
  arguments.clear();
  return runOps(f, block.ops, lanes);
}

ProgramRunner::Returned ProgramRunner::runOps(const Function& f, const std::vector<Op>& ops, Lanes lanes) {
  std::vector<std::vector<Array>> returned;
  for (const Step& step : compiled_.steps.of(ops)) {
    if (settings_.stop && settings_.stop->load(std::memory_order_relaxed))
      return fail(stoppedAt(step.op->place, fmt::format("program '{}'", program_.name)));
    if (step.returns) {
      for (Lane* lane : lanes) returned.push_back(takeOperands(step, *lane));
      break;
    }
    if (auto status = runStep(f, step, lanes); !status) {
      Diagnostic d = std::move(status.error());
      if (!d.place.known()) d.place = step.op->place;
      return fail(std::move(d));
    }
    release(step, lanes);
  }
  return returned;
}

Status (ProgramRunner::* ProgramRunner::runnerOf(std::string_view op))(const Function&, const Step&, Lanes) {
  if (op == "kernel_call") return &ProgramRunner::runKernel;
  if (op == "call") return &ProgramRunner::runCall;
  if (op == "manual_computation") return &ProgramRunner::runManual;
  if (op == "case" || op == "if") return &ProgramRunner::runBranches;
  if (op == "while") return &ProgramRunner::runWhile;
  if (op == "sharding_constraint") return &ProgramRunner::runSame;
  return nullptr;
}

Status ProgramRunner::runStep(const Function& f, const Step& step, Lanes lanes) {
  if (step.run) return (this->*step.run)(f, step, lanes);
  if (step.exchange) return runCollective(f, step, lanes);
  if (step.evaluate) return runPlain(f, step, lanes);
  return fail({.code = "SM5002",
               .message = fmt::format("op '{}' has no evaluation", step.op->name),
               .place = step.op->place,
               .help = "compute it outside the exported function"});
}

Status ProgramRunner::runSame(const Function&, const Step& step, Lanes lanes) {
  for (Lane* lane : lanes) store(*step.op, *lane, takeOperands(step, *lane));
  return {};
}

Status ProgramRunner::runPlain(const Function& f, const Step& step, Lanes lanes) {
  for (Lane* lane : lanes) {
    std::vector<Array> operands = takeOperands(step, *lane);
    plain::PlainCall call{
        *step.op, f, operands, step.types, lane->device, compiled_.numerics, [lane](ValueId v) -> const Array& {
          return lane->values[v];
        }};
    auto results = step.evaluate(call);
    if (!results) return fail(std::move(results.error()));
    store(*step.op, *lane, std::move(*results));
  }
  return {};
}

Status ProgramRunner::runCall(const Function&, const Step& step, Lanes lanes) {
  const Op& op = *step.op;
  const Function& callee = *compiled_.functions.at(op.callee);
  std::vector<Lane> inner(lanes.size());
  std::vector<std::vector<Array>> arguments;
  for (size_t l = 0; l < lanes.size(); ++l) {
    inner[l].device = lanes[l]->device;
    inner[l].coordinates = lanes[l]->coordinates;
    arguments.push_back(takeOperands(step, *lanes[l]));
  }
  auto results = runFunction(callee, std::move(inner), std::move(arguments));
  if (!results) return fail(std::move(results.error()));
  for (size_t l = 0; l < lanes.size(); ++l) store(op, *lanes[l], std::move((*results)[l]));
  return {};
}

Status ProgramRunner::runKernel(const Function&, const Step& step, Lanes lanes) {
  const Op& op = *step.op;
  const KernelPackage& kernel = program_.kernels[op.kernel];
  if (lanes.size() != static_cast<size_t>(share_.count))
    return fail({.code = "SM5004",
                 .message = fmt::format("kernel '{}' is reached by some devices only", kernel.name),
                 .place = op.place,
                 .need = fmt::format("all {} devices", share_.count),
                 .have = fmt::format("{} devices", lanes.size()),
                 .help = "name every mesh axis in the shard_map around it, and branch inside the kernel (pl.when)"});
  std::vector<std::vector<Array>> operands;
  operands.reserve(lanes.size());
  for (Lane* lane : lanes) operands.push_back(takeOperands(step, *lane));
  auto ran = callKernel(op.kernel, operands);
  if (!ran) return fail(atCall(std::move(ran.error()), op, kernel.name));
  for (size_t l = 0; l < lanes.size(); ++l) store(op, *lanes[l], std::move(ran->results[l]));
  std::move(ran->findings.begin(), ran->findings.end(), std::back_inserter(outcome_.findings));
  std::move(ran->log.begin(), ran->log.end(), std::back_inserter(outcome_.log));
  accumulate(outcome_.statistics, ran->statistics);
  return {};
}

// Devices may choose differently: those that agree run their branch together.
Status ProgramRunner::runBranches(const Function& f, const Step& step, Lanes lanes) {
  const Op& op = *step.op;
  const int branches = static_cast<int>(op.regions.size());
  std::vector<std::vector<Lane*>> chosen(branches);
  for (Lane* lane : lanes) {
    const Array& index = lane->values[op.operands[0]];
    int branch = op.name == "if" ? (*index.as<uint8_t>() ? 0 : 1) : *index.as<int32_t>();
    if (branch < 0 || branch >= branches) branch = branches - 1;
    chosen[branch].push_back(lane);
  }
  for (int b = 0; b < branches; ++b) {
    if (chosen[b].empty()) continue;
    auto results = runBlock(f, op.regions[b], chosen[b], std::vector<std::vector<Array>>(chosen[b].size()));
    if (!results) return fail(std::move(results.error()));
    for (size_t l = 0; l < chosen[b].size(); ++l) store(op, *chosen[b][l], std::move((*results)[l]));
  }
  return {};
}

// Devices whose condition has become false wait for the others.
Status ProgramRunner::runWhile(const Function& f, const Step& step, Lanes lanes) {
  const Op& op = *step.op;
  std::vector<Lane*> running(lanes.begin(), lanes.end());
  std::vector<std::vector<Array>> carried;
  for (Lane* lane : lanes) carried.push_back(takeOperands(step, *lane));
  for (int64_t steps = 0;; ++steps) {
    if (settings_.stepLimit > 0 && steps >= settings_.stepLimit)
      return fail({.code = "SM5005",
                   .message = "a loop around the kernels exceeds the iteration limit",
                   .place = op.place,
                   .need = fmt::format("at most {} rounds", settings_.stepLimit),
                   .help = "check the loop's condition, or raise the step limit"});
    auto conditions = runBlock(f, op.regions[0], running, carried);
    if (!conditions) return fail(std::move(conditions.error()));
    std::vector<Lane*> next;
    std::vector<std::vector<Array>> nextCarried;
    for (size_t l = 0; l < running.size(); ++l) {
      if (*(*conditions)[l][0].as<uint8_t>()) {
        next.push_back(running[l]);
        nextCarried.push_back(std::move(carried[l]));
      } else {
        store(op, *running[l], std::move(carried[l]));
      }
    }
    running = std::move(next);
    if (running.empty()) return {};
    carried.clear();
    auto results = runBlock(f, op.regions[1], running, std::move(nextCarried));
    if (!results) return fail(std::move(results.error()));
    carried = std::move(*results);
  }
}

}  // namespace smalti::driver
