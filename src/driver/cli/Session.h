// The state that all verbs share: options, output, exit codes.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>

#include <CLI/CLI.hpp>

#include "base/Options.h"
#include "driver/Json.h"
#include "driver/cli/Output.h"
#include "smalti/autotune.h"

namespace smalti::cli {

using driver::Json;

enum ExitCode : int { kOk = 0, kWrongResult = 1, kUsage = 2, kRefused = 3, kInternal = 4 };

/// SM10xx: the user's command or files; SM90xx: a bug of Smalti; all others: a refusal.
int exitCodeFor(const Diagnostic&);

class Session {
 public:
  OptionSet options;
  /// The action of the chosen verb; set by its callback.
  std::function<int()> action;
  /// The kernels that `tune` knows by name.
  std::span<const Tunable> kernels;
  /// The first wrong value among the options, if any.
  Status optionStatus;

  /// --json: JSON instead of text, on the same stream.
  bool json() const { return options.values.json; }
  bool colorOut() const;
  bool colorErr() const;

  /// Declares the options of these groups on a verb, but for those it declares itself ("output" is -o).
  void addOptions(CLI::App&, std::initializer_list<OptionGroup>, std::initializer_list<std::string_view> except = {});
  /// Declares one of a group that the verb does not take as a whole.
  void addOption(CLI::App&, std::string_view name);
  /// The user has set it.
  bool isGiven(std::string_view option) const;

  /// Of -o; "-" is standard output.
  const std::string& outputFile() const { return output_.file; }

  void print(const std::string& text) const;  ///< to standard output or the file of -o
  /// The same of the one JSON document of a verb.
  void printJson(const Json&) const;
  void note(const std::string& text) const;  ///< to standard error
  /// A refusal: text on standard error, or {"error": …} when that is the one JSON document; returns the exit code.
  int refuse(const Diagnostic&) const;
  /// Ends the output of a verb that returned `code`; returns the exit code of the command.
  int finish(int code) const;
  /// "error[SM…]: …" and its lines, in colour; `kind` stands for "error".
  std::string diagnosticText(const Diagnostic&, const std::string& kind, bool color) const;
  std::string findingText(const Finding&, bool color) const;

 private:
  void declare(CLI::App&, const OptionRow&);

  mutable Output output_;
  mutable bool jsonPrinted_ = false;
};

}  // namespace smalti::cli
