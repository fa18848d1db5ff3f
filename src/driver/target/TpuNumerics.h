// Products of f32 as a TPU's matrix unit computes them, for native code (S-E3).
#pragma once

#include <optional>

#include "eval/Numerics.h"
#include "ir/KernelPackage.h"

namespace smalti::driver {

/// Why a kernel has no such code.
inline constexpr const char* kOnlyMachineRounds =
    "only the machine rounds the operands of convolutions and of matrix units as a TPU does";

/// The kernel as native code multiplies f32 under these numerics: the same, or with f32 operands of products rounded to
/// bf16, which is one pass of a TPU's matrix unit. Products with `precision` bf16x3 or fp32 stay products of f32, which
/// are as exact as the TPU's three and six passes, or more. nullopt: the kernel has convolutions of f32, or uses matrix
/// units in a way that only the machine follows.
std::optional<KernelPackage> withNumerics(const KernelPackage&, Numerics);

}  // namespace smalti::driver
