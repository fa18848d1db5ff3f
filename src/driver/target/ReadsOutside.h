// Code goes on after loads that reach outside their refs, and with blocks of inputs outside their arrays; the machine
// names the elements.
#pragma once

#include <atomic>
#include <span>
#include <string_view>
#include <vector>

#include "cpu/Options.h"
#include "cpu/runtime/KernelStatus.h"
#include "driver/target/RunOptions.h"
#include "machine/Machine.h"

namespace smalti::driver {

/// A warning for each of these, without elements: native code does not know them.
std::vector<Finding> readsOutside(const cpu::ReadsOutsideRefs&, const machine::CompiledKernel&);
/// Of a GPU's code that knows only whether there was a read of a scalar or a block.
std::vector<Finding> readsOutside(cpu::KernelStatus, const machine::CompiledKernel&);

/// The findings of one kernel's calls.
class ReadsOutside {
 public:
  /// The first time, all findings of the machine, which runs the call again for a limited time; the operands are still
  /// intact. If the time was not enough, its findings so far, and those of `unnamed` at other places. Later: `unnamed`.
  std::vector<Finding> named(std::vector<Finding> unnamed, const machine::CompiledKernel&,
                             std::span<const std::vector<Array>> operands, const Contract&, const ExecuteSettings&);

 private:
  std::atomic<bool> named_{false};
};

}  // namespace smalti::driver
