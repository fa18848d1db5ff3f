// The steps of `finish`, each in a file of its own. They report all they find.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"

#include "ir/KernelPackage.h"
#include "ir/package/Violations.h"

namespace smalti::package {

/// The kernel function's attributes. Malformed ones are reported and left at their default.
KernelSignature readSignature(mlir::func::FuncOp, Violations&);
/// Core type, body, result types: what makes it a kernel function at all.
void checkFunction(mlir::func::FuncOp, Violations&);
/// Counts of arguments, operands and windows; false when they do not fit each other, so that roles are unknown.
bool checkCounts(const KernelPackage&, mlir::func::FuncOp, Violations&);
/// Every argument against its role, its array and its window. Needs fitting counts.
void checkArguments(const KernelPackage&, mlir::func::FuncOp, Violations&);
/// Every window's index map: it exists, takes what it gets, gives a block index per dimension.
void checkIndexMaps(const KernelPackage&, mlir::func::FuncOp, Violations&);
void checkAliases(const KernelPackage&, Violations&);
/// Ops are those of TensorCore kernels; the configuration has what they need.
void checkOps(const KernelPackage&, Violations&);

/// Joins the aliases of resident operands of a package that satisfies every invariant.
void joinResidentAliases(KernelPackage&);

/// Memref type as a person reads it: "f32[8,128] in vmem".
std::string describe(mlir::Type);

}  // namespace smalti::package
