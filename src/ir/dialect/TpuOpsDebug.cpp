#include "ir/TpuOpsDebug.h"

#define GET_OP_CLASSES
#include "ir/TpuOpsDebug.cpp.inc"

void smalti::tpu::TpuDialect::addDebugOps() {
  addOperations<
#define GET_OP_LIST
#include "ir/TpuOpsDebug.cpp.inc"
      >();
}
