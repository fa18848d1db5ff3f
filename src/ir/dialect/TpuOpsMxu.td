// Matrix multiplication, as one op and explicitly on a matrix unit, and convolution.
include "dialect/TpuAttrs.td"

def Tpu_MatmulOp : Tpu_Op<"matmul", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "dot_general of lhs and rhs, plus acc";
  let arguments = (ins AnyVectorOfAnyRank:$lhs, AnyVectorOfAnyRank:$rhs, AnyVectorOfAnyRank:$acc,
    DefaultValuedAttr<BoolAttr, "false">:$transpose_lhs, DefaultValuedAttr<BoolAttr, "false">:$transpose_rhs,
    OptionalAttr<Tpu_ContractPrecisionAttr>:$precision, OptionalAttr<Tpu_DotDimensionNumbersAttr>:$dimension_numbers,
    BoolAttr:$transpose_lhs_hint);
  let results = (outs AnyVectorOfAnyRank:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tpu_ConvOp : Tpu_Op<"conv", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "conv_general_dilated of lhs and rhs, plus acc";
  let description = [{ `padding` has a low and a high entry for each spatial dimension. }];
  let arguments = (ins AnyVectorOfAnyRank:$lhs, AnyVectorOfAnyRank:$rhs, AnyVectorOfAnyRank:$acc,
    Tpu_ConvDimensionNumbersAttr:$dimension_numbers, DenseI64ArrayAttr:$window_strides, DenseI64ArrayAttr:$padding,
    DenseI64ArrayAttr:$lhs_dilation, DenseI64ArrayAttr:$rhs_dilation, DenseBoolArrayAttr:$window_reversal,
    DefaultValuedAttr<I64Attr, "1">:$feature_group_count, DefaultValuedAttr<I64Attr, "1">:$batch_group_count,
    OptionalAttr<Tpu_ContractPrecisionAttr>:$precision);
  let results = (outs AnyVectorOfAnyRank:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The error in attributes and shapes; empty: none.
    std::string misfit();
  }];
}

def Tpu_MatmulPushRhsOp : Tpu_Op<"matmul_push_rhs"> {
  let summary = "Loads rhs into a staging register of a matrix unit";
  let arguments = (ins AnyVectorOfAnyRank:$rhs, I32Attr:$mxu_index, DefaultValuedAttr<I32Attr, "0">:$staging_register,
    DefaultValuedAttr<BoolAttr, "false">:$transpose);
  let assemblyFormat = "$rhs attr-dict `:` type($rhs)";
  let hasVerifier = 1;
}

def Tpu_MatmulAccLhsOp : Tpu_Op<"matmul_acc_lhs"> {
  let summary = "Multiplies lhs with the loaded rhs, adds to an accumulator of the matrix unit";
  let arguments = (ins I32Attr:$acc, AnyVectorOfAnyRank:$lhs, I32Attr:$mxu_index,
    OptionalAttr<I32Attr>:$load_staged_rhs);
  let assemblyFormat = "$acc `,` $lhs attr-dict `:` type($lhs)";
  let hasVerifier = 1;
}

def Tpu_MatmulPopOp : Tpu_Op<"matmul_pop"> {
  let summary = "Takes an accumulator out of the matrix unit and clears it";
  let arguments = (ins I32Attr:$acc, I32Attr:$mxu_index);
  let results = (outs AnyVectorOfAnyRank:$result);
  let assemblyFormat = "$acc attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tpu_MatmulLhsFifoOp : Tpu_Op<"matmul_lhs_fifo"> {
  let summary = "Multiplies lhs with the loaded rhs, appends the product to the unit's queue";
  let arguments = (ins AnyVectorOfAnyRank:$lhs, I32Attr:$mxu_index, OptionalAttr<I32Attr>:$load_staged_rhs);
  let assemblyFormat = "$lhs attr-dict `:` type($lhs)";
  let hasVerifier = 1;
}

def Tpu_MatmulPopFifoOp : Tpu_Op<"matmul_pop_fifo"> {
  let summary = "Takes the oldest product out of the unit's queue";
  let arguments = (ins I32Attr:$mxu_index);
  let results = (outs AnyVectorOfAnyRank:$result);
  let assemblyFormat = "$mxu_index attr-dict `:` type($result)";
  let hasVerifier = 1;
}
