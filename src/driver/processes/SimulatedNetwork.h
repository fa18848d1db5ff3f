// A simulated network: messages are delayed according to its latency and bandwidth.
#pragma once

#include <memory>
#include <string_view>

#include "base/process/Processes.h"

namespace smalti::driver {

struct Network {
  double latencySeconds = 0, bytesPerSecond = 0;  ///< of each direction between two processes; 0: as it is
  bool operator==(const Network&) const = default;
};

/// "MICROSECONDS,GIGABYTES_PER_SECOND", "" for none. SM1011.
Result<Network> parseNetwork(std::string_view text);

/// `inner` with that network before it. A message leaves its link after the ones before it; then latency passes. Clocks
/// of hosts are compared directly: between hosts whose clocks differ, the delay is wrong by the difference.
std::unique_ptr<Processes> slowed(Processes& inner, const Network&);

}  // namespace smalti::driver
