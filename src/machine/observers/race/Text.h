// The text of a race: both accesses, and the missing order.
#pragma once

#include "machine/observers/race/History.h"

namespace smalti::machine::race {

/// One of two accesses.
struct Side {
  const Party* party = nullptr;
  const Footprint* footprint = nullptr;
  bool write = false;
};

/// Whose memory the two meet in, and how many there are of those.
struct Scene {
  std::string buffer;
  AllocationId allocation;
  int numDevices = 1, numCores = 1;
};

/// SM4107, SM4108: a program and its own copy. SM4113: different programs, or their copies. `first` came first in this
/// run; without `where`.
Diagnostic describe(const Scene&, const Side& first, const Side& second);
/// SM4114: a copy or a signal to a device that may not be in the kernel yet.
Diagnostic notEntered(const std::string& what, const SourcePlace&, int device, int fromDevice);

}  // namespace smalti::machine::race
