// The `tpu` dialect: its attributes and types. The ops are in TpuOps.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/TpuEnums.h.inc"

#include "ir/TpuBase.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/TpuAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "ir/TpuTypes.h.inc"

namespace smalti::tpu {

/// Each element of the result is computed from the elements in its place, where operands and result have one shape.
template <class ConcreteOp>
class ElementwiseTrait : public mlir::OpTrait::TraitBase<ConcreteOp, ElementwiseTrait> {};
/// Elements of the operands stand elsewhere in the result, unchanged.
template <class ConcreteOp>
class MovesElementsTrait : public mlir::OpTrait::TraitBase<ConcreteOp, MovesElementsTrait> {};
/// The resource of logs and traces.
struct DebugOutput : mlir::SideEffects::Resource::Base<DebugOutput> {
  llvm::StringRef getName() final { return "DebugOutput"; }
};

/// Memory space of a memref; vmem where the type does not say. nullopt when it is not an attribute of this dialect.
std::optional<MemorySpace> memorySpaceOf(mlir::MemRefType);

/// The kind of an op of the dialect that TensorCore kernels do not use ("a SparseCore op"), by name without "tpu.";
/// nullopt for supported ops and for names that no version of the dialect has.
std::optional<std::string_view> refusedOpKind(std::string_view mnemonic);

}  // namespace smalti::tpu
