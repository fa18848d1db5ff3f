#include "driver/case/Conform.h"

#include <filesystem>
#include <limits>
#include <new>

#include <fmt/format.h>

#include "driver/Json.h"
#include "driver/RunSettings.h"
#include "driver/case/Case.h"
#include "driver/case/ChildFailure.h"
#include "driver/case/RunInChild.h"
#include "driver/term/Style.h"

namespace smalti::driver {
namespace {

CaseOutcome crashed(Diagnostic d, double seconds = 0) {
  CaseOutcome outcome;
  outcome.verdict = Verdict::crash;
  outcome.diagnostic = std::move(d);
  outcome.seconds = seconds;
  return outcome;
}

CaseOutcome runGuarded(const std::string& folder, const Options& options) {
  try {
    return runCase(folder, options);
  } catch (const std::bad_alloc&) {
    return crashed(outOfMemory("case"));
  } catch (const std::exception& e) {
    return crashed({.code = "SM9010", .message = "internal error", .place = {}, .have = e.what()});
  }
}

CaseOutcome fromChild(const ChildResult& result, const Options& options) {
  if (result.finished)
    if (auto outcome = outcomeFromText(result.output)) return std::move(*outcome);
  if (const CompileOptions compile = compileOptions(options); isForeignCode(compile))
    return crashed(foreignCodeFailure(result, compile, static_cast<double>(options.caseSeconds()), "case"),
                   result.seconds);
  return crashed(failureOf(result, options, "case"), result.seconds);
}

/// Devices belong to one process, which takes a while to start them.
ChildLimits limitsFor(const Options& options) {
  ChildLimits limits = limitsOf(options);
  if (!isForeignCode(compileOptions(options))) return limits;
  limits.atOnce = 1;
  limits.piecesEach = std::numeric_limits<int64_t>::max();
  limits.errorBytes = kPluginErrorBytes;
  return limits;
}

}  // namespace

Result<std::vector<ConformCase>> listCases(const std::vector<std::string>& folders, const std::string& filter) {
  std::vector<ConformCase> cases;
  for (const std::string& folder : folders) {
    const auto found = findCases(folder);
    if (!found) return fail(found.error());
    for (const std::string& path : *found) {
      std::string relative = std::filesystem::path(path).lexically_relative(folder).string();
      if (relative == "." || relative.empty())
        relative = std::filesystem::path(path).lexically_normal().filename().string();
      if (relative.empty() || relative == ".")
        relative = std::filesystem::absolute(path).lexically_normal().parent_path().filename().string();
      if (relative.find(filter) != std::string::npos) cases.push_back({relative, path});
    }
  }
  if (cases.empty())
    return fail({.code = "SM1016",
                 .message = filter.empty()
                                ? "there is no recorded case here"
                                : fmt::format("there is no recorded case whose name contains '{}' here", filter),
                 .place = {},
                 .need = "folders with case.json",
                 .have = fmt::format("'{}'{}", folders.front(), folders.size() > 1 ? " and others" : "")});
  return cases;
}

std::vector<CaseOutcome> runCases(const std::vector<ConformCase>& cases, const Options& options,
                                  const std::function<void(size_t)>& progress) {
  std::vector<CaseOutcome> outcomes(cases.size());
  size_t done = 0;
  runInChildren(
      static_cast<int64_t>(cases.size()), limitsFor(options),
      [&](int64_t i) {
        prepareChild(compileOptions(options));
        return toText(runGuarded(cases[static_cast<size_t>(i)].folder, optionsInChild(options)));
      },
      [&](int64_t i, const ChildResult& result) {
        outcomes[static_cast<size_t>(i)] = fromChild(result, options);
        ++done;
      },
      [&] { progress(done); });
  return outcomes;
}

Tally tally(const std::vector<CaseOutcome>& outcomes) {
  Tally t;
  for (const CaseOutcome& o : outcomes) {
    t.passed += o.verdict == Verdict::pass;
    t.failed += o.verdict == Verdict::fail;
    t.refused += o.verdict == Verdict::refused;
    t.crashed += o.verdict == Verdict::crash;
    t.ran += o.verdict == Verdict::ran;
  }
  return t;
}

Json conformJson(const std::vector<ConformCase>& cases, const std::vector<CaseOutcome>& outcomes) {
  const Tally t = tally(outcomes);
  Json json{{"passed", t.passed}, {"failed", t.failed}, {"refused", t.refused}, {"crashed", t.crashed}, {"ran", t.ran}};
  json["cases"] = Json::array();
  for (size_t i = 0; i < cases.size(); ++i) {
    const CaseOutcome& o = outcomes[i];
    json["cases"].push_back({{"case", cases[i].name},
                             {"status", name(o.verdict)},
                             {"code", o.diagnostic ? Json(o.diagnostic->code) : Json(nullptr)},
                             {"max_error", o.maxError ? numberOrNull(*o.maxError) : Json(nullptr)},
                             {"seconds", o.seconds}});
  }
  return json;
}

}  // namespace smalti::driver
