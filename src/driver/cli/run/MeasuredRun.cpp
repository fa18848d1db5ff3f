#include "driver/cli/run/MeasuredRun.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "cpu/MeasuredKernel.h"
#include "driver/RunSettings.h"
#include "driver/case/Values.h"
#include "machine/runtime/Compiled.h"

namespace smalti::cli {
namespace {

/// One call of a kernel.
struct MeasuredCall {
  std::string name;
  std::string notMeasured;  ///< why it was not, if so
  cpu::Measurement measurement;
};

/// Native code with time stamps, or the machine if there is no native code.
class MeasuredTargetKernel : public driver::TargetKernel {
 public:
  MeasuredTargetKernel(std::string name, std::shared_ptr<const machine::CompiledKernel> machine,
                       cpu::Compiled<cpu::MeasuredKernel> native, driver::Contract contract,
                       std::vector<MeasuredCall>& calls)
      : name_(std::move(name)),
        machine_(std::move(machine)),
        native_(std::move(native)),
        contract_(std::move(contract)),
        calls_(calls) {}

  Result<machine::KernelResult> run(std::span<const std::vector<Array>> operands,
                                    const driver::ExecuteSettings& settings, std::span<Array>) const override {
    if (!native_.kernel || operands.size() > 1) {
      calls_.push_back(
          {name_, operands.size() > 1 ? "it runs on several devices" : "it is not native: " + native_.why.text(), {}});
      return onMachine(operands, settings);
    }
    bool fault = false;
    MeasuredCall call{name_, {}, {}};
    auto results = native_.kernel->measure(operands[0],
                                           {.threads = settings.threads,
                                            .stepLimit = settings.stepLimit,
                                            .memoryLimitBytes = settings.memoryLimitBytes,
                                            .stop = settings.stop},
                                           fault, nullptr, call.measurement);
    if (!results) return fail(std::move(results.error()));
    if (fault) return onMachine(operands, settings);  // which reports what is wrong
    calls_.push_back(std::move(call));
    machine::KernelResult all;
    all.results.push_back(std::move(*results));
    return all;
  }

 private:
  Result<machine::KernelResult> onMachine(std::span<const std::vector<Array>> operands,
                                          const driver::ExecuteSettings& settings) const {
    return machine::run(*machine_, operands, driver::machineOptions(contract_, settings), settings.observers);
  }

  std::string name_;
  std::shared_ptr<const machine::CompiledKernel> machine_;
  cpu::Compiled<cpu::MeasuredKernel> native_;
  driver::Contract contract_;
  std::vector<MeasuredCall>& calls_;
};

constexpr std::string_view kMeasuredTarget = "cpu-measured";

/// The target cpu with time stamps, registered for the duration of this run.
driver::Target measuredTarget(std::vector<MeasuredCall>& calls) {
  return {.name = kMeasuredTarget,
          .summary = "native code for this processor with timing instrumentation",
          .argument = {},
          .checks = [](const machine::ObserverRow&) { return false; },
          .available = [](std::string_view) { return Status(); },
          .open = [&calls](std::string_view) -> Result<driver::KernelCompiler> {
            return
                [&calls](const KernelPackage& package,
                         const driver::CompileOptions& options) -> Result<std::shared_ptr<const driver::TargetKernel>> {
                  auto machine = machine::compileKernel(package, options.contract.numerics);
                  if (!machine) return fail(std::move(machine.error()));
                  auto native = cpu::compileMeasured(
                      package, {.poison = options.contract.poison, .checkBlocks = options.contract.checkBounds});
                  if (!native) return fail(std::move(native.error()));
                  return std::make_shared<const MeasuredTargetKernel>(package.name, std::move(*machine),
                                                                      std::move(*native), options.contract, calls);
                };
          }};
}

constexpr int kMaxRuns = 20;
constexpr double kMaxSeconds = 2;

struct Run {
  double us = 0;  ///< of the whole program
  std::vector<MeasuredCall> kernels;
};

/// The fastest of several runs after a warm-up run.
Result<Run> fastest(const Program& program, const std::vector<Array>& inputs, driver::RunSettings settings,
                    std::string_view target, std::vector<MeasuredCall>& calls, int& runs) {
  settings.compile.target = target;
  const std::shared_ptr<const Program> borrowed(std::shared_ptr<void>(), &program);
  const auto compiled = driver::compileProgram(borrowed, settings.compile);
  if (!compiled) return fail(compiled.error());
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  Run best;
  for (runs = 0; runs < kMaxRuns; ++runs) {
    Run now;
    calls.clear();
    const auto from = Clock::now();
    const auto outcome = driver::run(**compiled, inputs, settings.execute);
    if (!outcome) return fail(outcome.error());
    now.us = std::chrono::duration<double, std::micro>(Clock::now() - from).count();
    now.kernels = calls;
    if (runs <= 1 || now.us < best.us) best = std::move(now);
    if (runs > 0 && std::chrono::duration<double>(Clock::now() - begin).count() > kMaxSeconds) break;
  }
  return best;
}

/// Calls of one kernel are one row; the steps shown are of its first call.
std::vector<std::pair<MeasuredCall, int64_t>> byKernel(std::vector<MeasuredCall> calls) {
  std::vector<std::pair<MeasuredCall, int64_t>> out;
  for (MeasuredCall& call : calls) {
    const auto same = std::ranges::find_if(out, [&](const auto& o) {
      return o.first.name == call.name && o.first.measurement.parts.size() == call.measurement.parts.size();
    });
    if (same == out.end()) {
      out.emplace_back(std::move(call), 1);
      continue;
    }
    cpu::Measurement& all = same->first.measurement;
    ++same->second;
    all.ns += call.measurement.ns;
    all.steps += call.measurement.steps;
    for (size_t i = 0; i < all.parts.size(); ++i) {
      all.parts[i].ns += call.measurement.parts[i].ns;
      all.parts[i].times += call.measurement.parts[i].times;
    }
  }
  return out;
}

Json kernelJson(const MeasuredCall& kernel, int64_t calls) {
  const cpu::Measurement& m = kernel.measurement;
  Json out{{"kernel", kernel.name},
           {"calls", calls},
           {"not_measured", kernel.notMeasured.empty() ? Json(nullptr) : Json(kernel.notMeasured)},
           {"us", m.ns / 1e3},
           {"threads", m.threads},
           {"grid", m.grid},
           {"steps", m.steps},
           {"parts", Json::array()},
           {"first_steps", Json::array()}};
  std::vector<const cpu::MeasuredPart*> parts;
  for (const auto& part : m.parts)
    if (part.ns > 0) parts.push_back(&part);
  std::ranges::sort(parts, [](const auto* a, const auto* b) { return a->ns > b->ns; });
  for (const auto* part : parts) {
    Json places = Json::array();
    for (const SourcePlace& p : part->places) places.push_back(p.str());
    out["parts"].push_back({{"places", places}, {"ops", part->ops}, {"times", part->times}, {"us", part->ns / 1e3}});
  }
  for (const cpu::MeasuredStep& s : m.firstSteps)
    out["first_steps"].push_back(
        {{"thread", s.thread}, {"step", s.step}, {"from_us", s.fromNs / 1e3}, {"to_us", s.toNs / 1e3}});
  return out;
}

void toTrace(Trace& trace, const std::vector<MeasuredCall>& calls) {
  double start = 0;
  for (const MeasuredCall& call : calls) {
    const cpu::Measurement& m = call.measurement;
    const int64_t p = trace.process(fmt::format("{} on cpu, measured", call.name));
    for (const cpu::MeasuredStep& s : m.firstSteps)
      trace.slice(p, fmt::format("thread {}", s.thread), fmt::format("step {}", s.step), start + s.fromNs,
                  start + s.toNs, {{"step", s.step}});
    if (m.steps > static_cast<int64_t>(m.firstSteps.size())) {
      double last = 0;
      for (const cpu::MeasuredStep& s : m.firstSteps) last = std::max(last, s.toNs);
      trace.slice(p, "the rest",
                  fmt::format("{} more steps, aggregated", m.steps - static_cast<int64_t>(m.firstSteps.size())),
                  start + last, start + m.ns);
    }
    start += m.ns;
  }
}

}  // namespace

Result<Json> measuredRun(const driver::ModuleOrCase& module, const TimeInputs& known, const Options& options,
                         Trace* trace) {
  const Program& program = *module.program;
  auto inputs = driver::readInputs(driver::Case{}, driver::argumentTypes(program), options.fill,
                                   static_cast<uint64_t>(options.seed));
  if (!inputs) return fail(std::move(inputs.error()));
  for (size_t i = 0; i < inputs->size(); ++i)
    if (known.inputs[i]) (*inputs)[i] = *known.inputs[i];
  auto settings =
      driver::runSettings(options, module.recorded ? module.recorded->poison : std::optional<machine::Poison>());
  int runs = 0;
  std::vector<MeasuredCall> calls;
  const auto plain = fastest(program, *inputs, settings, "cpu", calls, runs);
  if (!plain) return fail(plain.error());
  const driver::RegisteredTarget registered(measuredTarget(calls));
  auto run = fastest(program, *inputs, settings, kMeasuredTarget, calls, runs);
  if (!run) return fail(std::move(run.error()));
  if (trace) toTrace(*trace, run->kernels);
  Json out{{"processor", cpu::hostProcessor().name},
           {"us", plain->us},
           {"measured_us", run->us},
           {"runs", runs},
           {"kernels", Json::array()}};
  for (const auto& [kernel, calls] : byKernel(std::move(run->kernels)))
    out["kernels"].push_back(kernelJson(kernel, calls));
  return out;
}

}  // namespace smalti::cli
