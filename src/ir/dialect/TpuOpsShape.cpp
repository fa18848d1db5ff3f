#include "ir/TpuOpsShape.h"

#define GET_OP_CLASSES
#include "ir/TpuOpsShape.cpp.inc"

void smalti::tpu::TpuDialect::addShapeOps() {
  addOperations<
#define GET_OP_LIST
#include "ir/TpuOpsShape.cpp.inc"
      >();
}
