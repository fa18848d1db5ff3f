// The checkers that the options enable, as one observer.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "machine/observers/Checker.h"
#include "machine/observers/Dispatcher.h"

namespace smalti::machine {

class Checks {
 public:
  Checks(const CompiledKernel&, const MachineOptions&, int numDevices, int numCores, std::span<Observer* const> extra);
  /// Null without observers.
  Observer* observer();
  void runEnd(Runtime&);
  /// Receives findings of the runtime itself.
  Findings& findings() { return findings_; }
  std::vector<Finding> takeFindings() { return findings_.take(); }

 private:
  Findings findings_;
  std::vector<std::unique_ptr<Checker>> checkers_;
  Dispatcher dispatcher_;
};

}  // namespace smalti::machine
