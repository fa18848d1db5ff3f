// What all verbs share: options, output, exit codes.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>

#include <CLI/CLI.hpp>

#include "base/Options.h"
#include "driver/Json.h"

namespace smalti::cli {

using driver::Json;

enum ExitCode : int { kOk = 0, kWrongResult = 1, kUsage = 2, kRefused = 3, kInternal = 4 };

/// SM10xx is the user's command or files, SM90xx ours, everything else a refusal.
int exitCodeFor(const Diagnostic&);

class Session {
 public:
  OptionSet options;
  /// What the chosen verb does; set by its callback.
  std::function<int()> action;
  /// The first wrong value among the options, if any.
  Status optionStatus;

  bool json() const { return options.values.json; }
  bool colorOut() const;
  bool colorErr() const;

  /// Declares the options of these groups on a verb, but for those it declares itself.
  void addOptions(CLI::App&, std::initializer_list<OptionGroup>, std::initializer_list<std::string_view> except = {});

  void print(const std::string& text) const;  ///< to standard output
  void printJson(const Json&) const;
  void note(const std::string& text) const;  ///< to standard error
  /// A refusal: text on standard error, or JSON {"error": …} on standard output; returns the exit code.
  int refuse(const Diagnostic&) const;
  /// "error[SM…]: …" and its lines, in colour; `kind` stands for "error".
  std::string diagnosticText(const Diagnostic&, const std::string& kind, bool color) const;
  std::string findingText(const machine::Finding&, bool color) const;
};

}  // namespace smalti::cli
