// Devices of one kernel that are spread over processes: messages to the others go through `Processes`.
#pragma once

#include <memory>

#include "base/process/ProcessRun.h"
#include "machine/Transport.h"

namespace smalti::machine {

/// For the next kernel that the processes run together. When no process can go on and no message is on its way, all of
/// them learn it, so that each reports its part of the deadlock. SM5011 when another process gives up the kernel.
std::unique_ptr<Transport> makeProcessTransport(Endpoint&, KernelMessages&, int64_t devices);

/// The same for MachineOptions::transport, of which native code wants to know where the messages go.
struct ProcessTransports {
  KernelMessages* messages = nullptr;
  int64_t devices = 0;
  std::unique_ptr<Transport> operator()(Endpoint& endpoint) const {
    return makeProcessTransport(endpoint, *messages, devices);
  }
};

}  // namespace smalti::machine
