// smalti env: every option with its variable, value and origin.
#include <unistd.h>

#include <fmt/format.h>

#include "driver/Version.h"
#include "driver/cli/Verbs.h"
#include "driver/target/Describe.h"
#include "driver/term/Table.h"

namespace smalti::cli {
namespace {

std::string_view name(Origin origin) {
  switch (origin) {
    case Origin::builtIn:
      return "built in";
    case Origin::environment:
      return "environment";
    case Origin::commandLine:
      return "command line";
  }
  return "";
}

std::vector<std::pair<std::string, std::string>> misspeltInEnvironment() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text = *variable;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return misspeltVariables(names);
}

int env(const Session& session) {
  Json rows = Json::array();
  term::Table table({{"variable"}, {"value"}, {"from"}, {"may be"}, {"what it is"}});
  for (const OptionRow& row : optionRows()) {
    const std::string value = session.options.text(row);
    const std::string_view origin = name(session.options.origin(row));
    table.add({row.variable(), value, std::string(origin), row.allowed(), std::string(row.help)});
    rows.push_back({{"option", row.name},
                    {"flag", row.flag()},
                    {"variable", row.variable()},
                    {"value", value},
                    {"origin", origin},
                    {"allowed", row.allowed()},
                    {"help", row.help}});
  }
  const auto wrong = misspeltInEnvironment();
  if (session.json()) {
    Json unknown = Json::array();
    for (const auto& [variable, near] : wrong) unknown.push_back({{"variable", variable}, {"nearest", near}});
    session.printJson(
        {{"version", versionText()}, {"options", rows}, {"targets", driver::targetsJson()}, {"misspelt", unknown}});
    return kOk;
  }
  session.print(table.str(session.colorOut()));
  session.print("\nEach is also a flag: SMALTI_STEP_LIMIT is --step-limit, and the flag wins.\n\ntargets\n" +
                driver::describeTargets());
  for (const auto& [variable, near] : wrong)
    session.note(fmt::format("{} is not an option of Smalti; did you mean {}?\n", variable, near));
  return kOk;
}

}  // namespace

void declareEnv(CLI::App& app, Session& session) {
  session.addOptions(app, {OptionGroup::run, OptionGroup::check, OptionGroup::tpu, OptionGroup::cases,
                           OptionGroup::cache, OptionGroup::output});
  app.callback([&session] { session.action = [&session] { return env(session); }; });
}

}  // namespace smalti::cli
