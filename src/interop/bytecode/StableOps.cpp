#include "interop/bytecode/StableOps.h"

#include "mlir/IR/Builders.h"

#include "interop/serde/Serde.h"

namespace smalti::interop::bytecode {
namespace {

void markCaptures(mlir::Operation* op, StableOps& ops) {
  for (mlir::Value operand : op->getOperands())
    for (mlir::Region* r = op->getParentRegion(); r != operand.getParentRegion(); r = r->getParentRegion())
      ops[r->getParentOp()].isolated = false;
}

mlir::DictionaryAttr moduleAttributes(mlir::ModuleOp module, int version) {
  mlir::NamedAttrList attributes(module->getAttrDictionary());
  attributes.set(kStableVersionAttribute, mlir::Builder(module.getContext()).getI64IntegerAttr(version));
  return attributes.getDictionary(module.getContext());
}

}  // namespace

Result<StableOps> stableOps(mlir::ModuleOp module, int version) {
  StableOps ops;
  ops[module] = {"builtin", "module", moduleAttributes(module, version), true};
  std::vector<Diagnostic> refused;
  module.getBodyRegion().walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
    OpForm form{.name = op->getName().getStringRef().str(),
                .location = op->getLoc(),
                .operands = llvm::to_vector(op->getOperands()),
                .results = llvm::to_vector(op->getResultTypes()),
                .attributes = mlir::NamedAttrList(op->getAttrDictionary())};
    if (Status s = downgradeOp(form, version); !s) refused.push_back(s.error());
    ops[op] = {"stable_mosaic", form.name, form.attributes.getDictionary(op->getContext()), true};
    markCaptures(op, ops);
  });
  if (refused.empty()) return ops;
  Diagnostic first = refused.front();
  first.related.assign(refused.begin() + 1, refused.end());
  return fail(std::move(first));
}

}  // namespace smalti::interop::bytecode
