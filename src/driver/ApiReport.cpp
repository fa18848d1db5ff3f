#include "driver/ApiReport.h"

namespace smalti::driver {
namespace {

template <class Outcome>
void fill(RunReport& r, Outcome& outcome) {
  for (machine::Finding& f : outcome.findings) r.findings.push_back({std::move(f.diagnostic), f.count});
  r.log = std::move(outcome.log);
  const machine::RunStatistics& s = outcome.statistics;
  r.statistics = {s.gridSteps,    s.instructions, s.windowFetches,   s.windowWriteBacks,
                  s.dmaTransfers, s.dmaBytes,     s.peakWindowBytes, s.valueBytes};
}

}  // namespace

RunReport report(RunOutcome&& outcome) {
  RunReport r{.results = std::move(outcome.results), .findings = {}, .log = {}, .statistics = {}};
  fill(r, outcome);
  return r;
}

RunReport report(machine::KernelResult&& result) {
  RunReport r{.results = std::move(result.results[0]), .findings = {}, .log = {}, .statistics = {}};
  fill(r, result);
  return r;
}

}  // namespace smalti::driver
