// Devices of one kernel that are spread over processes: messages to the others go through `Processes`.
#pragma once

#include <memory>

#include "base/process/ProcessRun.h"
#include "machine/Transport.h"

namespace smalti::machine {

/// The transport of the next kernel that the processes run together. If no process can proceed and no message is in
/// flight, all of them are notified, so that each reports its part of the deadlock. SM5011: another process gave up the
/// kernel.
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
