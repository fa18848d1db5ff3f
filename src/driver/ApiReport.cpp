#include "driver/ApiReport.h"

namespace smalti::driver {

RunReport report(RunOutcome outcome) {
  RunReport r;
  r.results = std::move(outcome.results);
  for (machine::Finding& f : outcome.findings) r.findings.push_back({std::move(f.diagnostic), f.count});
  r.log = std::move(outcome.log);
  const machine::RunStatistics& s = outcome.statistics;
  r.statistics = {s.gridSteps,    s.instructions, s.windowFetches,   s.windowWriteBacks,
                  s.dmaTransfers, s.dmaBytes,     s.peakWindowBytes, s.valueBytes};
  return r;
}

}  // namespace smalti::driver
