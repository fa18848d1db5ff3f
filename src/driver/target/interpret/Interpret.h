// The abstract machine as a target: any contract, every check, several devices.
#pragma once

#include "driver/target/Target.h"

namespace smalti::driver {

const Target& interpretTarget();
Result<std::shared_ptr<const TargetKernel>> compileForMachine(const KernelPackage&, const CompileOptions&);

}  // namespace smalti::driver
