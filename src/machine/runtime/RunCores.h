// Runs the programs of all devices and cores, interleaved by a scheduler.
#pragma once

#include <memory>
#include <vector>

#include "machine/runtime/CoreExecution.h"

namespace smalti::machine {

/// Until every program has finished and every copy has arrived. Fails with what a program fails with, with SM4103 when
/// all that are left wait and nothing is in flight, with SM4104 when the step limit is passed, and with SM9006 when the
/// options say stop.
Status runCores(Runtime&, std::vector<std::unique_ptr<CoreExecution>>&);

/// SM4103: the waiting programs, their semaphores, and what could raise those.
Diagnostic deadlock(const Runtime&, const std::vector<std::unique_ptr<CoreExecution>>&);
/// SM9006: stopped by the caller, with the position of each program.
Diagnostic stopped(const Runtime&, const std::vector<std::unique_ptr<CoreExecution>>&);
/// SM4104: with the position of each program.
Diagnostic livelock(const Runtime&, const std::vector<std::unique_ptr<CoreExecution>>&);

}  // namespace smalti::machine
