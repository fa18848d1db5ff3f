// smalti run: runs a module or a case once and shows the results.
#include <unistd.h>

#include <memory>

#include <fmt/format.h>

#include "base/Text.h"
#include "base/io/File.h"
#include "cpu/cache/CompileCache.h"
#include "driver/RunSettings.h"
#include "driver/case/RunInChild.h"
#include "driver/cli/Verbs.h"
#include "driver/cli/check/CheckLegality.h"
#include "driver/cli/run/Inputs.h"
#include "driver/cli/run/UndefinedMemory.h"
#include "driver/cli/time/TimeText.h"
#include "driver/program/TimeLimit.h"
#include "driver/target/sim/Sim.h"
#include "driver/term/Progress.h"
#include "driver/term/Style.h"
#include "driver/term/Table.h"
#include "interop/npy/Npy.h"
#include "machine/observers/Findings.h"

namespace smalti::cli {
namespace {

struct RunArguments {
  std::string path, outFolder;
  InputArguments inputs;
};

struct Compared {
  std::vector<driver::Comparison> perResult;  ///< empty: nothing is expected
  std::string countMismatch;                  ///< not empty: a wrong number of results
  bool passed() const {
    for (const auto& c : perResult)
      if (!c.passed()) return false;
    return countMismatch.empty();
  }
};

Result<Compared> compareAll(const Prepared& prepared, const RunArguments& arguments,
                            const std::vector<Array>& results) {
  Compared compared;
  // The expected results are those of the recorded inputs only.
  if (!prepared.module.recorded || !arguments.inputs.in.empty()) return compared;
  const auto expected = driver::readExpected(*prepared.module.recorded);
  if (!expected) return fail(expected.error());
  if (expected->empty()) return compared;
  if (expected->size() != results.size()) {
    compared.countMismatch = fmt::format("got {} results, expected {}", results.size(), expected->size());
    return compared;
  }
  for (size_t i = 0; i < results.size(); ++i)
    compared.perResult.push_back(driver::compare(results[i], (*expected)[i], prepared.module.recorded->tolerance(i)));
  return compared;
}

std::string verdict(const driver::Comparison& c, const Array& got) {
  if (!c.passed()) return "WRONG";
  if (got.elements() == 0 || !c.maxError || *c.maxError == 0) return "as expected";
  return fmt::format("as expected (largest error {:.3g})", *c.maxError);
}

void printTables(const Session& session, const Prepared& prepared, const driver::RunOutcome& outcome,
                 const Compared& compared) {
  const bool color = session.colorOut();
  term::Table inputs({{"input"}, {"type"}, {"from"}});
  for (size_t i = 0; i < prepared.inputs.size(); ++i)
    inputs.add({std::to_string(i), prepared.inputs[i].type().str(), prepared.origins[i]});
  if (!inputs.empty()) session.print(inputs.str(color) + "\n");

  using term::Align;
  term::Table results({{"result"},
                       {"type"},
                       {"min", Align::right},
                       {"max", Align::right},
                       {"mean", Align::right},
                       {"NaN", Align::right},
                       {"first values"},
                       {""}});
  for (size_t i = 0; i < outcome.results.size(); ++i) {
    const Array& array = outcome.results[i];
    const driver::Summary s = driver::summarise(array);
    const auto shown = [&](double value) { return s.numbers ? term::number(value) : std::string("-"); };
    std::string note = i < compared.perResult.size() ? verdict(compared.perResult[i], array) : "";
    if (!note.empty())
      note = term::styled(compared.perResult[i].passed() ? term::Style::green : term::Style::red, note, color);
    results.add({std::to_string(i), array.type().str(), shown(s.min), shown(s.max), shown(s.mean),
                 term::grouped(s.nans), s.first, note});
  }
  session.print(results.str(color));
  for (size_t i = 0; i < compared.perResult.size(); ++i)
    if (!compared.perResult[i].passed())
      session.print(
          fmt::format("\nresult {}: {}\n", i,
                      driver::describe(compared.perResult[i], outcome.results[i].type(), outcome.results[i].type())));
  if (!compared.countMismatch.empty()) session.print("\n" + compared.countMismatch + "\n");
  if (!outcome.log.empty()) {
    session.print("\nprinted by the kernel:\n");
    for (const std::string& line : outcome.log) session.print("  " + printable(line, "\n\t") + "\n");
  }
}

Json json(const Prepared& prepared, const driver::RunOutcome& outcome, const Compared& compared, double seconds) {
  Json results = Json::array();
  for (size_t i = 0; i < outcome.results.size(); ++i) {
    const driver::Summary s = driver::summarise(outcome.results[i]);
    Json row = driver::toJson(outcome.results[i].type());
    row["min"] = s.numbers ? driver::numberOrNull(s.min) : Json(nullptr);
    row["max"] = s.numbers ? driver::numberOrNull(s.max) : Json(nullptr);
    row["mean"] = s.numbers ? driver::numberOrNull(s.mean) : Json(nullptr);
    row["nan_count"] = s.nans;
    if (i < compared.perResult.size()) {
      const driver::Comparison& c = compared.perResult[i];
      row["as_expected"] = c.passed();
      row["max_error"] = c.maxError ? driver::numberOrNull(*c.maxError) : Json(nullptr);
      row["wrong_elements"] = c.wrong;
    }
    results.push_back(std::move(row));
  }
  Json inputs = Json::array();
  for (size_t i = 0; i < prepared.inputs.size(); ++i) {
    Json row = driver::toJson(prepared.inputs[i].type());
    row["from"] = prepared.origins[i];
    inputs.push_back(std::move(row));
  }
  return {{"module", prepared.module.path},
          {"inputs", inputs},
          {"results", results},
          {"log", outcome.log},
          {"findings", driver::toJson(outcome.findings)},
          {"statistics", driver::toJson(outcome.statistics)},
          {"seconds", seconds}};
}

Status writeResults(const std::string& folder, const std::vector<Array>& results) {
  if (Status status = makeFolder(folder); !status) return status;
  for (size_t i = 0; i < results.size(); ++i)
    if (Status status = interop::writeNpy(fmt::format("{}/out{}.npy", folder, i), results[i]); !status) return status;
  return {};
}

/// Notes that an explicitly requested cache folder is not writable.
void noteCacheError(const Session& session) {
  if (session.options.origin(*findOption("cache")) == Origin::builtIn) return;
  const auto cache = cpu::openCache(session.options.values.cache, session.options.values.cacheLimitMib << 20);
  if (!cache) return;
  if (const Status error = cache->firstError(); !error)
    session.note(session.diagnosticText(error.error(), "note", session.colorErr()));
}

/// A last resort for code that does not poll the stop flag (the compiler, single ops): it ends the process.
std::unique_ptr<driver::Alarm> lastAlarm(const Session& session, double seconds) {
  constexpr double kGraceSeconds = 1;
  if (seconds <= 0) return nullptr;
  return std::make_unique<driver::Alarm>(seconds + kGraceSeconds, nullptr, [&session, seconds] {
    ::_exit(session.finish(session.refuse(driver::notInTime("run", seconds))));
  });
}

/// The output of a target "sim:CHIP" in addition to the results.
struct SimulatedTime {
  tpu::Chip chip;
  Result<driver::ProgramTime> time;
};

Result<std::optional<SimulatedTime>> predictTime(const Session& session, const Prepared& prepared) {
  auto chip = driver::simulatedChip(session.options.values.target);
  if (!chip) return fail(std::move(chip.error()));
  if (!*chip) return std::optional<SimulatedTime>();
  auto time = driver::timeOf(prepared.program(), **chip, {prepared.inputs.begin(), prepared.inputs.end()},
                             sim::Assume::nothing, static_cast<double>(session.options.values.caseSeconds()));
  return std::optional(SimulatedTime{std::move(**chip), std::move(time)});
}

/// The output of a process whose results another one prints: the prints and findings of its own devices.
int reportPart(const Session& session, const driver::RunOutcome& outcome) {
  for (const std::string& line : outcome.log) session.print("  " + printable(line, "\n\t") + "\n");
  for (const machine::Finding& f : outcome.findings) session.note("\n" + session.findingText(f, session.colorErr()));
  return machine::countMistakes(outcome.findings) > 0 ? kRefused : kOk;
}

int run(const Session& session, const RunArguments& arguments) {
  const auto chips = chipsGiven(session);
  if (!chips) return session.refuse(chips.error());
  if (Status ok = driver::validate(session.options.values); !ok) return session.refuse(ok.error());
  const std::string& target = session.options.values.target;
  if (Status ok = arguments.inputs.checkGpuParams(target.starts_with("cuda"), "--target cuda or cuda-host",
                                                  "--target " + target);
      !ok)
    return session.refuse(ok.error());
  const auto prepared = prepare(arguments.path, arguments.inputs, session.options.values);
  if (!prepared) return session.refuse(prepared.error());
  const auto settings = driver::runSettings(session.options.values, prepared->poison);
  const term::Progress clock;
  const auto outcome = [&] {
    if (driver::isForeignCode(settings.compile))  // forked before this process starts any thread
      return driver::runInChild(prepared->program(), prepared->inputs, settings);
    const term::Ticker ticker("running " + prepared->program().name);
    const std::unique_ptr<driver::Alarm> last = lastAlarm(session, settings.execute.timeLimitSeconds);
    return driver::runProgram(prepared->program(), prepared->inputs, settings);
  }();
  if (!outcome) return session.refuse(outcome.error());
  if (outcome->process > 0) return reportPart(session, *outcome);
  const double seconds = clock.seconds();
  if (!arguments.outFolder.empty())
    if (Status status = writeResults(arguments.outFolder, outcome->results); !status)
      return session.refuse(status.error());
  const auto compared = compareAll(*prepared, arguments, outcome->results);
  if (!compared) return session.refuse(compared.error());
  const auto paper = predictTime(session, *prepared);
  if (!paper) return session.refuse(paper.error());
  const bool explained = session.options.values.check || (compared->passed() && !compared->perResult.empty());
  const std::string undefined = explained ? "" : undefinedMemoryNote(*prepared, settings, *outcome);
  if (session.json()) {
    Json out = json(*prepared, *outcome, *compared, seconds);
    out["notes"] = undefined.empty() ? Json::array() : Json::array({undefined});
    if (*paper)
      out["time"] = (*paper)->time ? timeJson((*paper)->chip, *(*paper)->time)
                                   : Json{{"error", driver::toJson((*paper)->time.error())}};
    if (!chips->empty()) out["chips"] = toJson(judgeModule(prepared->module, *chips))["chips"];
    session.printJson(out);
  } else {
    printTables(session, *prepared, *outcome, *compared);
    if (*paper && (*paper)->time)
      session.print("\n" + timeText(session, prepared->module.path, (*paper)->chip, *(*paper)->time, true));
    if (!chips->empty()) session.print("\n" + legalityText(session, judgeModule(prepared->module, *chips)));
  }
  if (*paper && !(*paper)->time)
    session.note(session.diagnosticText((*paper)->time.error(), "note", session.colorErr()));
  if (!undefined.empty()) session.note("note: " + undefined + "\n");
  noteCacheError(session);
  if (!session.json())
    for (const machine::Finding& f : outcome->findings) session.note("\n" + session.findingText(f, session.colorErr()));
  if (!compared->passed()) return kWrongResult;
  return machine::countMistakes(outcome->findings) > 0 ? kRefused : kOk;
}

}  // namespace

void declareRun(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<RunArguments>();
  app.add_option("module", arguments->path, "a module, or a folder with case.json")->required()->type_name("PATH");
  arguments->inputs.declare(app);
  arguments->inputs.declareGpuParams(app);
  app.add_option("--out", arguments->outFolder, "write the results to this folder as out0.npy, out1.npy, …")
      ->type_name("FOLDER");
  session.addOptions(app,
                     {OptionGroup::run, OptionGroup::check, OptionGroup::tpu, OptionGroup::cache, OptionGroup::output});
  session.addOption(app, "timeout-seconds");
  app.callback([&session, arguments] { session.action = [&session, arguments] { return run(session, *arguments); }; });
}

}  // namespace smalti::cli
