// Devices of one kernel that are spread over processes: messages to the others go through `Processes`.
#pragma once

#include <deque>
#include <memory>

#include "base/Processes.h"
#include "machine/Transport.h"

namespace smalti::machine {

/// What lasts from kernel to kernel: how many the processes have run together, and messages for the next one, which
/// some of them may have begun already.
struct KernelMessages {
  Processes* processes = nullptr;
  uint64_t runs = 0;
  std::deque<Processes::Message> early;
};

/// For the next kernel that the processes run together; process r has the devices [r, r + 1) * devices / count. When no
/// process can go on and no message is on its way, all of them learn it, so that each reports its part of the deadlock.
/// SM5011 when another process gives up the kernel.
std::unique_ptr<Transport> makeProcessTransport(Endpoint&, KernelMessages&, int64_t devices);

}  // namespace smalti::machine
