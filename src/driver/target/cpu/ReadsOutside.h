// Native code goes on after loads that reach outside their refs; the machine names the elements.
#pragma once

#include <functional>
#include <vector>

#include "machine/Machine.h"

namespace smalti::driver {

/// What `run` of the machine reports with these options.
using MachineRun = std::function<Result<machine::KernelResult>(const machine::MachineOptions&)>;

/// A finding for each of these places, without elements: native code does not know them.
std::vector<Finding> findingsOf(const std::vector<SourcePlace>&);

/// All findings of the machine, which runs the call again for a limited time. If the time was not enough, the findings
/// of these places, with the elements of those that the machine has reached.
std::vector<Finding> nameElements(const std::vector<SourcePlace>&, machine::MachineOptions, const MachineRun&);

}  // namespace smalti::driver
