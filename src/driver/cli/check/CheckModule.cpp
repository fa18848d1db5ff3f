#include "driver/cli/check/CheckModule.h"

#include <algorithm>
#include <new>
#include <set>

#include <fmt/format.h>

#include "driver/RunSettings.h"
#include "driver/case/ChildFailure.h"
#include "driver/term/Progress.h"
#include "machine/explore/OrderSearch.h"
#include "machine/observers/Registry.h"

namespace smalti::cli {
namespace {

Checked refused(const std::string& path, Diagnostic d) {
  Checked checked{.path = path};
  checked.refusal = std::move(d);
  return checked;
}

Checked run(const std::string& path, const InputArguments& inputs, const Options& options) {
  auto prepared = prepare(path, inputs, options);
  if (!prepared) return refused(path, std::move(prepared.error()));
  auto outcome =
      driver::runProgram(prepared->program(), prepared->inputs, driver::runSettings(options, prepared->poison));
  if (!outcome) return refused(path, std::move(outcome.error()));
  Checked checked{.path = path};
  checked.findings = std::move(outcome->findings);
  checked.statistics = outcome->statistics;
  return checked;
}

std::string key(const Diagnostic& d) { return d.code + '\n' + d.place.str() + '\n' + d.message; }

/// Runs of one program, each with another seed, until one proves what every order would show; if none does, one run for
/// each order that differs.
class Schedules {
 public:
  Schedules(const std::string& path, const InputArguments& inputs, const Options& options)
      : inputs_(inputs), options_(options), checked_{.path = path} {
    options_.target = "interpret";  // native code has one schedule
  }

  Checked run(int64_t schedules) {
    for (int64_t k = 0; k < schedules && !checked_.refusal && !checked_.everySchedule; ++k, ++options_.seed)
      if (Status ok = one(); !ok) checked_.refusal = std::move(ok.error());
    if (!checked_.refusal && !checked_.everySchedule) searchOrders(std::max(schedules, kMinOrders));
    return std::move(checked_);
  }

 private:
  Status one() {
    if (!compiled_ || options_.fill == "random")  // whose elements the seed decides, too
      if (Status ok = prepareInputs(); !ok) return ok;
    const std::string where = fmt::format("the schedule of --seed {}", options_.seed);
    auto outcome = driver::run(*compiled_, prepared_->inputs, driver::executeSettings(options_));
    return take(std::move(outcome), where, checked_.everySchedule);
  }

  /// `saysAll`: whether all orders in which polls read the same counts show what this run shows.
  Status take(Result<driver::RunOutcome> outcome, const std::string& where, bool& saysAll) {
    ++checked_.schedules;
    if (!outcome) {
      outcome.error().where.push_back(where);
      return fail(std::move(outcome.error()));
    }
    checked_.statistics = outcome->statistics;
    for (machine::Finding& f : outcome->findings) {
      if (!known_.insert(key(f.diagnostic)).second) continue;
      f.diagnostic.where.push_back(where);
      checked_.findings.push_back(std::move(f));
    }
    saysAll = outcome->statistics.allOrders > 0 && outcome->statistics.someOrders == 0;
    return {};
  }

  void searchOrders(int64_t most) {
    machine::OrderSearch search(kMaxOrders);
    driver::ExecuteSettings settings = driver::executeSettings(options_);
    bool saysAll = true;
    while (saysAll && search.isExact() && search.runs() < most && search.next()) {
      settings.scheduler = search.scheduler();
      settings.dmaPolicy = search.dmaPolicy();
      settings.transport = search.transport();
      settings.mayPoll = search.mayPoll();
      auto outcome = driver::run(*compiled_, prepared_->inputs, settings);
      if (!search.wasPossible()) continue;
      if (Status ok = take(std::move(outcome), fmt::format("order {} of --schedules", search.runs()), saysAll); !ok) {
        checked_.refusal = std::move(ok.error());
        return;
      }
    }
    checked_.everySchedule = saysAll && search.isComplete();
  }

  Status prepareInputs() {
    auto prepared = prepare(checked_.path, inputs_, options_);
    if (!prepared) return fail(std::move(prepared.error()));
    compiled_.reset();
    prepared_.emplace(std::move(*prepared));
    driver::CompileOptions compile = driver::compileOptions(options_, prepared_->poison);
    if (!options_.checksOff.contains("check-races")) compile.contract.checks.push_back(&machine::orderRow());
    const std::shared_ptr<const Program> borrowed(std::shared_ptr<void>(), &prepared_->program());
    auto compiled = driver::compileProgram(borrowed, compile);
    if (!compiled) return fail(std::move(compiled.error()));
    compiled_ = std::move(*compiled);
    return {};
  }

  static constexpr int64_t kMinOrders = 10'000, kMaxOrders = 1'000'000;
  const InputArguments& inputs_;
  Options options_;
  Checked checked_;
  std::optional<Prepared> prepared_;
  std::shared_ptr<const driver::CompiledProgram> compiled_;
  std::set<std::string> known_;
};

/// Exceptions become diagnostics: the child process cannot report them otherwise.
Checked runGuarded(const std::string& path, const InputArguments& inputs, const Options& options, int64_t schedules) {
  try {
    return schedules > 0 ? Schedules(path, inputs, options).run(schedules) : run(path, inputs, options);
  } catch (const std::bad_alloc&) {
    return refused(path, driver::outOfMemory("module"));
  } catch (const std::exception& e) {
    return refused(path, {.code = "SM9010", .message = "internal error", .place = {}, .have = e.what()});
  }
}

Checked fromChild(const std::string& path, const driver::ChildResult& result, const Options& options) {
  const Json json = result.finished ? Json::parse(result.output, nullptr, /*allow_exceptions=*/false) : Json();
  try {
    if (json.is_object())
      return {.path = path,
              .findings = driver::findingsFromJson(json.at("findings")),
              .refusal = json.at("error").is_null() ? std::nullopt
                                                    : std::optional(driver::diagnosticFromJson(json.at("error"))),
              .statistics = driver::statisticsFromJson(json.at("statistics")),
              .schedules = json.value("schedules", int64_t{0}),
              .everySchedule = json.value("every_schedule", false)};
  } catch (const Json::exception&) {
  }
  return refused(path, driver::failureOf(result, options, "module"));
}

bool isGiven(const OptionSet& options, std::string_view name) {
  const OptionRow* row = findOption(name);
  return row && options.origin(*row) != Origin::builtIn;
}

}  // namespace

Json toJson(const Checked& checked) {
  Json json{{"module", checked.path},
            {"findings", driver::toJson(checked.findings)},
            {"error", checked.refusal ? driver::toJson(*checked.refusal) : Json(nullptr)},
            {"statistics", driver::toJson(checked.statistics)}};
  if (checked.schedules > 0) {
    json["schedules"] = checked.schedules;
    json["every_schedule"] = checked.everySchedule;
  }
  return json;
}

Checked checkModule(const std::string& path, const InputArguments& inputs, const OptionSet& options,
                    int64_t schedules) {
  const Options& values = options.values;
  driver::ChildLimits limits = driver::limitsOf(values);
  if (!isGiven(options, "child-memory-mib")) limits.addressSpaceMib = 0;
  term::Progress progress;
  Checked checked;
  driver::runInChildren(
      1, limits,
      [&](int64_t) {
        return driver::dump(toJson(runGuarded(path, inputs, driver::optionsInChild(values), schedules)));
      },
      [&](int64_t, const driver::ChildResult& result) { checked = fromChild(path, result, values); },
      [&] { progress.update(fmt::format("checking {} {:.0f} s", path, progress.seconds())); });
  progress.clear();
  return checked;
}

}  // namespace smalti::cli
