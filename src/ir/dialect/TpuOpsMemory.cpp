#include "ir/TpuOpsMemory.h"

#define GET_OP_CLASSES
#include "ir/TpuOpsMemory.cpp.inc"

void smalti::tpu::TpuDialect::addMemoryOps() {
  addOperations<
#define GET_OP_LIST
#include "ir/TpuOpsMemory.cpp.inc"
      >();
}
