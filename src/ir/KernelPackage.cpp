#include "ir/KernelPackage.h"
#include "ir/facts/SymbolicDims.h"

#include <algorithm>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "ir/Tpu.h"
#include "ir/Upgrade.h"
#include "ir/package/Checks.h"

namespace smalti {

OwnedModule::OwnedModule(mlir::ModuleOp module) : op_(module ? new mlir::ModuleOp(module) : nullptr) {}
OwnedModule::OwnedModule(mlir::OwningOpRef<mlir::ModuleOp>&& module) : OwnedModule(module.release()) {}

mlir::ModuleOp OwnedModule::get() const { return op_ ? *op_ : mlir::ModuleOp(); }

void OwnedModule::Erase::operator()(mlir::ModuleOp* module) const {
  module->erase();
  delete module;
}

int KernelSignature::numDynamicBounds() const { return static_cast<int>(std::ranges::count(grid, kDynamicBound)); }

KernelPackage KernelPackage::copy() const {
  KernelPackage made;
  made.context = context;
  made.module = module->clone();
  made.name = name;
  made.operands = operands;
  made.results = results;
  made.aliases = aliases;
  made.config = config;
  made.frontendAttributes = frontendAttributes;
  made.hasSideEffect = hasSideEffect;
  made.signature = signature;
  return made;
}

int KernelPackage::numInputs() const {
  return static_cast<int>(operands.size()) - signature.numDynamicBounds() - signature.numScalarPrefetch;
}

mlir::func::FuncOp KernelPackage::kernelFunction() const {
  if (!module) return {};
  mlir::func::FuncOp marked, main, first;
  for (auto f : module->getOps<mlir::func::FuncOp>()) {
    if (!first) first = f;
    if (!main && f.getSymName() == "main") main = f;
    auto core = f->getAttrOfType<tpu::CoreTypeAttr>("tpu.core_type");
    if (core && (!marked || core.getValue() == tpu::CoreType::tc)) {
      marked = f;
      if (core.getValue() == tpu::CoreType::tc) break;
    }
  }
  return marked ? marked : main ? main : first;
}

Status finish(KernelPackage& package) {
  mlir::func::FuncOp function = package.kernelFunction();
  package::Violations violations(package.name, function ? placeOf(function.getLoc()) : SourcePlace());
  if (!function) {
    violations.add({.code = "SM3001", .message = "the module has no kernel function"});
    return violations.status();
  }
  for (const mlir::NamedAttribute& attribute : (*package.module)->getAttrs())
    if (std::string_view(attribute.getName().getValue()).starts_with(kDimPrefix)) {
      violations.add({.code = "SM3015",
                      .message = "the kernel has symbolic dimensions",
                      .place = {},
                      .need = "the program around it, and the shapes of its arguments",
                      .help = "run the whole module that jax.export writes"});
      return violations.status();
    }
  tpu::upgradeLegacyOps(*package.module);
  tpu::expandOps(*package.module);
  package.signature = package::readSignature(function, violations);
  package::checkFunction(function, violations);
  if (function.getBody().empty()) return violations.status();
  // The meaning of a malformed attribute is unknown: nothing is checked against its default.
  if (!violations.has("SM3002") && package::checkCounts(package, function, violations)) {
    package::checkArguments(package, function, violations);
    package::checkIndexMaps(package, function, violations);
    package::checkAliases(package, violations);
  }
  package::checkOps(package, violations);
  Status status = violations.status();
  if (status) package::joinResidentAliases(package);
  return status;
}

}  // namespace smalti
