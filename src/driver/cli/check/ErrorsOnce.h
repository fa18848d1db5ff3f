// Errors of many modules, printed once each.
#pragma once

#include <string>
#include <vector>

#include "driver/cli/Session.h"

namespace smalti::cli {

/// Prints errors to standard output, each under the first module that has it: one of the plugin is every module's.
class ErrorsOnce {
 public:
  explicit ErrorsOnce(const Session& session) : session_(session) {}
  void print(const std::string& path, const Diagnostic&);

 private:
  const Session& session_;
  std::vector<std::string> printed_;
};

}  // namespace smalti::cli
