#include "ir/TpuOpsElementwise.h"

#define GET_OP_CLASSES
#include "ir/TpuOpsElementwise.cpp.inc"

void smalti::tpu::TpuDialect::addElementwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "ir/TpuOpsElementwise.cpp.inc"
      >();
}
