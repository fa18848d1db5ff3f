#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "interop/bytecode/AttrTypeReader.h"
#include "interop/bytecode/Model.h"

namespace smalti::interop::bytecode {

/// Makes the module, every op upgraded. Null on failure, which `state` holds. Not verified.
mlir::OwningOpRef<mlir::ModuleOp> buildModule(const BodyModel&, mlir::MLIRContext&, ReadState&, AttrTypeReader&);

}  // namespace smalti::interop::bytecode
