#include "driver/tune/Measure.h"

#include <chrono>
#include <cstring>

#include "base/Settings.h"
#include "driver/time/Taken.h"
#include "lang/call/Backend.h"
#include "sim/Time.h"

namespace smalti::driver {
namespace {

constexpr int kMaxRuns = 20;
constexpr double kEnoughSeconds = 0.2;

/// The thread's settings, but for native code.
Settings nativeSettings() {
  Settings settings;
  const ActiveSettings& active = activeSettings();
  OptionSet mine;
  if (active.values) mine.values = *active.values;
  for (const std::string_view name : {"threads", "cache", "semantics", "numerics"})
    if (Status ok = settings.set(name, mine.text(*findOption(name))); !ok) raise(ok.error());
  for (const auto& [option, value] : {std::pair{"target", "cpu"}, {"check", "off"}})
    if (Status ok = settings.set(option, value); !ok) raise(ok.error());
  return settings;
}

}  // namespace

Result<double> modelled(const TunedCall& call, const tpu::Chip& chip) {
  return attempt([&] {
    const Lowered lowered = call.call.lower_all(call.operands);
    sim::Question question;
    for (const Array& a : call.call.module_operands(call.operands))
      question.operands.push_back(a.is_traced() ? std::nullopt : std::optional(a));
    double us = 0;
    const Status timed = lang::withPackage(lowered, [&](const KernelPackage& kernel) -> Status {
      if (Status taken = takenBy(chip, kernel); !taken) return taken;
      const auto time = sim::timeOf(kernel, chip, question);
      if (!time) return fail(time.error());
      us = time->cycles / (chip.device.clockGhz * 1e3);
      return {};
    });
    if (!timed) raise(timed.error());
    return us;
  });
}

Result<double> measured(const TunedCall& call) {
  return attempt([&] {
    const Executable executable = call.call.with(nativeSettings()).compile_all(call.operands);
    std::vector<Array> operands;
    for (const Operand& o : call.operands) {
      operands.push_back(o.array());
      if (!o.array().is_traced()) continue;
      operands.back() = unwrap(Array::allocate(o.array().type()));
      std::memset(operands.back().data(), 0, static_cast<size_t>(operands.back().bytes()));
    }
    using Clock = std::chrono::steady_clock;
    double least = 0, all = 0;
    for (int run = 0; run <= kMaxRuns && (run < 4 || all < kEnoughSeconds * 1e6); ++run) {
      const auto begins = Clock::now();
      unwrap(executable.execute(operands));
      const double us = std::chrono::duration<double, std::micro>(Clock::now() - begins).count();
      if (run == 0) continue;  // memory is mapped, caches are filled
      all += us;
      least = run == 1 ? us : std::min(least, us);
    }
    return std::max(least, 1e-3);
  });
}

}  // namespace smalti::driver
