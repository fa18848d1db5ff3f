// One recorded case from its folder to a verdict.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "base/Options.h"
#include "machine/Machine.h"

namespace smalti::driver {

enum class Verdict : uint8_t {
  pass,
  fail,     ///< a wrong result, or (when checking) a finding
  refused,  ///< a diagnostic
  crash,    ///< its process ended or was ended, or an internal error
  ran,      ///< to its end, nothing is expected
};
std::string_view name(Verdict);

struct CaseOutcome {
  Verdict verdict = Verdict::crash;
  /// The reason for a refusal or crash, or the first finding if it made the case fail.
  std::optional<Diagnostic> diagnostic;
  std::vector<machine::Finding> findings;
  std::optional<double> maxError;  ///< over all results
  std::string maxErrorAt;          ///< "result 0 (3, 5)"
  std::string wrong;               ///< the errors in the results; empty: none
  double seconds = 0;
};

/// `stop`: ends the run when it becomes true.
CaseOutcome runCase(const std::string& folder, const Options&, const std::atomic<bool>* stop = nullptr);

/// Serialisation of an outcome from a child process to its parent.
std::string toText(const CaseOutcome&);
std::optional<CaseOutcome> outcomeFromText(const std::string&);

}  // namespace smalti::driver
