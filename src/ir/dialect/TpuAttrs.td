// Attributes of the dialect, `#tpu.NAME<…>`.
#ifndef SMALTI_TPU_ATTRS
#define SMALTI_TPU_ATTRS

include "dialect/TpuBase.td"

class Tpu_Enum<string cppName, string what, list<I32EnumAttrCase> cases> : I32EnumAttr<cppName, what, cases> {
  let cppNamespace = "::smalti::tpu";
  let genSpecializedAttr = 0;
}
class Tpu_EnumAttr<EnumInfo info, string mnemonic> : EnumAttr<Tpu_Dialect, info, mnemonic> {
  let assemblyFormat = "`<` $value `>`";
}
class Tpu_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<Tpu_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Tpu_CoreType : Tpu_Enum<"CoreType", "kind of core", [
  I32EnumAttrCase<"tc", 0>, I32EnumAttrCase<"sc_scalar_subcore", 1>, I32EnumAttrCase<"sc_vector_subcore", 2>]>;
def Tpu_CoreTypeAttr : Tpu_EnumAttr<Tpu_CoreType, "core_type">;

def Tpu_MemorySpace : Tpu_Enum<"MemorySpace", "memory of a core or chip", [
  I32EnumAttrCase<"any", 0xFFFFFFFF>, I32EnumAttrCase<"vmem", 0>, I32EnumAttrCase<"smem", 1>, I32EnumAttrCase<"hbm", 2>,
  I32EnumAttrCase<"cmem", 3>, I32EnumAttrCase<"semaphore_mem", 4>, I32EnumAttrCase<"vmem_shared", 5>,
  I32EnumAttrCase<"host", 6>]>;
def Tpu_MemorySpaceAttr : Tpu_Attr<"MemorySpace", "memory_space"> {
  let summary = "Memory space, `core_type` where it is another core's";
  let parameters = (ins EnumParameter<Tpu_MemorySpace>:$value, OptionalParameter<"std::optional<CoreType>">:$core_type);
  let assemblyFormat = "`<` $value (`,` $core_type^)? `>`";
}

def Tpu_DimensionSemantics : Tpu_Enum<"DimensionSemantics", "how a grid dimension may be run", [
  I32EnumAttrCase<"parallel", 0>, I32EnumAttrCase<"arbitrary", 1>, I32EnumAttrCase<"core_parallel", 2>,
  I32EnumAttrCase<"subcore_parallel", 3>]>;
def Tpu_DimensionSemanticsAttr : Tpu_EnumAttr<Tpu_DimensionSemantics, "dimension_semantics">;

def Tpu_PipelineMode : Tpu_Enum<"PipelineMode", "buffers of a window", [
  I32EnumAttrCase<"synchronous", 1>, I32EnumAttrCase<"double_buffered", 2>]>;
def Tpu_PipelineModeAttr : Tpu_EnumAttr<Tpu_PipelineMode, "pipeline_mode">;

def Tpu_RevisitMode : Tpu_Enum<"RevisitMode", "when an output block may be visited again", [
  I32EnumAttrCase<"immediate", 0>, I32EnumAttrCase<"any", 1>]>;
def Tpu_RevisitModeAttr : Tpu_EnumAttr<Tpu_RevisitMode, "revisit_mode">;

def Tpu_ContractPrecision : Tpu_Enum<"ContractPrecision", "passes of a matmul", [
  I32EnumAttrCase<"bf16", 0>, I32EnumAttrCase<"fp32", 1>, I32EnumAttrCase<"bf16x3", 2>]>;
def Tpu_ContractPrecisionAttr : Tpu_EnumAttr<Tpu_ContractPrecision, "contract_precision">;

def Tpu_ReductionKind : Tpu_Enum<"ReductionKind", "reduction", [
  I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 1>, I32EnumAttrCase<"min", 2>, I32EnumAttrCase<"arg_max", 3>,
  I32EnumAttrCase<"arg_min", 4>, I32EnumAttrCase<"find_first_set", 5>]>;
def Tpu_ReductionKindAttr : Tpu_EnumAttr<Tpu_ReductionKind, "reduction_kind">;

def Tpu_PackFormat : Tpu_Enum<"PackFormat", "order of packed elements", [
  I32EnumAttrCase<"compressed", 0>, I32EnumAttrCase<"interleaved", 1>]>;
def Tpu_PackFormatAttr : Tpu_EnumAttr<Tpu_PackFormat, "pack_format">;

def Tpu_RoundingMode : Tpu_Enum<"RoundingMode", "rounding", [
  I32EnumAttrCase<"towards_zero", 0>, I32EnumAttrCase<"to_nearest_even", 1>]>;
def Tpu_RoundingModeAttr : Tpu_EnumAttr<Tpu_RoundingMode, "rounding_mode">;

def Tpu_ElementWindowAttr : Tpu_Attr<"ElementWindow", "element_window"> {
  let summary = "The index map gives element offsets into the array padded by so much";
  let parameters = (ins ArrayRefParameter<"int64_t">:$pad_low, ArrayRefParameter<"int64_t">:$pad_high);
  let assemblyFormat = "`<` custom<IntegerList>($pad_low) `,` custom<IntegerList>($pad_high) `>`";
}

def Tpu_DotDimensionNumbersAttr : Tpu_Attr<"DotDimensionNumbers", "dot_dimension_numbers"> {
  let summary = "Which dimensions of a matmul contract, stay and batch";
  let description = [{
    `output_dim_order` is a flat list of pairs (0 for lhs or 1 for rhs, dimension of it), one pair per result dimension.
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$lhs_contracting_dims, ArrayRefParameter<"int64_t">:$rhs_contracting_dims,
    ArrayRefParameter<"int64_t">:$lhs_non_contracting_dims, ArrayRefParameter<"int64_t">:$rhs_non_contracting_dims,
    ArrayRefParameter<"int64_t">:$output_dim_order,
    ArrayRefParameter<"int64_t">:$lhs_batch_dims, ArrayRefParameter<"int64_t">:$rhs_batch_dims);
  let assemblyFormat = [{
    `<` custom<IntegerList>($lhs_contracting_dims) `,` custom<IntegerList>($rhs_contracting_dims) `,`
        custom<IntegerList>($lhs_non_contracting_dims) `,` custom<IntegerList>($rhs_non_contracting_dims) `,`
        custom<IntegerList>($output_dim_order) `,` custom<IntegerList>($lhs_batch_dims) `,`
        custom<IntegerList>($rhs_batch_dims) `>`
  }];
}

def Tpu_ConvDimensionNumbersAttr : Tpu_Attr<"ConvDimensionNumbers", "conv_dimension_numbers"> {
  let summary = "Which dimensions of a convolution are batch, features and space";
  let parameters = (ins
    "int64_t":$lhs_batch_dim, "int64_t":$lhs_feature_dim, ArrayRefParameter<"int64_t">:$lhs_spatial_dims,
    "int64_t":$rhs_input_feature_dim, "int64_t":$rhs_output_feature_dim, ArrayRefParameter<"int64_t">:$rhs_spatial_dims,
    "int64_t":$output_batch_dim, "int64_t":$output_feature_dim, ArrayRefParameter<"int64_t">:$output_spatial_dims);
  let assemblyFormat = [{
    `<` $lhs_batch_dim `,` $lhs_feature_dim `,` custom<IntegerList>($lhs_spatial_dims) `,`
        $rhs_input_feature_dim `,` $rhs_output_feature_dim `,` custom<IntegerList>($rhs_spatial_dims) `,`
        $output_batch_dim `,` $output_feature_dim `,` custom<IntegerList>($output_spatial_dims) `>`
  }];
}

def Tpu_TiledAttr : Tpu_Attr<"Tiled", "tiled", [DeclareAttrInterfaceMethods<MemRefLayoutAttrInterface, ["verifyLayout"]>]> {
  let summary = "Tiled layout of a memref: `(8,128)(2,1)` and the stride of each dimension in tiles";
  let description = [{ `tiles` is flat: the rank of each tile followed by its sizes. }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$tiles, ArrayRefParameter<"int64_t">:$tile_strides);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif
