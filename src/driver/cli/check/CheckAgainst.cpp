#include "driver/cli/check/CheckAgainst.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/cli/check/CheckLegality.h"
#include "driver/cli/check/ErrorsOnce.h"
#include "driver/compile/Against.h"
#include "driver/compile/Judge.h"
#include "driver/term/Progress.h"
#include "driver/term/Style.h"
#include "driver/term/Table.h"
#include "pjrt/FindPlugin.h"
#include "tpu/chip/Chip.h"

namespace smalti::cli {
namespace {

using driver::Agreement;
using driver::CompilerVerdict;
using driver::OwnVerdict;

driver::OwnVerdict ownVerdict(const LegalityOfModule& m, const std::string& chip) {
  OwnVerdict own;
  own.error = m.error;
  const auto on = std::ranges::find(m.chips, chip, &LegalityOfModule::OnChip::chip);
  if (on == m.chips.end()) return own;
  own.accepted = on->verdict.accepted();
  if (const tpu::Reason* reason = on->verdict.reason()) own.reason = reason->id;
  own.vmemBytes = on->verdict.vmemBytes;
  own.json = toJson(m)["chips"][chip];
  return own;
}

struct Pair {
  const std::string* file;
  const std::string* chip;
  OwnVerdict ours;
  const CompilerVerdict* theirs;
};

std::string text(const OwnVerdict& v) {
  if (v.error) return "error " + v.error->code;
  return v.accepted ? "accepted" : "refused: " + v.reason;
}
std::string text(const CompilerVerdict& v) {
  if (v.error) return "error " + v.error->code;
  return v.accepted ? "accepted" : "refused: " + v.reason;
}

std::string percent(double ratio) { return fmt::format("{:+.1f} %", 100 * (ratio - 1)); }

/// Rows of what differs: verdicts, reasons, and bytes by more than "near".
std::string differences(const std::vector<Pair>& pairs, bool color) {
  term::Table verdicts({{"module"}, {"chip"}, {"here"}, {"the compiler"}});
  using enum term::Align;
  term::Table bytes({{"module"}, {"chip"}, {"VMEM here", right}, {"the compiler", right}, {"difference", right}});
  for (const Pair& p : pairs) {
    if (driver::compareVerdicts(p.ours, *p.theirs) != Agreement::same)
      verdicts.add({*p.file, *p.chip, text(p.ours), text(*p.theirs)});
    const auto ratio = driver::vmemRatio(p.ours, *p.theirs);
    if (ratio && std::abs(*ratio - 1) > driver::AgainstTally::kNear)
      bytes.add({*p.file, *p.chip, term::humanBytes(p.ours.vmemBytes), term::humanBytes(p.theirs->vmemBytes),
                 percent(*ratio)});
  }
  std::string all;
  if (!verdicts.empty()) all += verdicts.str(color) + "\n";
  if (!bytes.empty()) all += bytes.str(color) + "\n";
  return all;
}

/// The errors whose codes are in the table.
void printErrors(const Session& session, const std::vector<Pair>& pairs) {
  ErrorsOnce errors(session);
  for (const Pair& p : pairs) {
    if (p.ours.error) errors.print(*p.file, *p.ours.error);
    if (p.theirs->error) errors.print(*p.file, *p.theirs->error);
  }
}

std::string summary(const driver::AgainstTally& t, const std::vector<Pair>& pairs, const std::string& version) {
  std::string s = fmt::format(
      "{} of {} verdicts are the same; {} accepted here and refused by the compiler, {} refused here and accepted by "
      "the "
      "compiler, {} refused for another reason, {} without a verdict from one of the two\n",
      term::grouped(t.same), term::grouped(t.numVerdicts()), t.weAccept, t.weRefuse, t.otherReason, t.unknown);
  const Pair* worst = nullptr;
  const auto distance = [](const Pair& p) { return std::abs(driver::vmemRatio(p.ours, *p.theirs).value_or(1) - 1); };
  for (const Pair& p : pairs)
    if (!worst || distance(p) > distance(*worst)) worst = &p;
  if (t.vmemPairs > 0)
    s += fmt::format("VMEM of {} accepted pairs: {} equal, {} within {:.0f} %{}\n", term::grouped(t.vmemPairs),
                     term::grouped(t.vmemEqual), term::grouped(t.vmemNear), 100 * driver::AgainstTally::kNear,
                     distance(*worst) == 0 ? ""
                                           : fmt::format("; the farthest is {} on {}, {}", *worst->file, *worst->chip,
                                                         percent(*driver::vmemRatio(worst->ours, *worst->theirs))));
  if (!version.empty()) s += "libtpu of " + version + "\n";
  return s;
}

Json json(const std::vector<Pair>& pairs, const driver::AgainstTally& t, const std::string& version) {
  Json modules = Json::array();
  for (const Pair& p : pairs) {
    if (modules.empty() || modules.back()["file"] != *p.file) {
      modules.push_back({{"file", *p.file}, {"chips", Json::object()}});
      modules.back()["error"] = p.ours.error ? driver::toJson(*p.ours.error) : Json(nullptr);
    }
    const auto ratio = driver::vmemRatio(p.ours, *p.theirs);
    modules.back()["chips"][*p.chip] = {{"agreement", name(driver::compareVerdicts(p.ours, *p.theirs))},
                                        {"vmem_ratio", ratio ? Json(*ratio) : Json(nullptr)},
                                        {"here", p.ours.json},
                                        {"compiler", driver::toJson(*p.theirs)}};
  }
  return {{"modules", std::move(modules)},
          {"same", t.same},
          {"we_accept", t.weAccept},
          {"we_refuse", t.weRefuse},
          {"other_reason", t.otherReason},
          {"unknown", t.unknown},
          {"vmem", {{"pairs", t.vmemPairs}, {"equal", t.vmemEqual}, {"near", t.vmemNear}}},
          {"compiler", version.empty() ? Json(nullptr) : Json(version)}};
}

}  // namespace

int checkAgainst(const Session& session, const std::vector<std::string>& paths, const std::vector<tpu::Chip>& chips,
                 const std::string& compiler) {
  driver::JudgeRequest request;
  for (const tpu::Chip& chip : chips) {
    const auto known = tpu::chipNames();
    if (std::ranges::find(known, chip.name) == known.end()) {
      session.refuse({.code = "SM6609",
                      .message = fmt::format("Google's compiler does not support chip '{}'", chip.name),
                      .place = {},
                      .need = fmt::format("one of {}, or all", fmt::join(known, ", ")),
                      .help = "omit --against to judge the chip by its own file"});
      return kUsage;
    }
    request.chips.push_back(chip.name);
  }
  const auto plugin = pjrt::findTpuPlugin(compiler == "libtpu" ? "" : compiler, "--against FILE");
  if (!plugin) {
    session.refuse(plugin.error());
    return kUsage;  // nothing was judged
  }
  request.plugin = *plugin;
  const auto asked = driver::readModules(paths, request);
  if (!asked) return session.refuse(asked.error());

  term::Progress progress;
  const size_t total = request.modules.size() * request.chips.size();
  const driver::Verdicts verdicts = driver::judge(request, session.options.values, [&](size_t done) {
    progress.update(fmt::format("{} of {} compilations, {:.0f} s", done, total, progress.seconds()));
  });
  progress.clear();
  if (const Diagnostic* unusable = driver::pluginError(verdicts)) {
    session.refuse(*unusable);
    return kUsage;
  }
  std::vector<std::string> files;
  for (const driver::RequestedModule& a : *asked) files.push_back(a.path);
  const auto own = judgeFiles(files, chips, session.options.values.jobs);

  std::vector<std::vector<CompilerVerdict>> unreadable;  // of modules that the compiler was not asked about
  unreadable.reserve(asked->size());
  std::vector<Pair> pairs;
  driver::AgainstTally tally;
  for (size_t i = 0; i < asked->size(); ++i) {
    const driver::RequestedModule& a = (*asked)[i];
    if (a.error) {
      unreadable.emplace_back(request.chips.size());
      for (CompilerVerdict& v : unreadable.back()) v.error = a.error;
    }
    for (size_t c = 0; c < request.chips.size(); ++c) {
      pairs.push_back({&a.path, &request.chips[c], ownVerdict(own[i], request.chips[c]),
                       a.error ? &unreadable.back()[c] : &verdicts[a.judged][c]});
      tally.add(pairs.back().ours, *pairs.back().theirs);
    }
  }
  const std::string version = driver::compilerVersion(verdicts);
  if (session.json()) {
    session.printJson(json(pairs, tally, version));
  } else {
    session.print(differences(pairs, session.colorOut()));
    printErrors(session, pairs);
    session.print(summary(tally, pairs, version));
  }
  return tally.unknown > 0 ? kUsage : tally.agrees() ? kOk : kWrongResult;  // no verdict is no agreement
}

}  // namespace smalti::cli
