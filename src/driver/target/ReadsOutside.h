// Code goes on after loads that reach outside their refs; the machine names the elements.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>
#include <vector>

#include "machine/Machine.h"

namespace smalti::driver {

/// What `run` of the machine reports with these options.
using MachineRun = std::function<Result<machine::KernelResult>(const machine::MachineOptions&)>;

/// A finding for each of these places, without elements: native code does not know them.
std::vector<Finding> readsOutside(const std::vector<SourcePlace>&);
/// Of code that knows only that there was such a read, of a scalar.
Finding scalarReadOutside(std::string_view kernel);

/// The findings of one kernel's calls.
class ReadsOutside {
 public:
  /// The first time, all findings of the machine, which runs the call again for a limited time. If the time was not
  /// enough, its findings so far, and those of `unnamed` at other places. Later: `unnamed`.
  std::vector<Finding> named(std::vector<Finding> unnamed, machine::MachineOptions, const MachineRun&);

 private:
  std::atomic<bool> named_{false};
};

}  // namespace smalti::driver
