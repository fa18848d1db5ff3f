// An observer that reports findings. Each checker is one file beside this; Checks.cpp lists them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "machine/Observer.h"
#include "machine/observers/Findings.h"
#include "machine/runtime/Runtime.h"

namespace smalti::machine {

/// What checkers know of the run besides events.
struct CheckContext {
  const CompiledKernel* kernel = nullptr;
  const MachineOptions* options = nullptr;
  int numDevices = 1;
  Findings* findings = nullptr;
  /// Where a finding belongs: kernel, device (if several), grid step.
  std::vector<std::string> where(const Actor&) const;
};

class Checker : public Observer {
 public:
  explicit Checker(CheckContext context) : context_(context) {}
  /// After every program has ended and every copy has arrived.
  virtual void runEnd(Runtime&) {}

 protected:
  CheckContext context_;
};

std::unique_ptr<Checker> makeInitialisationChecker(CheckContext);
std::unique_ptr<Checker> makeRevisitChecker(CheckContext);
std::unique_ptr<Checker> makeSemaphoreChecker(CheckContext);
std::unique_ptr<Checker> makeDmaChecker(CheckContext);
std::unique_ptr<Checker> makeOvertakingChecker(CheckContext);

}  // namespace smalti::machine
