// One module or case under every observer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/cli/Session.h"
#include "driver/cli/run/Inputs.h"
#include "machine/observers/Findings.h"

namespace smalti::cli {

/// The result of one run: findings (and notes), or the diagnostic that ended it.
struct Checked {
  std::string path;
  std::vector<machine::Finding> findings;
  std::optional<Diagnostic> refusal;
  machine::RunStatistics statistics;
  int64_t schedules = 0;       ///< tried, where many were asked for
  bool everySchedule = false;  ///< the findings are those of every schedule
  int exitCode() const {
    if (refusal) return exitCodeFor(*refusal);
    return machine::countMistakes(findings) == 0 ? kOk : kRefused;
  }
};
Json toJson(const Checked&);

/// Checks a module in its own process, which ends after --timeout-seconds, with the limit --child-memory-mib if given.
/// `schedules` other than 0: on the abstract machine, with this number of seeds from --seed on. A finding names the
/// seed that shows it. Ends early if one schedule covers all others.
Checked checkModule(const std::string& path, const InputArguments&, const OptionSet&, int64_t schedules = 0);

}  // namespace smalti::cli
