// A module as the writer sees it: every op under its stable_mosaic name, with one dictionary, at the wanted version.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "mlir/IR/BuiltinOps.h"

#include "smalti/diagnostic.h"

namespace smalti::interop::bytecode {

struct StableOp {
  std::string dialect;  ///< "stable_mosaic", or "builtin" for the module
  std::string name;     ///< "vector.load", "module"
  mlir::DictionaryAttr attributes;
  bool isolated = false;  ///< uses no value from outside (asked of ops with regions)
};
using StableOps = llvm::DenseMap<mlir::Operation*, StableOp>;

/// SM2111 when an op uses what `version` lacks.
Result<StableOps> stableOps(mlir::ModuleOp, int version);

}  // namespace smalti::interop::bytecode
