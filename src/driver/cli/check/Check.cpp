// smalti check: modules, cases and folders of cases under every observer.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "driver/case/Conform.h"
#include "driver/cli/Verbs.h"
#include "driver/cli/check/CheckAgainst.h"
#include "driver/cli/check/CheckLegality.h"
#include "driver/cli/check/CheckModule.h"
#include "driver/cli/run/CrashText.h"
#include "driver/cli/show/VmemView.h"
#include "driver/compile/AssumeShapes.h"
#include "driver/term/Progress.h"
#include "driver/term/Style.h"
#include "driver/term/Table.h"

namespace smalti::cli {
namespace {

using driver::Verdict;

struct CheckArguments {
  std::vector<std::string> paths;
  std::string filter;
  InputArguments inputs;
  bool legalityOnly = false;
  std::string against;
  int64_t schedules = 0;
};

std::string plural(int64_t n, const std::string& noun) {
  return fmt::format("{} {}{}", term::grouped(n), noun, n == 1 ? "" : "s");
}

/// "nothing found", "1 note", "2 findings, 1 note".
std::string foundText(const std::vector<Finding>& findings) {
  const int64_t mistakes = machine::countMistakes(findings), notes = static_cast<int64_t>(findings.size()) - mistakes;
  if (findings.empty()) return "nothing found";
  if (notes == 0) return plural(mistakes, "finding");
  return mistakes == 0 ? plural(notes, "note") : plural(mistakes, "finding") + ", " + plural(notes, "note");
}

/// The number of schedules tried, if several were requested.
std::string triedText(const Checked& checked) {
  if (checked.schedules == 0) return "";
  const bool all = checked.everySchedule && !checked.refusal;
  if (!all) return fmt::format(", {} tried", plural(checked.schedules, "schedule"));
  const bool clean = std::ranges::none_of(checked.findings, [](const machine::Finding& f) {
    return f.diagnostic.code == "SM4107" || f.diagnostic.code == "SM4108" || f.diagnostic.code == "SM4113" ||
           f.diagnostic.code == "SM4114";
  });
  return clean ? ", no schedule of these inputs races or deadlocks" : ", every schedule looked at";
}

void print(const Session& session, const Checked& checked) {
  const bool color = session.colorOut();
  if (checked.refusal) {
    session.print(fmt::format("{}: did not finish{}\n{}", checked.path, triedText(checked),
                              session.diagnosticText(*checked.refusal, "error", color)));
    return;
  }
  const int64_t steps = checked.statistics.gridSteps;
  const std::string ran =
      steps > 0 ? fmt::format("{}, {} copied", plural(steps, "grid step"),
                              plural(checked.statistics.windowFetches + checked.statistics.windowWriteBacks, "block"))
                : std::string("ran to its end");
  const bool good = machine::countMistakes(checked.findings) == 0;
  const std::string found =
      term::styled(good ? term::Style::green : term::Style::red, foundText(checked.findings), color);
  session.print(fmt::format("{}: {}, {}{}\n", checked.path, ran, found, triedText(checked)));
  for (const machine::Finding& f : checked.findings) session.print(session.findingText(f, color));
}

std::string outcomeText(const driver::CaseOutcome& o) {
  if (o.verdict == Verdict::refused || o.verdict == Verdict::crash) return std::string(name(o.verdict));
  if (machine::countMistakes(o.findings) == 0 && !o.wrong.empty()) return "wrong result";
  return foundText(o.findings);
}

/// All cases below a folder: a table, and the exit code.
int checkFolder(const Session& session, const std::string& folder, const std::string& filter,
                const std::vector<tpu::Chip>& chips, Json& out) {
  const auto cases = driver::listCases({folder}, filter);
  if (!cases) {
    if (!session.json()) return session.refuse(cases.error());
    out.push_back({{"module", folder}, {"findings", Json::array()}, {"error", driver::toJson(cases.error())}});
    return exitCodeFor(cases.error());
  }
  term::Progress progress;
  const auto outcomes = driver::runCases(*cases, session.options.values, [&](size_t done) {
    progress.update(fmt::format("{} of {} cases, {:.0f} s", done, cases->size(), progress.seconds()));
  });
  progress.clear();
  const bool color = session.colorOut();
  std::vector<LegalityOfModule> judged;
  if (!chips.empty()) {
    std::vector<std::string> paths;
    for (const driver::ConformCase& c : *cases) paths.push_back(c.folder);
    judged = judgeFiles(paths, chips, session.options.values.jobs);
  }
  std::vector<term::Table::Column> columns{{"case"}, {""}};
  if (!judged.empty()) columns.push_back({"by the compilers of TPUs"});
  columns.push_back({""});
  term::Table table(columns);
  int64_t withFindings = 0, stopped = 0, wrong = 0, notTaken = 0;
  for (size_t i = 0; i < cases->size(); ++i) {
    const driver::CaseOutcome& o = outcomes[i];
    const bool ended = o.verdict == Verdict::refused || o.verdict == Verdict::crash;
    stopped += ended;
    const bool found = machine::countMistakes(o.findings) > 0;
    withFindings += !ended && found;
    wrong += !ended && !found && !o.wrong.empty();
    const bool good = !ended && !found && o.wrong.empty();
    const Diagnostic* shown = ended && o.diagnostic                               ? &*o.diagnostic
                              : !o.findings.empty() && (found || o.wrong.empty()) ? &o.findings.front().diagnostic
                                                                                  : nullptr;
    std::vector<std::string> row{(*cases)[i].name,
                                 term::styled(good ? term::Style::green : term::Style::red, outcomeText(o), color)};
    if (!judged.empty()) row.push_back(legalityCell(judged[i]));
    row.push_back(shown ? fmt::format("{} {}", shown->code, shown->message) : o.wrong);
    table.add(std::move(row));
    out.push_back({{"module", (*cases)[i].name},
                   {"findings", driver::toJson(o.findings)},
                   {"error", ended && o.diagnostic ? driver::toJson(*o.diagnostic) : Json(nullptr)}});
    if (judged.empty()) continue;
    out.back()["chips"] = toJson(judged[i])["chips"];
    notTaken += !judged[i].accepted();
  }
  if (!session.json()) {
    session.print(table.str(color) + "\n");
    for (size_t i = 0; i < cases->size(); ++i) {
      if (outcomes[i].findings.empty()) continue;
      session.print((*cases)[i].name + ":\n");
      for (const machine::Finding& f : outcomes[i].findings) session.print(session.findingText(f, color));
      session.print("\n");
    }
    session.print(crashText(session, *cases, outcomes));
    session.print(fmt::format("{}: {} with findings, {} refused or crashed, {} with a wrong result{}\n",
                              plural(static_cast<int64_t>(cases->size()), "case"), withFindings, stopped, wrong,
                              judged.empty() ? "" : fmt::format(", {} that compilers of TPUs refuse", notTaken)));
  }
  if (withFindings + stopped + notTaken > 0) return kRefused;
  return wrong > 0 ? kWrongResult : kOk;
}

/// The memory map for the chip, if one is given.
std::string memoryText(const Session& session, const std::string& path, const std::vector<tpu::Chip>& chips) {
  if (chips.size() != 1) return {};
  auto module = driver::loadModuleOrCase(path);
  if (!module || !driver::assumeShapes(*module)) return {};
  std::string text;
  for (size_t i = 0; i < module->numKernels(); ++i) text += vmemText(session, *module->kernel(i), chips.front());
  return text;
}

/// Verdicts of TPU compilers, without running anything.
int checkLegality(const Session& session, const CheckArguments& arguments, const std::vector<tpu::Chip>& chips) {
  const auto judged = judgeFiles(arguments.paths, chips, session.options.values.jobs);
  int code = kOk;
  Json modules = Json::array();
  std::string text;
  for (const LegalityOfModule& m : judged) {
    code = std::max(code, m.exitCode());
    if (session.json())
      modules.push_back(toJson(m));
    else
      text += legalityText(session, m) + (judged.size() == 1 ? memoryText(session, m.path, chips) : "");
  }
  if (session.json())
    session.printJson({{"modules", std::move(modules)}});
  else
    session.print(text);
  return code;
}

/// Folders of cases, one by one, each with several schedules.
Result<std::vector<std::string>> modulesOf(const CheckArguments& arguments) {
  std::vector<std::string> paths;
  for (const std::string& path : arguments.paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error) || driver::isCaseFolder(path)) {
      paths.push_back(path);
      continue;
    }
    auto cases = driver::listCases({path}, arguments.filter);
    if (!cases) return fail(std::move(cases.error()));
    for (const auto& c : *cases) paths.push_back(c.folder);
  }
  return paths;
}

int check(Session& session, const CheckArguments& arguments) {
  std::vector<tpu::Chip> chips;
  if (std::string names = session.options.values.chip;
      !names.empty() || arguments.legalityOnly || !arguments.against.empty()) {
    auto found = tpu::findChips(names.empty() ? "all" : names);
    if (!found) return session.refuse(found.error());
    chips = std::move(*found);
  }
  if (!arguments.against.empty()) return checkAgainst(session, arguments.paths, chips, arguments.against);
  if (arguments.legalityOnly) return checkLegality(session, arguments, chips);
  session.options.values.check = true;
  int code = kOk;
  Json out = Json::array();
  const Result<std::vector<std::string>> paths =
      arguments.schedules > 0 ? modulesOf(arguments) : Result<std::vector<std::string>>(arguments.paths);
  if (!paths) return session.refuse(paths.error());
  for (const std::string& path : *paths) {
    std::error_code error;
    int one = kOk;
    if (std::filesystem::is_directory(path, error) && !driver::isCaseFolder(path)) {
      one = checkFolder(session, path, arguments.filter, chips, out);
    } else {
      const Checked checked = checkModule(path, arguments.inputs, session.options, arguments.schedules);
      one = checked.exitCode();
      Json row = toJson(checked);
      if (!session.json()) print(session, checked);
      if (!chips.empty()) {
        const LegalityOfModule judged = judgeFile(path, chips);
        one = std::max(one, judged.exitCode());
        row["chips"] = toJson(judged)["chips"];
        if (!session.json()) session.print(legalityText(session, judged) + memoryText(session, path, chips));
      }
      if (session.json()) out.push_back(std::move(row));
    }
    code = std::max(code, one);
  }
  if (session.json()) session.printJson(out);
  return code;
}

}  // namespace

void declareCheck(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<CheckArguments>();
  app.add_option("paths", arguments->paths, "modules, case folders, or folders of cases")
      ->required()
      ->type_name("PATH");
  arguments->inputs.declare(app);
  app.add_flag("--legality-only", arguments->legalityOnly,
               "run nothing; report what the compilers of the TPUs named by --chip (all by default) would say");
  app.add_option("--against", arguments->against,
                 "run nothing; report where those verdicts differ from a compiler's: libtpu, or a PJRT plugin's file")
      ->type_name("COMPILER");
  app.add_option("--schedules", arguments->schedules,
                 "try N orders of programs and copies, from --seed on; fewer if all others would show the same")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}));
  app.add_option("--filter", arguments->filter, "of a folder: only cases whose name contains this")->type_name("TEXT");
  session.addOptions(app,
                     {OptionGroup::run, OptionGroup::check, OptionGroup::tpu, OptionGroup::cases, OptionGroup::cache,
                      OptionGroup::output},
                     {"check"});
  app.callback(
      [&session, arguments] { session.action = [&session, arguments] { return check(session, *arguments); }; });
}

}  // namespace smalti::cli
