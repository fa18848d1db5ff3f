#include "ir/TpuOpsSync.h"
#include "ir/TpuOpsAtomic.h"

#define GET_OP_CLASSES
#include "ir/TpuOpsSync.cpp.inc"

void smalti::tpu::TpuDialect::addSyncOps() {
  addOperations<
#define GET_OP_LIST
#include "ir/TpuOpsSync.cpp.inc"
      >();
  addOperations<AtomicOp>();  // TpuOpsAtomic.h
}
