// The actors of bench/devices: a line "OPERATION BYTES SECONDS" asks for a measurement, the answer is seconds per call.
// BYTES are those of the larger side on each device: what it gives to an all-reduce, a reduce-scatter or an all-to-all,
// what it gets from an all-gather.
#pragma once

#include <algorithm>
#include <chrono>

namespace devices {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The number of calls in a round of about a millisecond, given the seconds of one.
inline int callsFor(double oneSeconds) {
  return std::clamp(static_cast<int>(1e-3 / std::max(oneSeconds, 1e-9)), 1, 1000);
}

/// The fastest of several rounds, in seconds per call.
template <class Call>
double fastest(double seconds, const Call& call) {
  call();
  double from = now();
  call();
  const int calls = callsFor(now() - from);
  double best = 1e30;
  const double end = now() + seconds;
  for (int round = 0; round < 3 || now() < end; ++round) {
    from = now();
    for (int i = 0; i < calls; ++i) call();
    best = std::min(best, (now() - from) / calls);
  }
  return best;
}

}  // namespace devices
