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
  std::optional<double> max_error;       ///< the largest |got - expected|, of finite elements of all results
  std::string max_error_at;              ///< its element: "result 0 (3, 5)"
  std::string wrong;                     ///< the errors in the results; empty: none
  std::optional<Diagnostic> diagnostic;  ///< why it was refused, or the first finding
  double seconds = 0;
};

/// The case folders in or below `folder`, sorted; empty if there are none. Error SM1001: it cannot be read.
Result<std::vector<std::string>> find_cases(const std::string& folder);

/// Runs the case in `folder` and compares results with expected ones: |got - expected| <= atol + rtol * |expected| for
/// each element, with the `tolerance` of case.json, otherwise 0 (docs/values.md). When `stop` becomes true, the run
/// ends and the case is refused (SM9006).
CaseReport run_case(const std::string& folder, const Settings& = {}, const std::atomic<bool>* stop = nullptr);

}  // namespace smalti
