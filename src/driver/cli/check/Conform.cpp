// smalti conform: every recorded case below some folders, each in a process of its own.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/io/File.h"
#include "driver/case/Children.h"
#include "driver/case/Conform.h"
#include "driver/cli/Verbs.h"
#include "driver/cli/check/CheckLegality.h"
#include "driver/cli/run/CrashText.h"
#include "driver/term/Progress.h"
#include "driver/term/Style.h"
#include "driver/term/Table.h"

namespace smalti::cli {
namespace {

using driver::CaseOutcome;
using driver::ConformCase;
using driver::Verdict;

struct ConformArguments {
  std::vector<std::string> folders;
  std::string filter, jsonFile, expectedFailuresFile;
  bool failuresOnly = false;
};

bool good(Verdict verdict) { return verdict == Verdict::pass || verdict == Verdict::ran; }

std::string note(const CaseOutcome& o) {
  if (!o.wrong.empty()) return o.wrong;
  return o.diagnostic ? fmt::format("{} {}", o.diagnostic->code, o.diagnostic->message) : "";
}

void printTable(const Session& session, const ConformArguments& arguments, const std::vector<ConformCase>& cases,
                const std::vector<CaseOutcome>& outcomes, const std::vector<LegalityOfModule>& judged) {
  const bool color = session.colorOut();
  std::vector<term::Table::Column> columns{{"case"}, {""}, {"largest error", term::Align::right}, {"at"}};
  if (!judged.empty()) columns.push_back({"by the compilers of TPUs"});
  columns.push_back({""});
  term::Table table(columns);
  for (size_t i = 0; i < cases.size(); ++i) {
    const CaseOutcome& o = outcomes[i];
    if (arguments.failuresOnly && good(o.verdict)) continue;
    const auto style = good(o.verdict) ? term::Style::green : term::Style::red;
    std::vector<std::string> row{cases[i].name, term::styled(style, name(o.verdict), color),
                                 o.maxError ? fmt::format("{:.3g}", *o.maxError) : "",
                                 o.maxError && *o.maxError > 0 ? o.maxErrorAt : ""};
    if (!judged.empty()) row.push_back(legalityCell(judged[i]));
    row.push_back(note(o));
    table.add(std::move(row));
  }
  if (!table.empty()) session.print(table.str(color) + "\n");
}

std::string summary(const std::vector<CaseOutcome>& outcomes, double seconds) {
  const driver::Tally t = driver::tally(outcomes);
  return fmt::format("{} passed, {} failed, {} refused, {} crashed, {} ran, in {}\n", t.passed, t.failed, t.refused,
                     t.crashed, t.ran, term::humanSeconds(seconds));
}

/// Lines of `--expected-failures`: a case's name each; '#' begins a comment.
Result<std::vector<std::string>> readExpectedFailures(const std::string& path) {
  const auto text = readFile(path);
  if (!text) return fail(text.error());
  std::vector<std::string> names;
  for (size_t begin = 0; begin < text->size();) {
    const size_t end = std::min(text->find('\n', begin), text->size());
    std::string line = text->substr(begin, end - begin);
    begin = end + 1;
    line.resize(std::min(line.find('#'), line.size()));
    const size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string::npos) names.push_back(line.substr(first, line.find_last_not_of(" \t\r") - first + 1));
  }
  return names;
}

/// 0 when exactly the expected ones fail. `all`: no filter excludes cases.
int judge(const Session& session, const std::vector<std::string>& expected, const std::vector<ConformCase>& cases,
          const std::vector<CaseOutcome>& outcomes, bool all) {
  int code = kOk;
  for (size_t i = 0; i < cases.size(); ++i) {
    const bool listed = std::find(expected.begin(), expected.end(), cases[i].name) != expected.end();
    if (listed && good(outcomes[i].verdict)) {
      session.note(
          fmt::format("{} is listed as an expected failure, but does not fail: take it off the list\n", cases[i].name));
      code = kWrongResult;
    }
    if (!listed && !good(outcomes[i].verdict)) code = kWrongResult;
  }
  if (!all) return code;
  for (const std::string& name : expected) {
    if (std::ranges::find(cases, name, &ConformCase::name) != cases.end()) continue;
    session.note(fmt::format("{} is listed as an expected failure, but no case has this name\n", name));
    code = kWrongResult;
  }
  return code;
}

/// --json alone prints the outcomes, --json FILE writes them next to the table. A folder behind it is one of the
/// cases'.
void takeJson(const std::string& given, Session& session, ConformArguments& arguments) {
  std::error_code none;
  const bool isFolder = std::filesystem::is_directory(given, none);
  if (isFolder) arguments.folders.push_back(given);
  if (isFolder || given.empty() || given == "-")
    session.options.values.json = true;
  else
    arguments.jsonFile = given;
}

int conform(const Session& session, const ConformArguments& arguments) {
  std::vector<std::string> folders = arguments.folders;
  if (folders.empty() && !session.options.values.corpus.empty()) folders = {session.options.values.corpus};
  if (folders.empty())
    return session.refuse({.code = "SM1000",
                           .message = "conform needs folders, or --corpus",
                           .place = {},
                           .help = "smalti conform test/data/cases"});
  const auto cases = driver::listCases(folders, arguments.filter);
  if (!cases) return session.refuse(cases.error());
  const auto chips = chipsGiven(session);
  if (!chips) return session.refuse(chips.error());
  Result<std::vector<std::string>> expected;
  if (!arguments.expectedFailuresFile.empty()) expected = readExpectedFailures(arguments.expectedFailuresFile);
  if (!expected) return session.refuse(expected.error());
  term::Progress progress;
  const auto outcomes = driver::runCases(*cases, session.options.values, [&](size_t done) {
    progress.update(fmt::format("{} of {} cases, {:.0f} s", done, cases->size(), progress.seconds()));
  });
  const double seconds = progress.seconds();
  progress.clear();
  Json json = driver::conformJson(*cases, outcomes);
  std::vector<LegalityOfModule> judged;
  if (!chips->empty()) {
    std::vector<std::string> paths;
    for (const ConformCase& c : *cases) paths.push_back(c.folder);
    judged = judgeFiles(paths, *chips, session.options.values.jobs);
    for (size_t i = 0; i < judged.size(); ++i) json["cases"][i]["chips"] = toJson(judged[i])["chips"];
  }
  if (!arguments.jsonFile.empty())
    if (Status status = writeFile(arguments.jsonFile, {driver::dump(json, 1), "\n"}); !status)
      return session.refuse(status.error());
  if (session.json()) {
    session.printJson(json);
  } else {
    printTable(session, arguments, *cases, outcomes, judged);
    session.print(crashText(session, *cases, outcomes));
    session.print(summary(outcomes, seconds));
  }
  return judge(session, *expected, *cases, outcomes, arguments.filter.empty());
}

}  // namespace

void declareConform(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<ConformArguments>();
  app.add_option("folders", arguments->folders, "folders with recorded cases in or below them")->type_name("FOLDER");
  app.add_option("--filter", arguments->filter, "only cases whose name contains this")->type_name("TEXT");
  app.add_flag("--failures-only", arguments->failuresOnly, "show only unexpected results");
  auto file = std::make_shared<std::string>();
  const CLI::Option* json = app.add_option("--json", *file, "print JSON instead of tables; with a FILE, write it there")
                                ->expected(0, 1)
                                ->type_name("[FILE]")
                                ->group("Output");
  app.add_option("--expected-failures", arguments->expectedFailuresFile,
                 "a file with the names of cases that may (and must) fail, one per line")
      ->type_name("FILE");
  session.addOptions(app,
                     {OptionGroup::run, OptionGroup::check, OptionGroup::tpu, OptionGroup::cases, OptionGroup::cache,
                      OptionGroup::output},
                     {"json"});
  app.callback([&session, arguments, json, file] {
    if (json->count() > 0) takeJson(*file, session, *arguments);
    session.action = [&session, arguments] { return conform(session, *arguments); };
  });
}

}  // namespace smalti::cli
