// Ops that update memory atomically.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/Tpu.h"

#define GET_OP_CLASSES
#include "ir/TpuOpsAtomic.h.inc"
