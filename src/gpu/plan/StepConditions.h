// Which steps of the grid do nothing.
#pragma once

#include <vector>

#include "cpu/plan/GridPlan.h"
#include "ir/KernelPackage.h"
#include "mlir/IR/Value.h"

namespace smalti::gpu {

/// The conditions (i1, of grid indices) of the branches that make up the kernel's body: a step for
/// which all of them are false does nothing, as above the diagonal of causal attention. Empty: all steps may do
/// something, if only to find that a block is outside its array.
std::vector<mlir::Value> stepConditions(const KernelPackage&, const cpu::GridPlan&);

}  // namespace smalti::gpu
