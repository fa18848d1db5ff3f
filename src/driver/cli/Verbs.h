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

void declareRun(CLI::App&, Session&);
void declareConform(CLI::App&, Session&);
void declareCheck(CLI::App&, Session&);
void declareShow(CLI::App&, Session&);
void declareDescribe(CLI::App&, Session&);
void declareExport(CLI::App&, Session&);
void declareExplain(CLI::App&, Session&);
void declareEnv(CLI::App&, Session&);
void declareNew(CLI::App&, Session&);

std::span<const Verb> verbs();
}  // namespace smalti::cli
