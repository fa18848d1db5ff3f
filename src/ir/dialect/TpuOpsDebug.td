// Queries about where a kernel runs, and debugging output.
include "dialect/TpuAttrs.td"

def Tpu_IterationBoundOp : Tpu_Op<"iteration_bound", [Pure]> {
  let summary = "Size of a grid dimension (pl.num_programs)";
  let arguments = (ins I32Attr:$dim);
  let results = (outs I32:$result);
  let assemblyFormat = "$dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tpu_DeviceIdOp : Tpu_Op<"device_id", [Pure]> {
  let summary = "Logical id of this device in the program's device assignment";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Tpu_DelayOp : Tpu_Op<"delay"> {
  let summary = "Stalls the core for the given number of nanoseconds";
  let arguments = (ins I32:$nanos);
  let assemblyFormat = "$nanos attr-dict";
}

def Tpu_TraceStartOp : Tpu_Op<"trace_start", [MemoryEffects<[MemWrite<Tpu_DebugOutput>]>]> {
  let summary = "Begins a named span (jax.named_scope)";
  let arguments = (ins StrAttr:$message, I32Attr:$level);
}

def Tpu_TraceStopOp : Tpu_Op<"trace_stop", [MemoryEffects<[MemWrite<Tpu_DebugOutput>]>]> {
  let summary = "Ends the innermost named span";
}

def Tpu_TraceValueOp : Tpu_Op<"trace_value", [MemoryEffects<[MemWrite<Tpu_DebugOutput>]>]> {
  let summary = "Records a scalar in the trace";
  let arguments = (ins AnyTypeOf<[I32, F32]>:$value, StrAttr:$label);
  let assemblyFormat = "$value `,` $label attr-dict `:` type($value)";
}

def Tpu_LogOp : Tpu_Op<"log", [MemoryEffects<[MemWrite<Tpu_DebugOutput>]>]> {
  let summary = "pl.debug_print of scalars";
  let arguments = (ins Variadic<AnyType>:$inputs, StrAttr:$tag, DefaultValuedAttr<BoolAttr, "false">:$formatted);
  let assemblyFormat = "$tag attr-dict `:` `[` $inputs `]` `:` type($inputs)";
}

def Tpu_LogBufferOp : Tpu_Op<"log_buffer", [MemoryEffects<[MemWrite<Tpu_DebugOutput>]>]> {
  let summary = "pl.debug_print of an array, of which `shape` is the part to show";
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$input, DenseI64ArrayAttr:$shape, StrAttr:$tag);
  let assemblyFormat = "$tag attr-dict `:` $input `:` type($input)";
  let hasVerifier = 1;
}
