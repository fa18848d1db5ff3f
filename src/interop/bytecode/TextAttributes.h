// Attributes and types that their dialect stores as text: "#tpu.core_type<tc>", "!tpu.dma_semaphore".
#pragma once

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Types.h"

#include "interop/CapturedDiagnostics.h"
#include "interop/bytecode/Cursor.h"

namespace smalti::interop::bytecode {

/// Reads the entry `c` stands on. The text goes to MLIR's parser only after a scan for length, characters and nesting,
/// and only for dialects that kernels use.
mlir::Attribute parseAttributeText(Cursor& c, std::string_view dialect, mlir::MLIRContext&, CapturedDiagnostics&);
mlir::Type parseTypeText(Cursor& c, std::string_view dialect, mlir::MLIRContext&, CapturedDiagnostics&);

}  // namespace smalti::interop::bytecode
