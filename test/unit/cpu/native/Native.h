// Runs a kernel natively and on the machine, and compares what comes out.
#pragma once

#include "../../machine/runtime/TextKernel.h"
#include "cpu/NativeKernel.h"

namespace smalti::cpu::testing {

using namespace machine::testing;

/// Its native code; a test failure when there is none.
std::shared_ptr<const NativeKernel> native(const TextKernel&, const NativeOptions& = {});
/// Why it has no code of the kind that is tested (RunNative.cpp; test/unit/gpu/RunOnFibres.cpp); "" when it has.
std::string whyNot(const TextKernel&);
/// What this code computes; nullopt after a fault, and a test failure when there is none.
std::optional<std::vector<Array>> run(const TextKernel&, const std::vector<Array>& operands, const NativeOptions& = {});
/// The results of `run`; a test failure unless it runs, and gives the machine's results bit by bit.
std::vector<Array> same(const TextKernel&, const std::vector<Array>& operands, const NativeOptions& = {});
/// True when the code stops with a fault.
bool faults(const TextKernel&, const std::vector<Array>& operands);
/// The kernel's function, as text.
std::string text(const KernelPackage&);
/// "" or the first element that differs.
std::string difference(const Array&, const Array&);

}  // namespace smalti::cpu::testing
