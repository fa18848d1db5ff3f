// One module or case under every observer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/cli/Session.h"
#include "driver/cli/run/Inputs.h"
#include "machine/observers/Findings.h"

namespace smalti::cli {

/// What went wrong in one run: findings (and notes), or the diagnostic that ended it.
struct Checked {
  std::string path;
  std::vector<machine::Finding> findings;
  std::optional<Diagnostic> refusal;
  machine::RunStatistics statistics;
  int64_t schedules = 0;       ///< tried, where many were asked for
  bool everySchedule = false;  ///< what was found is what any schedule shows
  int exitCode() const {
    if (refusal) return exitCodeFor(*refusal);
    return machine::countMistakes(findings) == 0 ? kOk : kRefused;
  }
};
Json toJson(const Checked&);

/// `schedules` other than 0: on the abstract machine, with as many seeds from --seed on. What one finds says which seed
/// shows it. Ends early where one schedule has said what all others would.
/// In a process of its own that ends after --timeout-seconds, and with --child-memory-mib where that is given.
Checked checkModule(const std::string& path, const InputArguments&, const OptionSet&, int64_t schedules = 0);

}  // namespace smalti::cli
