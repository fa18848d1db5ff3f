// The machine's memories by MLIR types.
#pragma once

#include <optional>

#include "mlir/IR/BuiltinTypes.h"

#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "machine/Memory.h"

namespace smalti::machine::flat {

std::optional<MemoryKind> memorySpaceOf(mlir::MemRefType);

}  // namespace smalti::machine::flat
