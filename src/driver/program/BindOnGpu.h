// Programs whose arrays are on a GPU (smalti/device_array.h): kernels that are launched one after another.
#pragma once

#include <memory>
#include <span>

#include "base/DeviceProgram.h"
#include "driver/program/ProgramRunner.h"
#include "gpu/driver/CudaGpu.h"

namespace smalti::driver {

/// The GPU that a program's kernels are for. SM7207: it has none, or they do not run on a GPU.
Result<gpu::CudaGpu> gpuOf(const CompiledProgram&);

/// SM7207: the target has no arrays on a GPU, or main has other ops than calls of kernels and functions, reshapes and
/// constants.
Result<std::shared_ptr<const DeviceProgram::State>> bindOnGpu(std::shared_ptr<const CompiledProgram>,
                                                              std::span<const DeviceArray> inputs, const BindOptions&,
                                                              int64_t stepLimit);

}  // namespace smalti::driver
