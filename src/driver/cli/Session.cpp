#include "driver/cli/Session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "driver/term/Style.h"
#include "machine/Machine.h"
#include "tpu/chip/Chip.h"

namespace smalti::cli {

int exitCodeFor(const Diagnostic& d) {
  if (d.code.starts_with("SM10")) return kUsage;
  return d.code.starts_with("SM90") ? kInternal : kRefused;
}

bool Session::colorOut() const { return term::wantsColor(options.values.color, output_.toFile() ? -1 : STDOUT_FILENO); }
bool Session::colorErr() const { return term::wantsColor(options.values.color, STDERR_FILENO); }

namespace {

std::string titleOf(OptionGroup group) {
  switch (group) {
    case OptionGroup::run:
      return "How kernels run";
    case OptionGroup::check:
      return "Checks";
    case OptionGroup::tpu:
      return "TPU compilers";
    case OptionGroup::tune:
      return "Results of tuning";
    case OptionGroup::cases:
      return "Sets of cases";
    case OptionGroup::cache:
      return "Compiled kernels";
    case OptionGroup::output:
      return "Output";
  }
  return "";
}

}  // namespace

void Session::declare(CLI::App& app, const OptionRow& row) {
  const auto apply = [this, &row](const std::string& value) {
    Status status = options.set(row, value, Origin::commandLine, row.flag());
    if (status && row.name == "chip" && value.empty()) status = fail(tpu::findChip(value).error());  // else: no chip
    if (!status && optionStatus) optionStatus = std::move(status);
  };
  CLI::Option* option = nullptr;
  if (row.isSwitch()) {
    option = app.add_flag_function(
        fmt::format("{},!--no-{}", row.flag(), row.name), [apply](int64_t count) { apply(count > 0 ? "on" : "off"); },
        std::string(row.help));
  } else {
    option = app.add_option_function<std::string>(row.flag(), apply, std::string(row.help));
    option->type_name(row.hasChoices()                                        ? row.allowed()
                      : std::holds_alternative<int64_t Options::*>(row.field) ? "N"
                                                                              : "NAME");
  }
  option->group(titleOf(row.group));
}

void Session::addOptions(CLI::App& app, std::initializer_list<OptionGroup> groups,
                         std::initializer_list<std::string_view> except) {
  for (const OptionRow& row : optionRows()) {
    if (std::find(groups.begin(), groups.end(), row.group) == groups.end()) continue;
    if (std::find(except.begin(), except.end(), row.name) != except.end()) continue;
    declare(app, row);
  }
  const bool prints = std::find(groups.begin(), groups.end(), OptionGroup::output) != groups.end();
  if (prints && std::find(except.begin(), except.end(), "output") == except.end())
    app.add_option("-o,--output", output_.file, "write the output to this file; - is standard output")
        ->type_name("FILE")
        ->group(titleOf(OptionGroup::output));
}

void Session::addOption(CLI::App& app, std::string_view name) { declare(app, *findOption(name)); }

bool Session::isGiven(std::string_view option) const { return options.origin(*findOption(option)) != Origin::builtIn; }

void Session::print(const std::string& text) const { output_.write(text); }

void Session::printJson(const Json& json) const {
  jsonPrinted_ = true;
  print(driver::dump(json, 1) + "\n");
}

void Session::note(const std::string& text) const {
  output_.flush();
  std::fwrite(text.data(), 1, text.size(), stderr);
}

int Session::refuse(const Diagnostic& d) const {
  const bool asJson = json() && !jsonPrinted_;
  if (asJson) printJson({{"error", driver::toJson(d)}});
  if (!asJson || output_.toFile()) note(diagnosticText(d, "error", colorErr()));
  return exitCodeFor(d);
}

int Session::finish(int code) const {
  const Status written = output_.finish(/*writeEmptyFile=*/code == kOk);
  if (written) return code;
  note(diagnosticText(written.error(), "error", colorErr()));
  return code == kOk ? exitCodeFor(written.error()) : code;
}

std::string Session::diagnosticText(const Diagnostic& d, const std::string& kind, bool color) const {
  const std::string text = d.str(kind);
  const size_t head = kind.size() + d.code.size() + std::string_view("[]").size();
  return term::styled(term::Style::red, text.substr(0, head), color) + text.substr(head);
}

std::string Session::findingText(const Finding& finding, bool color) const {
  std::string text = diagnosticText(finding.diagnostic, std::string(name(finding.severity)), color);
  if (finding.count > 1) text += fmt::format("  seen: {} times\n", term::grouped(finding.count));
  return text;
}

}  // namespace smalti::cli
