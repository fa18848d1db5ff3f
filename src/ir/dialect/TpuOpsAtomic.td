// Atomic updates.
include "dialect/TpuAttrs.td"

def Tpu_AtomicOp : Tpu_Op<"atomic"> {
  let summary = "Updates each element of a ref atomically; returns the elements before the update";
  let description = [{ No TPU has this op: it is for programs that run in any order, on CPUs and GPUs. }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead, MemWrite]>:$base, AnyType:$value, Optional<AnyType>:$expected,
    StrAttr:$kind);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $kind $base `,` $value (`expected` $expected^ `:` type($expected))? attr-dict
      `:` type($base) `,` type($value) `->` type($result)
  }];
  let hasVerifier = 1;
}
