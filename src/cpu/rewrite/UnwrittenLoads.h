// Loads of inputs that the kernel does not write to: their memory can be read as long as a step runs.
#pragma once

#include <optional>

#include "ir/KernelPackage.h"
#include "mlir/IR/Operation.h"

namespace smalti::cpu {

/// Whether the value is such a load. No other component knows the attribute that says so.
bool isUnwrittenLoad(mlir::Value);
/// Whether a transpose keeps rows, and each element of the result is read once, by nests and stores: these can read the
/// operand's rows in another order, so that no transposed copy is needed.
bool isReadInRows(mlir::Operation& transpose);

/// Marks the loads; ops that only select or reshape elements are views of what they load, instead of copies. Removes
/// the attributes of a module that has them already. nullopt: the kernel has neither such loads nor attributes.
std::optional<KernelPackage> markUnwrittenLoads(const KernelPackage&);

}  // namespace smalti::cpu
