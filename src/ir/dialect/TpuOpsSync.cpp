#include "ir/TpuOpsSync.h"

#define GET_OP_CLASSES
#include "ir/TpuOpsSync.cpp.inc"

void smalti::tpu::TpuDialect::addSyncOps() {
  addOperations<
#define GET_OP_LIST
#include "ir/TpuOpsSync.cpp.inc"
      >();
}
