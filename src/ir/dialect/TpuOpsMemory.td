// Stores, strided access, views of memrefs and the region that bounds the life of allocations.
include "dialect/TpuAttrs.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Tpu_VectorStoreOp : Tpu_Op<"vector_store", [AttrSizedOperandSegments]> {
  let summary = "Stores, or adds, a vector at indices; only where the mask is set";
  let arguments = (ins AnyVectorOfAnyRank:$valueToStore, Arg<AnyMemRef, "", [MemWrite]>:$base, Variadic<Index>:$indices,
      Optional<AnyVectorOfAnyRank>:$mask, DenseI32ArrayAttr:$strides, DefaultValuedAttr<BoolAttr, "false">:$add);
  let assemblyFormat =
      [{
    $base `[` $indices `]` `,` $valueToStore (`masked` $mask^)? attr-dict
      `:` type($base) `,` type($valueToStore) `,` type($mask)
  }];
  let hasVerifier = 1;
}

def Tpu_StridedLoadOp : Tpu_Op<"strided_load"> {
  let summary = "Element i of the result is base[indices + i * strides]";
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$base, Variadic<Index>:$indices, DenseI32ArrayAttr:$strides);
  let results = (outs AnyVectorOfAnyRank:$result);
  let assemblyFormat = "$base `[` $indices `]` attr-dict `:` type($base) `,` type($result)";
  let hasVerifier = 1;
}

def Tpu_StridedStoreOp : Tpu_Op<"strided_store"> {
  let summary = "Stores element i at base[indices + i * strides]";
  let arguments = (ins AnyVectorOfAnyRank:$valueToStore, Arg<AnyMemRef, "", [MemWrite]>:$base, Variadic<Index>:$indices,
      DenseI32ArrayAttr:$strides);
  let assemblyFormat = "$base `[` $indices `]` `,` $valueToStore attr-dict `:` type($base) `,` type($valueToStore)";
  let hasVerifier = 1;
}

def Tpu_MemRefSliceOp : Tpu_Op<"memref_slice", [Pure, ViewLikeOpInterface, AttrSizedOperandSegments]> {
  let summary = "A window of a memref. It is a view with the parent's strides, though its type says identity layout";
  let arguments = (ins AnyMemRef:$mem_ref, Variadic<I32>:$base_idx, Variadic<I32>:$dynamic_sizes);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat =
      [{
    $mem_ref `[` $base_idx `]` (`<` $dynamic_sizes^ `>`)? attr-dict `:` type($mem_ref) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ ::mlir::Value getViewSource() { return getMemRef(); } }];
}

class Tpu_MemRefViewOp<string mnemonic> : Tpu_Op<mnemonic, [Pure, ViewLikeOpInterface]> {
  let arguments = (ins AnyMemRef:$input);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{ ::mlir::Value getViewSource() { return getInput(); } }];
}
def Tpu_MemRefSqueezeOp : Tpu_MemRefViewOp<"memref_squeeze"> {
  let summary = "The memref without some dimensions of size 1";
}
def Tpu_MemRefReshapeOp : Tpu_MemRefViewOp<"memref_reshape"> {
  let summary = "The memref's elements under another shape";
}
def Tpu_MemRefBitcastOp : Tpu_MemRefViewOp<"memref_bitcast"> {
  let summary = "The memref's bits as another element type; a width change rescales the last but one dimension";
}

def Tpu_AnnotateOp : Tpu_Op<"annotate", [Pure, ViewLikeOpInterface, AllTypesMatch<["input", "result"]>]> {
  let summary = "The memref, of whose accesses the kernel promises something; no value depends on it";
  let arguments = (ins AnyMemRef:$input, DefaultValuedAttr<BoolAttr, "false">:$no_store,
      DefaultValuedAttr<BoolAttr, "false">:$no_bank_conflict, DefaultValuedAttr<BoolAttr, "false">:$no_hazard,
      DefaultValuedAttr<BoolAttr, "false">:$no_hazard_no_deps);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let extraClassDeclaration = [{ ::mlir::Value getViewSource() { return getInput(); } }];
}

def Tpu_MemRefMemorySpaceIsOp : Tpu_Op<"memref_memory_space_is", [Pure]> {
  let summary = "Whether the memref is in that memory";
  let arguments = (ins AnyMemRef:$input, Tpu_MemorySpaceAttr:$memory_space);
  let results = (outs I1:$result);
  let assemblyFormat = "$input `,` $memory_space attr-dict `:` type($input)";
  let extraClassDeclaration =
      [{
    /// A ref that may be in any memory is in HBM.
    bool holds();
  }];
}

def Tpu_RegionOp : Tpu_Op<"region", [AutomaticAllocationScope, SingleBlock]> {
  let summary = "A scope: what is allocated in it ends with it";
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$region);
  let hasRegionVerifier = 1;
}

def Tpu_YieldOp : Tpu_Op<"yield", [Pure, ReturnLike, Terminator, HasParent<"RegionOp">]> {
  let summary = "Ends a region and gives its results";
  let arguments = (ins Variadic<AnyType>:$results);
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
}
