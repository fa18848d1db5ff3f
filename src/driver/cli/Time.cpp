// smalti time: how long a module takes on TPUs, by a model, and what takes the time.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <thread>

#include <fmt/format.h>

#include "base/Text.h"
#include "driver/case/ModuleOrCase.h"
#include "driver/cli/Verbs.h"
#include "driver/term/Style.h"
#include "driver/term/Table.h"
#include "driver/time/ProgramTime.h"
#include "interop/npy/Npy.h"
#include "tpu/Legality.h"

namespace smalti::cli {
namespace {

struct TimeArguments {
  std::vector<std::string> paths, in;
  std::string assume = "nothing";
  bool anyway = false;
};

struct OnChip {
  std::string chip;
  tpu::Chip facts;
  std::optional<driver::ProgramTime> time;
  std::optional<Diagnostic> refusal;
};

struct Timed {
  std::string path;
  std::optional<Diagnostic> error;  ///< the module cannot be read
  std::vector<OnChip> chips;
};

/// What takes time, for people and programs, in the order of the issue.
struct Part {
  std::string_view id, what;
  double us = 0;
};

std::vector<Part> partsOf(const driver::ProgramTime& time, double clockGhz) {
  sim::Spent all;
  for (const auto& k : time.kernels) {
    for (size_t u = 0; u < sim::Work::numUnits; ++u) all.units[u] += k.time.spent.units[u];
    all.scalar += k.time.spent.scalar;
    all.bandwidth += k.time.spent.bandwidth;
    all.latency += k.time.spent.latency;
    all.ici += k.time.spent.ici;
  }
  using W = sim::Work;
  const auto us = [&](double cycles) { return cycles / (clockGhz * 1e3); };
  return {{"compute", "matrix units", us(all.units[W::matrix])},
          {"issue_slots", "vector arithmetic, transcendental and cross-lane units",
           us(all.units[W::alu] + all.units[W::transcendental] + all.units[W::crossLane])},
          {"vmem", "vector loads and stores", us(all.units[W::load] + all.units[W::store])},
          {"hbm", "waiting for data from HBM", us(all.bandwidth)},
          {"copy_latency", "waiting for copies to begin and end", us(all.latency)},
          {"step_overhead", "grid steps, scalar instructions, starting the kernel", us(all.scalar)},
          {"ici", "waiting for other devices", us(all.ici)},
          {"ops", "ops around the kernels", time.opsUs}};
}

Part boundOf(const std::vector<Part>& parts) {
  return *std::max_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.us < b.us; });
}

// ---- the work

Result<std::vector<std::optional<Array>>> inputsOf(const driver::ModuleOrCase& module, const TimeArguments& arguments) {
  const std::vector<ArrayType> types = driver::argumentTypes(*module.program);
  std::vector<std::optional<Array>> inputs(types.size());
  if (module.recorded && arguments.in.empty())
    for (size_t i = 0; i < std::min(inputs.size(), module.recorded->arguments.size()); ++i) {
      if (module.recorded->arguments[i].file.empty()) continue;
      auto array = interop::readNpy(module.recorded->arguments[i].file, types[i].dtype);
      if (!array) return fail(array.error());
      inputs[i] = std::move(*array);
    }
  size_t next = 0;
  for (const std::string& text : arguments.in) {
    std::string path = text;
    size_t index = next;
    if (const size_t equals = text.find('='); equals != std::string::npos) {
      size_t number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + equals, number);
      if (error == std::errc() && end == text.data() + equals) {
        index = number;
        path = text.substr(equals + 1);
      }
    }
    if (index >= types.size())
      return fail({.code = "SM1008",
                   .message = fmt::format("'{}' has no input {}", module.path, index),
                   .place = {},
                   .need = counted(types.size(), "input"),
                   .have = fmt::format("--in {}", text),
                   .help = "smalti describe lists them"});
    auto array = interop::readNpy(path, types[index].dtype);
    if (!array) return fail(array.error());
    if (array->type() != types[index])
      return fail({.code = "SM1008",
                   .message = fmt::format("input {} ('{}') is not what the module takes", index, path),
                   .place = {},
                   .need = types[index].str(),
                   .have = array->type().str()});
    inputs[index] = std::move(*array);
    next = index + 1;
  }
  return inputs;
}

/// SM6904.
Status takenBy(const tpu::Chip& chip, const driver::LoadedModule& module) {
  for (size_t i = 0; i < module.numKernels(); ++i) {
    const tpu::Verdict verdict = tpu::judge(*module.kernel(i), chip);
    if (verdict.accepted()) continue;
    const tpu::Refusal& first = verdict.refusals.front();
    Diagnostic d{
        .code = "SM6904",
        .message = fmt::format("the compiler of {} refuses the kernel, so that it takes no time there", chip.name),
        .place = first.diagnostic.place,
        .where = {fmt::format("kernel '{}'", module.kernel(i)->name)},
        .have = fmt::format("{}: {}", first.diagnostic.code, first.diagnostic.message),
        .help = "smalti check --chip says what to do; --anyway times it all the same"};
    return fail(std::move(d));
  }
  return {};
}

sim::Assume assumeOf(const std::string& text) {
  return text == "always" ? sim::Assume::always : text == "never" ? sim::Assume::never : sim::Assume::nothing;
}

Timed timeFile(const std::string& path, const std::vector<tpu::Chip>& chips, const TimeArguments& arguments) {
  Timed out{.path = path, .error = {}, .chips = {}};
  auto module = driver::loadModuleOrCase(path);
  Status ready = module ? driver::requireShapes(*module) : Status();
  if (!module || !ready) {
    out.error = module ? ready.error() : module.error();
    return out;
  }
  const auto inputs = inputsOf(*module, arguments);
  if (!inputs) {
    out.error = inputs.error();
    return out;
  }
  for (const tpu::Chip& chip : chips) {
    OnChip on{chip.name, chip, {}, {}};
    const Status taken = arguments.anyway ? Status() : takenBy(chip, *module);
    auto time = taken ? driver::timeOf(*module->program, chip, *inputs, assumeOf(arguments.assume))
                      : Result<driver::ProgramTime>(fail(taken.error()));
    if (time)
      on.time = std::move(*time);
    else
      on.refusal = time.error();
    out.chips.push_back(std::move(on));
  }
  return out;
}

std::vector<Timed> timeFiles(const TimeArguments& arguments, const std::vector<tpu::Chip>& chips, int64_t jobs) {
  std::vector<Timed> out(arguments.paths.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < out.size(); i = next++) out[i] = timeFile(arguments.paths[i], chips, arguments);
  };
  const size_t wanted = jobs > 0 ? static_cast<size_t>(jobs) : std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < std::min(wanted, out.size()); ++i) threads.emplace_back(work);
  work();
  threads.clear();
  return out;
}

// ---- what is printed

Json workJson(const sim::Work& work) {
  Json out = Json::object();
  for (size_t u = 0; u < sim::Work::numUnits; ++u)
    out[std::string(sim::name(static_cast<sim::Work::Unit>(u)))] = work.cycles[u];
  return out;
}

Json toJson(const OnChip& on) {
  if (on.refusal) return {{"error", driver::toJson(*on.refusal)}};
  const driver::ProgramTime& time = *on.time;
  const auto parts = partsOf(time, on.facts.device.clockGhz);
  Json out{{"error", nullptr},           {"us", time.us},
           {"low_us", time.lowUs},       {"high_us", time.highUs},
           {"bound", boundOf(parts).id}, {"roofline_fraction", time.us > 0 ? time.rooflineUs / time.us : 0},
           {"parts_us", Json::object()}, {"ops", {{"us", time.opsUs}, {"count", time.ops}, {"bytes", time.opBytes}}},
           {"kernels", Json::array()}};
  for (const Part& p : parts) out["parts_us"][std::string(p.id)] = p.us;
  for (const auto& k : time.kernels) {
    Json row{{"kernel", k.name},
             {"us", k.us},
             {"steps", k.time.steps},
             {"cores", k.time.cores},
             {"hbm_bytes", k.time.hbmBytes},
             {"copies", k.time.copies},
             {"work_cycles", workJson(k.time.work)},
             {"lines", Json::array()}};
    for (size_t i = 0; i < std::min<size_t>(3, k.time.lines.size()); ++i)
      row["lines"].push_back({{"place", k.time.lines[i].place.str()},
                              {"unit", sim::name(k.time.lines[i].unit())},
                              {"cycles", k.time.lines[i].cycles()}});
    out["kernels"].push_back(std::move(row));
  }
  return out;
}

std::string micro(double us) { return us >= 1e4 ? fmt::format("{:.4g} ms", us / 1e3) : fmt::format("{:.4g} µs", us); }

std::string textOf(const Session& session, const std::string& path, const OnChip& on, bool alone) {
  const bool color = session.colorOut();
  if (on.refusal)
    return fmt::format("{} on {}: no time\n{}", path, on.chip, session.diagnosticText(*on.refusal, "error", color));
  const driver::ProgramTime& time = *on.time;
  const double clock = on.facts.device.clockGhz;
  auto parts = partsOf(time, clock);
  std::string text =
      fmt::format("{} on {}: {} ({} to {}), {:.0f} % of the roofline; most of it: {}\n", path, on.chip,
                  term::styled(term::Style::bold, micro(time.us), color), micro(time.lowUs), micro(time.highUs),
                  time.us > 0 ? 100 * time.rooflineUs / time.us : 0, boundOf(parts).what);
  if (!alone) return text;
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.us > b.us; });
  term::Table spent({{"what takes the time"}, {"time", term::Align::right}, {"%", term::Align::right}});
  for (const Part& p : parts)
    if (p.us > 0)
      spent.add({std::string(p.what), micro(p.us), fmt::format("{:.0f}", 100 * p.us / std::max(time.us, 1e-9))});
  text += "\n" + spent.str(color) + "\n";
  term::Table kernels({{"kernel"},
                       {"time", term::Align::right},
                       {"steps", term::Align::right},
                       {"cores", term::Align::right},
                       {"from and to HBM", term::Align::right},
                       {"costliest lines"}});
  for (const auto& k : time.kernels) {
    std::string lines;
    for (size_t i = 0; i < std::min<size_t>(3, k.time.lines.size()); ++i)
      lines += fmt::format("{}{} ({}, {})", i == 0 ? "" : ", ", k.time.lines[i].place.str(),
                           sim::name(k.time.lines[i].unit()), micro(k.time.lines[i].cycles() / (clock * 1e3)));
    kernels.add({k.name, micro(k.us), std::to_string(k.time.steps), std::to_string(k.time.cores),
                 fmt::format("{:.3g} MB", k.time.hbmBytes * k.time.cores / 1e6), lines});
  }
  return text + kernels.str(color);
}

int exitCodeOf(const Timed& t) {
  if (t.error) return exitCodeFor(*t.error);
  int code = kOk;
  for (const OnChip& on : t.chips)
    if (on.refusal) code = std::max(code, exitCodeFor(*on.refusal));
  return code;
}

int time(const Session& session, const TimeArguments& arguments) {
  const std::string& names = session.options.values.chip;
  const auto chips = tpu::findChips(names.empty() ? "all" : names);
  if (!chips) return session.refuse(chips.error());
  const auto timed = timeFiles(arguments, *chips, session.options.values.jobs);
  int code = kOk;
  Json modules = Json::array();
  std::string text;
  const bool alone = timed.size() == 1 && chips->size() == 1;
  for (const Timed& t : timed) {
    code = std::max(code, exitCodeOf(t));
    Json of = Json::object();
    for (const OnChip& on : t.chips) {
      of[on.chip] = toJson(on);
      if (!session.json()) text += textOf(session, t.path, on, alone);
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
  app.add_option("--in", arguments->in,
                 "an input that the time depends on: FILE.npy for the next one, NUMBER=FILE.npy for a certain one")
      ->type_name("FILE");
  app.add_option("--assume", arguments->assume, "what branches do whose condition is computed from data")
      ->type_name("always|never")
      ->check(CLI::IsMember({"always", "never"}));
  app.add_flag("--anyway", arguments->anyway, "also time what the chip's compiler refuses");
  session.addOptions(app, {OptionGroup::output, OptionGroup::tpu, OptionGroup::cases}, {"filter"});
  app.callback([&session, arguments] { session.action = [&session, arguments] { return time(session, *arguments); }; });
}

}  // namespace smalti::cli
