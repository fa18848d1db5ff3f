#include "sim/Clock.h"

#include <algorithm>

namespace smalti::sim {

Clock::Clock(const tpu::Chip& chip, double hbmShare)
    : chip_(chip),
      hbmBytesPerCycle_(chip.memory.hbmGbPerSecond * hbmShare * chip.time.hbmEfficiency / chip.device.clockGhz),
      iciBytesPerCycle_(chip.ici.linkGbPerSecond / chip.device.clockGhz),
      latency_(chip.time.copyLatencyUs * 1e3 * chip.device.clockGhz) {}

void Clock::compute(const Work& w) {
  const double cycles = w.elapsed(chip_);
  if (recorder) recorder->computed(w, now_, now_ + cycles);
  now_ += cycles;
  spent.units[w.busiest()] += cycles;
  work += w;
}

Clock::Copy Clock::start(Route route, double bytes, int64_t device) {
  scalar(chip_.time.copyCycles);
  ++copies;
  copyBytes += bytes;
  Copy copy;
  if (route == Route::onChip) {
    copy.bandwidthDone = now_ + bytes / (4096 * 0.5);
    copy.done = copy.bandwidthDone;
    if (recorder) copy.number = recorder->copied(now_, now_, copy.done, copy.done, bytes, false);
    return copy;
  }
  copy.remote = route == Route::ici;
  double& free = copy.remote ? iciFree_[device] : hbmFree_;
  const double latency = copy.remote ? hop() : latency_;
  const double begins = std::max(now_, free);
  free = begins + bytes / (copy.remote ? iciBytesPerCycle_ : hbmBytesPerCycle_);
  copy.bandwidthDone = free;
  copy.done = free + latency;
  if (!copy.remote) hbmBytes += bytes;
  if (recorder) copy.number = recorder->copied(now_, begins, free, copy.done, bytes, !copy.remote);
  return copy;
}

void Clock::waitUntil(double cycles) {
  if (cycles <= now_) return;
  spent.ici += cycles - now_;
  now_ = cycles;
}

void Clock::waitFor(const Copy& copy) {
  if (copy.done <= now_) return;
  const double forData = std::max(0.0, copy.bandwidthDone - now_);
  const double all = copy.done - now_;
  (copy.remote ? spent.ici : spent.bandwidth) += forData;
  (copy.remote ? spent.ici : spent.latency) += all - forData;
  if (recorder) recorder->waited(now_, copy.done, copy.number);
  now_ = copy.done;
}

}  // namespace smalti::sim
