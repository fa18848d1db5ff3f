// The verbs of the command line: one file and one row each.
#pragma once

#include <span>
#include <string_view>

#include "driver/cli/Session.h"

namespace smalti::cli {

struct Verb {
  std::string_view name;
  std::string_view summary;
  std::string_view example;  ///< shown by --help
  void (*declare)(CLI::App&, Session&);
};

/// A program with verbs: its command line, options and error messages behave like those of smalti.
struct Application {
  std::string_view name;
  std::string_view summary;
  std::string_view footer;  ///< shown by --help
  std::span<const Verb> verbs;
  std::span<const Tunable> kernels{};  ///< for `tune`
};
/// Its whole command line; returns the exit code. Nothing is thrown out of it.
int main(const Application&, int argc, const char* const* argv);

void declareRun(CLI::App&, Session&);
void declareConform(CLI::App&, Session&);
void declareChips(CLI::App&, Session&);
void declareTime(CLI::App&, Session&);
void declareTune(CLI::App&, Session&);
void declareReport(CLI::App&, Session&);
void declareCheck(CLI::App&, Session&);
void declareShow(CLI::App&, Session&);
void declareDescribe(CLI::App&, Session&);
void declareExport(CLI::App&, Session&);
void declareCache(CLI::App&, Session&);
void declareExplain(CLI::App&, Session&);
void declareEnv(CLI::App&, Session&);
void declareNew(CLI::App&, Session&);

std::span<const Verb> verbs();
}  // namespace smalti::cli
