// Ops on each element, packing of narrow elements in words, random numbers.
include "dialect/TpuAttrs.td"

def Tpu_BitcastOp : Tpu_Op<"bitcast", [Pure, Tpu_Elementwise]> {
  let summary = "Same bits; a width change rescales the last but one dimension";
  let arguments = (ins AnyVectorOfAnyRank:$input);
  let results = (outs AnyVectorOfAnyRank:$output);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
}

def Tpu_ReciprocalOp : Tpu_Op<"reciprocal", [Pure, Tpu_Elementwise, AllTypesMatch<["input", "output"]>]> {
  let summary = "1 / x, exactly or as the hardware estimates it";
  let arguments = (ins AnyVectorOfAnyRank:$input, DefaultValuedAttr<BoolAttr, "false">:$approx,
      DefaultValuedAttr<BoolAttr, "true">:$full_range);
  let results = (outs AnyVectorOfAnyRank:$output);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
}

def Tpu_ReducePrecisionOp : Tpu_Op<"reduce_precision", [Pure, Tpu_Elementwise, AllTypesMatch<["input", "output"]>]> {
  let summary = "Rounds each element to a float with the given numbers of exponent and mantissa bits";
  let arguments = (ins VectorOfAnyRankOf<[F32, BF16]>:$input, I32Attr:$exponent_bits, I32Attr:$mantissa_bits);
  let results = (outs VectorOfAnyRankOf<[F32, BF16]>:$output);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
}

def Tpu_WeirdOp : Tpu_Op<"weird", [Pure, Tpu_Elementwise]> {
  let summary = "True where x is infinite or not a number";
  let arguments = (ins AnyType:$input);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tpu_StochasticConvertOp : Tpu_Op<"stochastic_convert", [Pure, Tpu_Elementwise]> {
  let summary = "Rounds f32 to a narrower float, up or down by given random bits";
  let arguments = (ins AnyVectorOfAnyRank:$input, AnyVectorOfAnyRank:$random);
  let results = (outs AnyVectorOfAnyRank:$output);
  let assemblyFormat = "$input `,` $random attr-dict `:` type($input) `,` type($random) `->` type($output)";
  let hasVerifier = 1;
}

def Tpu_PackElementwiseOp : Tpu_Op<"pack_elementwise", [Pure, Tpu_Elementwise]> {
  let summary = "Converts sources[i] to target_type and puts it in sub-field i of each word, lowest first";
  let arguments = (ins Variadic<AnyVectorOfAnyRank>:$sources, TypeAttr:$target_type);
  let results = (outs VectorOfAnyRankOf<[AnySignlessInteger]>:$output);
  let assemblyFormat = "$sources attr-dict `:` type($sources) `->` type($output)";
  let hasVerifier = 1;
}

def Tpu_UnpackElementwiseOp : Tpu_Op<"unpack_elementwise", [Pure, Tpu_Elementwise]> {
  let summary = "Sub-field `index` of each word as source_type, converted to the result's element type";
  let arguments = (ins VectorOfAnyRankOf<[AnySignlessInteger]>:$source, TypeAttr:$source_type, I32Attr:$index);
  let results = (outs AnyVectorOfAnyRank:$output);
  let assemblyFormat = "$source `,` $index attr-dict `:` type($source) `->` type($output)";
  let hasVerifier = 1;
}

def Tpu_AssumeMultipleOp : Tpu_Op<"assume_multiple", [Pure, Tpu_Elementwise, AllTypesMatch<["value", "result"]>]> {
  let summary = "The value, of which the kernel promises that it is a multiple of so much";
  let arguments = (ins AnyType:$value, I32Attr:$multiple);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value `,` $multiple attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tpu_PrngSetSeed32Op : Tpu_Op<"prng_set_seed_32"> {
  let summary = "Seeds the core's random number generator";
  let arguments = (ins Variadic<I32>:$seeds);
}

def Tpu_PrngRandomBitsOp : Tpu_Op<"prng_random_bits"> {
  let summary = "The next random bits of the core's generator";
  let results = (outs AnyVectorOfAnyRank:$output);
  let hasVerifier = 1;
}
