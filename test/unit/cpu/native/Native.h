// Runs a kernel natively and on the machine, and compares what comes out.
#pragma once

#include "../../machine/runtime/TextKernel.h"
#include "cpu/NativeKernel.h"

namespace smalti::cpu::testing {

using namespace machine::testing;

/// Its native code; a test failure when there is none.
std::shared_ptr<const NativeKernel> native(const TextKernel&, const NativeOptions& = {});
/// Why it has none; "" when it has.
std::string whyNot(const TextKernel&);
/// The results of native code; a test failure unless it runs, and gives the machine's results bit by bit.
std::vector<Array> same(const TextKernel&, const std::vector<Array>& operands, const NativeOptions& = {});
/// True when native code stops with a fault.
bool faults(const TextKernel&, const std::vector<Array>& operands);
/// "" or the first element that differs.
std::string difference(const Array&, const Array&);

}  // namespace smalti::cpu::testing
