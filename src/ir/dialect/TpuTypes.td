// Types of the dialect, `!tpu.NAME`.
#ifndef SMALTI_TPU_TYPES
#define SMALTI_TPU_TYPES

include "dialect/TpuBase.td"

class Tpu_Type<string name, string typeMnemonic, list<Trait> traits = []> : TypeDef<Tpu_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def Tpu_SemaphoreType : Tpu_Type<"Semaphore", "semaphore", [MemRefElementTypeInterface]> {
  let summary = "Counting semaphore; only as element of a memref in semaphore memory";
}
def Tpu_DmaSemaphoreType : Tpu_Type<"DmaSemaphore", "dma_semaphore", [MemRefElementTypeInterface]> {
  let summary = "Semaphore that counts the bytes a DMA moved; only as element of a memref in semaphore memory";
}
def Tpu_Float8EXMYType : Tpu_Type<"Float8EXMY", "float8_exmy",
    [VectorElementTypeInterface, DeclareTypeInterfaceMethods<FloatTypeInterface, ["scaleElementBitwidth"]>]> {
  let summary = "A narrower float in a container of 8 bits";
  let parameters = (ins "::mlir::FloatType":$underlying);
  let assemblyFormat = "`<` $underlying `>`";
}

#endif
