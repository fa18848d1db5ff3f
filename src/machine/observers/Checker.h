// An observer that reports findings. Each checker is one file next to this; Registry.cpp lists them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "machine/Observer.h"
#include "machine/observers/Findings.h"
#include "machine/runtime/Runtime.h"

namespace smalti::machine {

/// The facts about the run that checkers have in addition to events.
struct CheckContext {
  const CompiledKernel* kernel = nullptr;
  const MachineOptions* options = nullptr;
  int numDevices = 1, numCores = 1;
  Findings* findings = nullptr;
  /// The severity of counts and copies that are left at the end: a note if the module has `disable_semaphore_checks`.
  Severity leftInSemaphores() const;
  /// The context of a finding: kernel, device and core (if several), grid step.
  std::vector<std::string> where(const Actor&) const;
  /// The user's line; of a window that is its index map's. May be null.
  const SourcePlace* placeOf(const MemoryAccess&) const;
  /// S-G9: the kernel uses the barrier semaphore, so that it begins on each device when that gets there.
  bool usesBarrier() const;
};

class Checker : public Observer {
 public:
  explicit Checker(CheckContext context) : context_(context) {}
  /// After every program has ended and every copy has arrived.
  virtual void runEnd(Runtime&) {}

 protected:
  CheckContext context_;
};

}  // namespace smalti::machine
