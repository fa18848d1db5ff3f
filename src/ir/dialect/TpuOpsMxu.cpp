#include "ir/TpuOpsMxu.h"

#define GET_OP_CLASSES
#include "ir/TpuOpsMxu.cpp.inc"

void smalti::tpu::TpuDialect::addMxuOps() {
  addOperations<
#define GET_OP_LIST
#include "ir/TpuOpsMxu.cpp.inc"
      >();
}
