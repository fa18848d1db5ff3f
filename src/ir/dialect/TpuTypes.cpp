#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "ir/Tpu.h"

#define GET_TYPEDEF_CLASSES
#include "ir/TpuTypes.cpp.inc"

namespace smalti::tpu {

void TpuDialect::addTypes() {
  mlir::Dialect::addTypes<
#define GET_TYPEDEF_LIST
#include "ir/TpuTypes.cpp.inc"
      >();
}

const llvm::fltSemantics& Float8EXMYType::getFloatSemantics() const { return getUnderlying().getFloatSemantics(); }
mlir::FloatType Float8EXMYType::scaleElementBitwidth(unsigned) const { return {}; }

}  // namespace smalti::tpu
