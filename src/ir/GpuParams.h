// A kernel's parameters for GPUs as text: a frontend attribute, so that they remain with the kernel in StableHLO, where
// other compilers ignore them. From JAX they come as `metadata` of a pallas_call.
#pragma once

#include <string>

#include "ir/KernelPackage.h"
#include "smalti/gpu_params.h"

namespace smalti {

/// The frontend attribute, and the key of the metadata.
inline constexpr const char* kGpuParams = "smalti.gpu";

/// "num_warps=8 num_stages=4 copies=boxes turns=off"; what is absent is left out.
std::string gpuParamsText(const GpuParams&);
/// Reads that text; commas may separate parameters as well. SM7209: it is malformed, or a value is impossible on every
/// GPU.
Result<GpuParams> readGpuParams(std::string_view);
/// Those of the kernel: of the frontend attribute, otherwise of the metadata.
Result<GpuParams> gpuParamsOf(const KernelPackage&);

}  // namespace smalti
