// Scales scores and subtracts their maximum by one multiply-add.
//
//   before                                              after
//   %s = arith.mulf %x, %scale                          %r = vector.multi_reduction <maximumf>, %x, -inf
//   %c = vector.multi_reduction <maximumf>, %s, -inf    %c = arith.mulf %r, %scale : 128x1
//   %m = arith.maximumf %before, %c : 128x1             %m = arith.maximumf %before, %c : 128x1
//   %e = arith.subf %s, %m                              %p = arith.mulf %x, %scale fastmath<contract>
//                                                       %e = arith.addf %p, -%m fastmath<contract>
#pragma once

#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::gpu {

/// Products of f32 that a constant in (0, 1] scales, if only their maxima by row and the weights are used that the
/// differences from these are exponents of (cpu::areWeights): a softmax then takes an instruction less per score. The
/// differences are rounded once instead of twice, so that that of the largest score need not be 0: all weights of a row
/// have the same factor, which cancels when they are divided by their sum. Rows whose maximum is 2^30 or more get exact
/// ones by a power of 2 as scale (see the source). nullopt: there are none.
std::optional<KernelPackage> fuseScale(const KernelPackage&);

}  // namespace smalti::gpu
