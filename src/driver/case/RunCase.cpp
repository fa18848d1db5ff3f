#include "driver/case/RunCase.h"

#include <chrono>

#include <fmt/format.h>

#include "driver/RunSettings.h"
#include "driver/case/ModuleOrCase.h"
#include "driver/term/Style.h"

namespace smalti::driver {
namespace {

void compareResults(const Case& c, const std::vector<Array>& results, const std::vector<Array>& expected,
                    CaseOutcome& outcome) {
  outcome.verdict = Verdict::pass;
  const auto wrong = [&](std::string what) {
    outcome.verdict = Verdict::fail;
    if (outcome.wrong.empty()) outcome.wrong = std::move(what);
  };
  if (results.size() != expected.size())
    return wrong(fmt::format("got {} results, expected {}", results.size(), expected.size()));
  for (size_t i = 0; i < results.size(); ++i) {
    const Comparison comparison = compare(results[i], expected[i], c.tolerance(i));
    if (comparison.maxError && (!outcome.maxError || *comparison.maxError > *outcome.maxError)) {
      outcome.maxError = comparison.maxError;
      outcome.maxErrorAt = fmt::format("result {} {}", i, indexText(comparison.maxErrorAt));
    }
    if (comparison.passed()) continue;
    wrong(fmt::format("result {}: {}", i, describe(comparison, results[i].type(), expected[i].type())));
  }
}

Result<CaseOutcome> tryCase(const std::string& folder, const Options& options, const std::atomic<bool>* stop) {
  auto loaded = loadModuleOrCase(folder);
  if (!loaded) return fail(loaded.error());
  const Case& c = *loaded->recorded;
  if (Status status = requireShapes(*loaded); !status) return fail(status.error());
  const Program& program = *loaded->program;
  const auto inputs = readInputs(c, argumentTypes(program), options.fill, static_cast<uint64_t>(options.seed));
  if (!inputs) return fail(inputs.error());
  const auto expected = readExpected(c);
  if (!expected) return fail(expected.error());
  RunSettings settings = runSettings(options, c.poison);
  settings.execute.stop = stop;
  auto run = runProgram(program, *inputs, settings);
  if (!run) return fail(run.error());

  CaseOutcome outcome;
  outcome.verdict = Verdict::ran;
  outcome.findings = std::move(run->findings);
  if (!expected->empty()) compareResults(c, run->results, *expected, outcome);
  if (options.check && outcome.verdict != Verdict::fail)
    for (const Finding& f : outcome.findings) {
      if (f.severity != Severity::finding) continue;
      outcome.verdict = Verdict::fail;
      outcome.diagnostic = f.diagnostic;
      break;
    }
  return outcome;
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass";
    case Verdict::fail:
      return "fail";
    case Verdict::refused:
      return "refused";
    case Verdict::crash:
      return "crash";
    case Verdict::ran:
      return "ran";
  }
  return "";
}

CaseOutcome runCase(const std::string& folder, const Options& options, const std::atomic<bool>* stop) {
  const auto start = std::chrono::steady_clock::now();
  auto tried = tryCase(folder, options, stop);
  CaseOutcome outcome;
  if (tried) {
    outcome = std::move(*tried);
  } else {
    // The kernel ran, and what it did was wrong.
    outcome.verdict = tried.error().code == "SM7208" ? Verdict::fail : Verdict::refused;
    outcome.diagnostic = std::move(tried.error());
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

}  // namespace smalti::driver
