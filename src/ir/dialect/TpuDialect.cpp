#include "ir/Tpu.h"

#include "ir/TpuBase.cpp.inc"

namespace smalti::tpu {

void TpuDialect::initialize() {
  addAttributes();
  addTypes();
  addMxuOps();
  addShapeOps();
  addElementwiseOps();
  addMemoryOps();
  addSyncOps();
  addDebugOps();
}

std::optional<mlir::Dialect::ParseOpHook> TpuDialect::getParseOperationHook(llvm::StringRef opName) const {
  std::string name = opName.str();
  auto kind = refusedOpKind(opName.starts_with("tpu.") ? opName.drop_front(4) : opName);
  if (!kind) return std::nullopt;
  return [what = name, kind = *kind](mlir::OpAsmParser& parser, mlir::OperationState&) -> mlir::ParseResult {
    return parser.emitError(parser.getNameLoc()) << "'" << what << "' is " << kind;
  };
}

std::optional<MemorySpace> memorySpaceOf(mlir::MemRefType type) {
  mlir::Attribute space = type.getMemorySpace();
  if (!space) return MemorySpace::vmem;
  if (auto known = mlir::dyn_cast<MemorySpaceAttr>(space)) return known.getValue();
  return std::nullopt;
}

}  // namespace smalti::tpu
