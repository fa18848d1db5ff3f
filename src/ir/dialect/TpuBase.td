// The `tpu` dialect and what its op definitions share. One op file per family: each becomes a C++ file of its own,
// because g++ needs minutes and gigabytes for all of them in one.
#ifndef SMALTI_TPU_BASE
#define SMALTI_TPU_BASE

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"

def Tpu_Dialect : Dialect {
  let name = "tpu";
  let cppNamespace = "::smalti::tpu";
  let summary = "Kernels for one TPU core, as Pallas' Mosaic TPU lowering emits them";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration =
      [{
    /// Adds the ops of one family; each is defined next to the family's generated code.
    void addMxuOps();
    void addShapeOps();
    void addElementwiseOps();
    void addMemoryOps();
    void addSyncOps();
    void addDebugOps();
    void addAttributes();
    void addTypes();
    /// Refuses by name the ops of the dialect that TensorCore kernels do not use.
    std::optional<ParseOpHook> getParseOperationHook(::llvm::StringRef opName) const override;
  }];
}

/// Families of ops, which passes ask for (ir/facts/OpFamilies.h). Upstream's Elementwise verifies shapes as well, and
/// tpu.bitcast may change them.
def Tpu_Elementwise : NativeOpTrait<"ElementwiseTrait"> { let cppNamespace = "::smalti::tpu"; }
def Tpu_MovesElements : NativeOpTrait<"MovesElementsTrait"> { let cppNamespace = "::smalti::tpu"; }
/// Output for people: logs and traces. No op reads it.
def Tpu_DebugOutput : Resource<"::smalti::tpu::DebugOutput">;

class Tpu_Op<string mnemonic, list<Trait> traits = []> : Op<Tpu_Dialect, mnemonic, traits>;

#endif
