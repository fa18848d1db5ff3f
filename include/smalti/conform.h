// Recorded cases: a folder with case.json, a module, inputs and expected results. They run in this process; `smalti
// conform` runs each in a process of its own.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "smalti/diagnostic.h"
#include "smalti/settings.h"

namespace smalti {

struct CaseReport {
  std::string
      status;  ///< "pass"; "fail": a wrong result, or (when checking) a finding; "refused"; "ran": nothing expected
  std::optional<double> max_error;       ///< the largest, over all results
  std::string max_error_at;              ///< "result 0 (3, 5)"
  std::string wrong;                     ///< what is wrong with the results; empty: nothing
  std::optional<Diagnostic> diagnostic;  ///< why it was refused, or the first finding
  double seconds = 0;
};

/// The case folders in or below `folder`, sorted; empty if there are none. SM1001 if it cannot be read.
Result<std::vector<std::string>> find_cases(const std::string& folder);

/// Runs the case in `folder` and compares results with expected ones, within tolerances. When `stop` becomes true, the
/// run ends and the case is refused.
CaseReport run_case(const std::string& folder, const Settings& = {}, const std::atomic<bool>* stop = nullptr);

}  // namespace smalti
