#include "interop/serde/OpFormHelpers.h"

#include "mlir/IR/BuiltinAttributes.h"

#include "ir/KernelPackage.h"

namespace smalti::interop {

std::optional<std::vector<int32_t>> segmentsOf(const OpForm& op) {
  auto a = mlir::dyn_cast_or_null<mlir::DenseI32ArrayAttr>(op.attributes.get("operandSegmentSizes"));
  if (!a) return std::nullopt;
  return std::vector<int32_t>(a.asArrayRef().begin(), a.asArrayRef().end());
}

void setSegments(OpForm& op, llvm::ArrayRef<int32_t> segments) {
  op.attributes.set("operandSegmentSizes", mlir::DenseI32ArrayAttr::get(op.location.getContext(), segments));
}

SourcePlace placeOfForm(const OpForm& op) { return placeOf(op.location); }

}  // namespace smalti::interop
