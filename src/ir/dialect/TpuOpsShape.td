// Ops that move elements without changing them.
include "dialect/TpuAttrs.td"

def Tpu_IotaOp : Tpu_Op<"iota", [Pure]> {
  let summary = "Row-major linear index over the listed dimensions";
  let arguments = (ins DenseI32ArrayAttr:$dimensions);
  let results = (outs VectorOfAnyRankOf<[AnySignlessInteger]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tpu_ConcatenateOp : Tpu_Op<"concatenate", [Pure, Tpu_MovesElements]> {
  let summary = "Vectors one after the other along a dimension";
  let arguments = (ins Variadic<AnyVectorOfAnyRank>:$sources, I32Attr:$dimension);
  let results = (outs AnyVectorOfAnyRank:$result);
  let assemblyFormat = "$sources `in` $dimension attr-dict `:` type($sources) `->` type($result)";
  let hasVerifier = 1;
}

def Tpu_TransposeOp : Tpu_Op<"transpose", [Pure, Tpu_MovesElements]> {
  let summary = "Result dimension i is source dimension permutation[i]";
  let arguments = (ins AnyVectorOfAnyRank:$vector, DenseI64ArrayAttr:$permutation);
  let results = (outs AnyVectorOfAnyRank:$result);
  let assemblyFormat = "$vector `,` $permutation attr-dict `:` type($vector) `->` type($result)";
  let hasVerifier = 1;
}

def Tpu_DynamicRotateOp : Tpu_Op<"dynamic_rotate", [Pure, Tpu_MovesElements, AllTypesMatch<["value", "result"]>]> {
  let summary = "Rotates to higher indices along a dimension; row k of stride_dimension by k * stride more";
  let arguments = (ins AnyVectorOfAnyRank:$value, I32:$amount, SI32Attr:$dimension, OptionalAttr<SI32Attr>:$stride,
      OptionalAttr<SI32Attr>:$stride_dimension);
  let results = (outs AnyVectorOfAnyRank:$result);
  let assemblyFormat =
      [{
    $value `by` $amount `dim` $dimension attr-dict `:` type($value) `,` type($amount) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tpu_DynamicGatherOp : Tpu_Op<"dynamic_gather", [Pure]> {
  let summary = "Takes elements along dimensions at indices modulo their size";
  let arguments = (ins AnyVectorOfAnyRank:$source, VectorOfAnyRankOf<[AnySignlessInteger]>:$indices,
      DenseI32ArrayAttr:$dimensions);
  let results = (outs AnyVectorOfAnyRank:$result);
  let assemblyFormat =
      [{
    $source `[` $indices `]` `in` $dimensions attr-dict `:` type($source) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tpu_ReduceIndexOp : Tpu_Op<"reduce_index", [Pure]> {
  let summary = "argmax or argmin along an axis";
  let arguments = (ins AnyVectorOfAnyRank:$input, I32Attr:$axis, Tpu_ReductionKindAttr:$kind);
  let results = (outs VectorOfAnyRankOf<[AnySignlessInteger]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}
