// Products that a kernel computes step by step on a matrix unit become products.
//
//   before                                                         after
//   matmul_push_rhs %w {staging_register 0}                        %p = matmul %x, %w, zeros
//   matmul_lhs_fifo %x {load_staged_rhs 0}
//   %p = matmul_pop_fifo
#pragma once

#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// The kernel with a product in place of every pop. nullopt: the kernel uses no unit, a unit's state depends on control
/// flow, or a unit is misused, which the abstract machine reports.
std::optional<KernelPackage> multiplyWithoutUnits(const KernelPackage&);

}  // namespace smalti::cpu
