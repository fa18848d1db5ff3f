// Many recorded cases, each in a process of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/Options.h"
#include "driver/Json.h"
#include "driver/case/RunCase.h"

namespace smalti::driver {

struct ConformCase {
  std::string name;  ///< relative to the folder given
  std::string folder;
};

/// The cases below the folders, those only whose name holds `filter`. SM1001, SM1016 when there is none.
Result<std::vector<ConformCase>> listCases(const std::vector<std::string>& folders, const std::string& filter);

/// Outcomes in the order of the cases; `progress(done, running…)` is called often.
std::vector<CaseOutcome> runCases(const std::vector<ConformCase>&, const Options&,
                                  const std::function<void(size_t done)>& progress);

struct Tally {
  int64_t passed = 0, failed = 0, refused = 0, crashed = 0, ran = 0;
  bool allGood() const { return failed + refused + crashed == 0; }
};
Tally tally(const std::vector<CaseOutcome>&);

/// {"passed", "failed", "refused", "crashed", "ran", "cases": [{"case", "status", "code", "max_error", "seconds"}]}
Json conformJson(const std::vector<ConformCase>&, const std::vector<CaseOutcome>&);

}  // namespace smalti::driver
