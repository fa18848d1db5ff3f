// Native code for this processor as a target.
#pragma once

#include "cpu/Processor.h"
#include "driver/target/Target.h"

namespace smalti::driver {

const Target& cpuTarget();
/// Code of another processor, which runs here if this one has its instructions.
Result<std::shared_ptr<const TargetKernel>> compileForProcessor(const KernelPackage&, const CompileOptions&,
                                                                const cpu::Processor&);
/// For `show`.
Result<CodeView> inspectCpuCode(const KernelPackage&, const CodeRequest&);

}  // namespace smalti::driver
