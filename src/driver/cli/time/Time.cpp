// smalti time: how long a module takes on TPUs, by a model, and what takes the time.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "base/Text.h"
#include "driver/case/ModuleOrCase.h"
#include "driver/cli/Verbs.h"
#include "driver/cli/time/TimeInputs.h"
#include "driver/cli/time/TimeText.h"
#include "driver/cli/time/Trace.h"
#include "driver/time/Taken.h"

namespace smalti::cli {
namespace {

struct TimeArguments {
  std::vector<std::string> paths;
  TimeInputArguments inputs;
  std::string against, trace;
  bool anyway = false;
};

struct OnChip {
  std::string chip;
  tpu::Chip facts;
  std::optional<driver::ProgramTime> time;
  std::optional<std::vector<KernelAdvice>> advice;  ///< if requested
  std::optional<Diagnostic> refusal;
};

struct Timed {
  std::string path;
  std::optional<Diagnostic> error;  ///< the module cannot be read
  std::vector<OnChip> chips;
};

// ---- the work

Status takenBy(const tpu::Chip& chip, const driver::LoadedModule& module) {
  for (size_t i = 0; i < module.numKernels(); ++i)
    if (auto taken = driver::takenBy(chip, *module.kernel(i)); !taken) return taken;
  return {};
}

/// `trace`: null, or what gets the kernels' timelines.
Timed timeFile(const Session& session, const std::string& path, const std::vector<tpu::Chip>& chips,
               const TimeArguments& arguments, bool advise, Trace* trace = nullptr) {
  Timed out{.path = path, .error = {}, .chips = {}};
  auto module = driver::loadModuleOrCase(path);
  Status ready = module ? driver::requireCalls(*module) : Status();
  if (!module || !ready) {
    out.error = module ? ready.error() : module.error();
    return out;
  }
  const auto inputs = timeInputsOf(session, *module, arguments.inputs);
  if (!inputs) {
    out.error = inputs.error();
    return out;
  }
  for (const tpu::Chip& chip : chips) {
    OnChip on{chip.name, chip, {}, {}, {}};
    const Status taken = arguments.anyway ? Status() : takenBy(chip, *module);
    auto time = taken ? driver::timeOf(*module->program, chip, inputs->inputs, inputs->assume, inputs->timeLimitSeconds)
                      : Result<driver::ProgramTime>(fail(taken.error()));
    if (time) {
      on.time = std::move(*time);
      if (trace) trace->add(*module->program, chip, *on.time);
      if (advise) on.advice = adviceOn(*module->program, chip, *on.time);
    } else
      on.refusal = time.error();
    out.chips.push_back(std::move(on));
  }
  return out;
}

std::vector<Timed> timeFiles(const Session& session, const TimeArguments& arguments,
                             const std::vector<tpu::Chip>& chips, bool advise) {
  std::vector<Timed> out(arguments.paths.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < out.size(); i = next++)
      out[i] = timeFile(session, arguments.paths[i], chips, arguments, advise);
  };
  const int64_t jobs = session.options.values.jobs;
  const size_t wanted = jobs > 0 ? static_cast<size_t>(jobs) : std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < std::min(wanted, out.size()); ++i) threads.emplace_back(work);
  work();
  threads.clear();
  return out;
}

int exitCodeOf(const Timed& t) {
  if (t.error) return exitCodeFor(*t.error);
  int code = kOk;
  for (const OnChip& on : t.chips)
    if (on.refusal) code = std::max(code, exitCodeFor(*on.refusal));
  return code;
}

/// The module on another chip, or another module on the chip.
int compare(const Session& session, const TimeArguments& arguments, const tpu::Chip& chip) {
  const bool isChip = !std::filesystem::exists(arguments.against) || arguments.against.ends_with(".toml");
  const auto other = isChip ? tpu::findChip(arguments.against) : Result<tpu::Chip>(chip);
  if (!other) return session.refuse(other.error());
  const std::string& path = arguments.paths.front();
  const Timed a = timeFile(session, path, {chip}, arguments, false);
  const Timed b = timeFile(session, isChip ? path : arguments.against, {*other}, arguments, false);
  for (const Timed* t : {&a, &b}) {
    if (t->error) return session.refuse(*t->error);
    if (t->chips[0].refusal) return session.refuse(*t->chips[0].refusal);
  }
  const OnChip &x = a.chips[0], &y = b.chips[0];
  if (session.json())
    session.printJson({{"modules",
                        {{{"file", a.path}, {"chips", {{x.chip, timeJson(x.facts, *x.time)}}}},
                         {{"file", b.path}, {"chips", {{y.chip, timeJson(y.facts, *y.time)}}}}}},
                       {"ratio", y.time->us / x.time->us}});
  else
    session.print(comparisonText(session, isChip ? x.chip : a.path, x.facts, *x.time, isChip ? y.chip : b.path, y.facts,
                                 *y.time));
  return kOk;
}

int time(const Session& session, const TimeArguments& arguments) {
  const std::string& names = session.options.values.chip;
  const auto chips = tpu::findChips(names.empty() ? "all" : names);
  if (!chips) return session.refuse(chips.error());
  const bool alone = arguments.paths.size() == 1 && chips->size() == 1;
  if (!arguments.against.empty()) {
    if (!alone)
      return session.refuse(
          {.code = "SM1000",
           .message = "--against compares one module on one chip with another",
           .place = {},
           .need = "a module, and --chip with one chip",
           .have = fmt::format("{} on {}", counted(arguments.paths.size(), "module"), counted(chips->size(), "chip"))});
    if (!arguments.trace.empty())
      return session.refuse({.code = "SM1000",
                             .message = "--trace and --against cannot be combined",
                             .place = {},
                             .help = "write a trace of each, or name both chips: --chip v5e,v6e --trace FILE"});
    return compare(session, arguments, chips->front());
  }
  if (!arguments.trace.empty() && arguments.paths.size() != 1)
    return session.refuse({.code = "SM1000",
                           .message = "--trace writes the timeline of one module",
                           .place = {},
                           .need = "1 module",
                           .have = counted(arguments.paths.size(), "module")});
  if (Status ok = requireOwnFile(session, arguments.trace); !ok) return session.refuse(ok.error());
  Trace trace;
  const auto timed = arguments.trace.empty()
                         ? timeFiles(session, arguments, *chips, alone)
                         : std::vector{timeFile(session, arguments.paths.front(), *chips, arguments, alone, &trace)};
  if (Status ok = trace.write(arguments.trace); !ok) return session.refuse(ok.error());
  int code = kOk;
  Json modules = Json::array();
  std::string text;
  for (const Timed& t : timed) {
    code = std::max(code, exitCodeOf(t));
    Json of = Json::object();
    for (const OnChip& on : t.chips) {
      of[on.chip] = on.refusal ? Json{{"error", driver::toJson(*on.refusal)}} : timeJson(on.facts, *on.time);
      if (on.advice) of[on.chip]["advice"] = adviceJson(*on.time, *on.advice);
      if (session.json()) continue;
      text += on.refusal ? fmt::format("{} on {}: no prediction\n{}", t.path, on.chip,
                                       session.diagnosticText(*on.refusal, "error", session.colorOut()))
                         : timeText(session, t.path, on.facts, *on.time, alone);
      if (on.advice) text += adviceText(session, *on.time, *on.advice);
    }
    if (t.error && !session.json()) text += session.diagnosticText(*t.error, "error", session.colorOut());
    modules.push_back(
        {{"file", t.path}, {"error", t.error ? driver::toJson(*t.error) : Json(nullptr)}, {"chips", std::move(of)}});
  }
  if (session.json())
    session.printJson({{"modules", std::move(modules)}});
  else
    session.print(text);
  return code;
}

}  // namespace

void declareTime(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<TimeArguments>();
  app.add_option("modules", arguments->paths, "modules, or folders with case.json")->required()->type_name("PATH");
  arguments->inputs.declare(app);
  app.add_option("--against", arguments->against, "another module or chip to compare with")->type_name("MODULE|CHIP");
  declareTrace(app, arguments->trace);
  app.add_flag("--anyway", arguments->anyway, "also time kernels that the chip's compiler refuses");
  session.addOptions(app, {OptionGroup::output, OptionGroup::tpu, OptionGroup::cases}, {"filter"});
  app.callback([&session, arguments] { session.action = [&session, arguments] { return time(session, *arguments); }; });
}

}  // namespace smalti::cli
