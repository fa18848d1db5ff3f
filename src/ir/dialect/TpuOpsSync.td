// Semaphores and DMAs.
include "dialect/TpuAttrs.td"

def Tpu_SemAllocOp : Tpu_Op<"sem_alloc"> {
  let summary = "Semaphores at zero, alive until the end of the region";
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tpu_SemBarrierOp : Tpu_Op<"sem_barrier"> {
  let summary = "The semaphore that all kernels of a collective_id share";
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tpu_SemReadOp : Tpu_Op<"sem_read"> {
  let summary = "A semaphore's value";
  let arguments = (ins AnyMemRef:$semaphore);
  let results = (outs I32:$result);
  let assemblyFormat = "$semaphore attr-dict `:` type($semaphore) `->` type($result)";
  let hasVerifier = 1;
}

def Tpu_SemWaitOp : Tpu_Op<"sem_wait"> {
  let summary = "Waits until the value is at least `amount`, then subtracts it";
  let arguments = (ins AnyMemRef:$semaphore, I32:$amount);
  let assemblyFormat = "$semaphore `,` $amount attr-dict `:` type($semaphore)";
  let hasVerifier = 1;
}

def Tpu_SemSignalOp : Tpu_Op<"sem_signal", [AttrSizedOperandSegments]> {
  let summary = "Adds `amount` to a semaphore here, or to the same one of another device or core";
  let arguments = (ins AnyMemRef:$semaphore, I32:$amount, Optional<I32>:$device_id, Optional<I32>:$core_id,
    Optional<I32>:$subcore_id);
  let assemblyFormat = [{
    $semaphore `,` $amount (`device_id` $device_id^)? (`core_id` $core_id^)? (`subcore_id` $subcore_id^)?
      attr-dict `:` type($semaphore)
  }];
  let hasVerifier = 1;
}

class Tpu_DmaOp<string mnemonic, dag more> : Tpu_Op<mnemonic, [AttrSizedOperandSegments]> {
  let arguments = !con((ins AnyMemRef:$source, Optional<AnyMemRef>:$source_semaphore, AnyMemRef:$target,
    Optional<AnyMemRef>:$target_semaphore, Optional<I32>:$device_id, Optional<I32>:$core_id,
    Optional<I32>:$subcore_id, DefaultValuedAttr<I32Attr, "0">:$priority,
    DefaultValuedAttr<BoolAttr, "false">:$strict_ordering), more);
  let assemblyFormat = [{
    `source` `(` $source `:` type($source) `)` `target` `(` $target `:` type($target) `)`
    (`source_semaphore` `(` $source_semaphore^ `:` type($source_semaphore) `)`)?
    (`target_semaphore` `(` $target_semaphore^ `:` type($target_semaphore) `)`)?
    (`device_id` `(` $device_id^ `)`)? (`core_id` `(` $core_id^ `)`)? (`subcore_id` `(` $subcore_id^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}
def Tpu_EnqueueDMAOp : Tpu_DmaOp<"enqueue_dma", (ins)> {
  let summary = "Starts a copy; remote when it names a device or core. Bytes moved are added to the semaphores";
}
def Tpu_WaitDMAOp : Tpu_DmaOp<"wait_dma", (ins BoolAttr:$wait_target)> {
  let summary = "Waits for a copy's bytes at its target's semaphore, or at its source's";
}

def Tpu_WaitDMA2Op : Tpu_Op<"wait_dma2", [AttrSizedOperandSegments]> {
  let summary = "wait_dma as JAX wrote it before 0.12; readers turn it into wait_dma";
  let arguments = (ins AnyMemRef:$semaphore, AnyMemRef:$src, AnyMemRef:$dst, Optional<I32>:$device_id,
    Optional<I32>:$core_id, DefaultValuedAttr<BoolAttr, "false">:$strict_ordering);
  let assemblyFormat = [{
    `semaphore` `(` $semaphore `:` type($semaphore) `)` `src` `(` $src `:` type($src) `)`
    `dst` `(` $dst `:` type($dst) `)` (`device_id` `(` $device_id^ `)`)? (`core_id` `(` $core_id^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}
