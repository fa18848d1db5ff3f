// stable_mosaic: the versioned form in which kernels are exchanged. Ops are named "stable_mosaic.<op>", every attribute
// is in one dictionary, and the module states the version of its op set. These are the rules between versions.
#pragma once

#include <string>

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include "smalti/diagnostic.h"

namespace smalti::interop {

inline constexpr const char* kStablePrefix = "stable_mosaic.";
inline constexpr const char* kStableVersionAttribute = "stable_mosaic.version";

/// An op between two versions: no longer, or not yet, one that MLIR knows. `name` is without the stable prefix.
struct OpForm {
  std::string name;
  mlir::Location location;
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<mlir::Type> results;
  mlir::NamedAttrList attributes;
};

/// From `version` (1 to 18) to the form our dialect has. What was an attribute and is an operand today is made at
/// `before`. SM2108 when the op does not have that version's form.
Status upgradeOp(OpForm&, int version, mlir::OpBuilder& before);
/// Converts the form of our dialect to `version` (8 to 18). Error SM2111: the op uses a feature that the version lacks.
Status downgradeOp(OpForm&, int version);

/// Creates the registered op at `builder`, its regions empty. SM3101 or SM3103 for an op outside the kernels'
/// vocabulary, SM2109 when its attributes or operands do not fit it.
Result<mlir::Operation*> createOp(mlir::OpBuilder& builder, const OpForm&, unsigned numRegions);

/// The module's version: 1 to 18. Error SM2103: none or another.
Result<int> stableVersion(mlir::Attribute versionAttribute);

/// Used for text: replaces, in place, every op named "stable_mosaic.…" (parsed as unregistered, operands and regions of
/// any kind) by the registered op it stands for, upgraded. The module is not verified.
Status upgradeModule(mlir::ModuleOp);

}  // namespace smalti::interop
