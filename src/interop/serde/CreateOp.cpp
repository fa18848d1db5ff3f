#include <algorithm>

#include <fmt/format.h>

#include "mlir/IR/OperationSupport.h"

#include "interop/CapturedDiagnostics.h"
#include "interop/serde/OpFormHelpers.h"
#include "interop/serde/Serde.h"
#include "ir/KernelOps.h"

namespace smalti::interop {
namespace {

tl::unexpected<Diagnostic> misfit(const OpForm& op, std::string why) {
  return fail(
      {.code = "SM2109", .message = fmt::format("'{}' is invalid: {}", op.name, why), .place = placeOfForm(op)});
}

// Segments that do not add up would be believed by accessors before any verifier sees the op.
Status checkSegments(const OpForm& op) {
  if (!op.attributes.get("operandSegmentSizes")) return {};
  auto segments = segmentsOf(op);
  int64_t sum = 0;
  bool negative = !segments;
  if (segments)
    for (int32_t s : *segments) {
      negative |= s < 0;
      sum += s;
    }
  if (negative || sum != static_cast<int64_t>(op.operands.size()))
    return misfit(op, fmt::format("operandSegmentSizes does not add up to its {} operands", op.operands.size()));
  return {};
}

}  // namespace

Result<mlir::Operation*> createOp(mlir::OpBuilder& builder, const OpForm& op, unsigned numRegions) {
  mlir::MLIRContext* context = builder.getContext();
  auto name = mlir::RegisteredOperationName::lookup(op.name, context);
  if (!name || !isKernelOp(op.name)) return fail(refuseOp(op.name, placeOfForm(op)));
  if (Status s = checkSegments(op); !s) return fail(s.error());

  // Inherent attributes go in as properties, where a wrong kind is reported instead of dropped.
  mlir::NamedAttrList inherent, discardable;
  llvm::ArrayRef<mlir::StringAttr> known = name->getAttributeNames();
  for (mlir::NamedAttribute a : op.attributes)
    (std::ranges::find(known, a.getName()) != known.end() ? inherent : discardable).push_back(a);

  mlir::OperationState state(op.location, *name);
  state.addOperands(op.operands);
  state.addTypes(op.results);
  for (unsigned i = 0; i < numRegions; ++i) state.addRegion();
  const bool asProperties = name->getOpPropertyByteSize() != 0;
  state.addAttributes((asProperties ? discardable : op.attributes).getAttrs());
  mlir::Operation* created = builder.create(state);
  if (asProperties) {
    CapturedDiagnostics captured(*context);
    auto emitError = [&] { return mlir::emitError(op.location); };
    if (mlir::failed(created->setPropertiesFromAttribute(inherent.getDictionary(context), emitError))) {
      created->erase();
      return misfit(op, captured.takeMessage());
    }
  }
  return created;
}

}  // namespace smalti::interop
