#include "driver/time/TimeParts.h"

#include <cmath>
#include <numeric>

namespace smalti::driver {
namespace {

/// µs of the kernels, as far as their work is the transcendental unit's: whether it is the busiest or hides behind
/// others.
double transcendentalUs(const ProgramTime& time) {
  double us = 0;
  for (const KernelCallTime& k : time.kernels) {
    const auto& cycles = k.time.work.cycles;
    const double all = std::accumulate(cycles.begin(), cycles.end(), 0.0);
    if (all > 0) us += static_cast<double>(k.calls) * k.us * cycles[sim::Work::transcendental] / all;
  }
  return us;
}

}  // namespace

TimeParts partsOf(const ProgramTime& time, const tpu::Chip& chip) {
  using W = sim::Work;
  const double cyclesPerUs = chip.device.clockGhz * 1e3;
  TimeParts out{.ici = time.iciUs, .ops = time.opsUs};
  for (const KernelCallTime& k : time.kernels) {
    const sim::Spent& s = k.time.spent;
    const double us = static_cast<double>(k.calls) / cyclesPerUs;  // of a cycle, in all calls
    out.matrix += us * s.units[W::matrix];
    out.vector += us * (s.units[W::alu] + s.units[W::transcendental] + s.units[W::crossLane]);
    out.vmem += us * (s.units[W::load] + s.units[W::store]);
    out.hbm += us * s.bandwidth;
    out.copyLatency += us * s.latency;
    out.steps += us * s.scalar;
    out.ici += us * s.ici;
  }
  return out;
}

void setRange(ProgramTime& time, const tpu::Chip& chip) {
  const TimeParts p = partsOf(time, chip);
  const auto& u = chip.uncertainty;
  double squares = 0;
  for (const auto& [us, relative] :
       {std::pair{time.us, u.everything}, std::pair{p.vector, u.issueSlots},
        std::pair{transcendentalUs(time), u.transcendental}, std::pair{p.vmem, u.vmem}, std::pair{p.hbm, u.hbm},
        std::pair{p.copyLatency, u.copyLatency}, std::pair{p.steps, u.stepOverhead}, std::pair{p.ici, u.ici},
        std::pair{p.ops, u.ops}})
    squares += us * relative * us * relative;
  const double relative = time.us > 0 ? std::sqrt(squares) / time.us : 0;
  time.lowUs = time.us * std::exp(-u.below * relative);
  time.highUs = time.us * std::exp(u.above * relative);
}

}  // namespace smalti::driver
