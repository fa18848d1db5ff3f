// One module or case under every observer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/cli/Inputs.h"
#include "driver/cli/Session.h"
#include "machine/Machine.h"

namespace smalti::cli {

/// What went wrong in one run: findings, or the diagnostic that ended it.
struct Checked {
  std::string path;
  std::vector<machine::Finding> findings;
  std::optional<Diagnostic> refusal;
  machine::RunStatistics statistics;
  int exitCode() const {
    if (refusal) return exitCodeFor(*refusal);
    return findings.empty() ? kOk : kRefused;
  }
};
Json toJson(const Checked&);

/// In a process of its own where a limit on time or memory is given, in this one otherwise.
Checked checkModule(const std::string& path, const InputArguments&, const OptionSet&);

}  // namespace smalti::cli
