// The public API of recorded cases (smalti/conform.h).
#include "base/Guarded.h"
#include "base/Settings.h"
#include "base/process/ForkGate.h"
#include "driver/case/Case.h"
#include "driver/case/RunCase.h"
#include "ir/Lifetime.h"
#include "smalti/conform.h"

namespace smalti {

Result<std::vector<std::string>> find_cases(const std::string& folder) {
  return guarded([&] { return driver::findCases(folder); });
}

CaseReport run_case(const std::string& folder, const Settings& settings, const std::atomic<bool>* stop) {
  auto outcome = guarded([&]() -> Result<driver::CaseOutcome> {
    const UnforkedWork work;  // first: the end of the program refuses this work or waits for it
    if (Status alive = checkAlive(); !alive) return fail(std::move(alive.error()));
    return driver::runCase(folder, settings.state().options.values, stop);
  });
  if (!outcome) return {.status = "refused", .diagnostic = std::move(outcome.error())};
  return {.status = std::string(driver::name(outcome->verdict)),
          .max_error = outcome->maxError,
          .max_error_at = std::move(outcome->maxErrorAt),
          .wrong = std::move(outcome->wrong),
          .diagnostic = std::move(outcome->diagnostic),
          .seconds = outcome->seconds};
}

}  // namespace smalti
