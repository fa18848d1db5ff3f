#include "driver/cli/CheckModule.h"

#include <new>

#include <fmt/format.h>

#include "driver/RunSettings.h"
#include "driver/case/ChildTrouble.h"
#include "driver/term/Progress.h"

namespace smalti::cli {
namespace {

Checked refused(const std::string& path, Diagnostic d) {
  return {.path = path, .findings = {}, .refusal = std::move(d), .statistics = {}};
}

Checked run(const std::string& path, const InputArguments& inputs, const Options& options) {
  auto prepared = prepare(path, inputs, options);
  if (!prepared) return refused(path, std::move(prepared.error()));
  auto outcome =
      driver::runProgram(prepared->program(), prepared->inputs, driver::runSettings(options, prepared->poison));
  if (!outcome) return refused(path, std::move(outcome.error()));
  return {.path = path, .findings = std::move(outcome->findings), .refusal = {}, .statistics = outcome->statistics};
}

/// A child has no other way to say what went wrong.
Checked runGuarded(const std::string& path, const InputArguments& inputs, const Options& options) {
  try {
    return run(path, inputs, options);
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
              .statistics = driver::statisticsFromJson(json.at("statistics"))};
  } catch (const Json::exception&) {
  }
  return refused(path, driver::troubleOf(result, options, "module"));
}

bool isGiven(const OptionSet& options, std::string_view name) {
  const OptionRow* row = findOption(name);
  return row && options.origin(*row) != Origin::builtIn;
}

}  // namespace

Json toJson(const Checked& checked) {
  return {{"module", checked.path},
          {"findings", driver::toJson(checked.findings)},
          {"error", checked.refusal ? driver::toJson(*checked.refusal) : Json(nullptr)},
          {"statistics", driver::toJson(checked.statistics)}};
}

Checked checkModule(const std::string& path, const InputArguments& inputs, const OptionSet& options) {
  const Options& values = options.values;
  driver::ChildLimits limits = driver::limitsOf(values);
  if (!isGiven(options, "child-memory-mib")) limits.addressSpaceMib = 0;
  term::Progress progress;
  Checked checked;
  driver::runInChildren(
      1, limits, [&](int64_t) { return driver::dump(toJson(runGuarded(path, inputs, values))); },
      [&](int64_t, const driver::ChildResult& result) { checked = fromChild(path, result, values); },
      [&] { progress.update(fmt::format("checking {} {:.0f} s", path, progress.seconds())); });
  progress.clear();
  return checked;
}

}  // namespace smalti::cli
