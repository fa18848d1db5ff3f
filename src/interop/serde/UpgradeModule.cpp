#include <fmt/format.h>

#include "interop/Interop.h"
#include "interop/serde/OpFormHelpers.h"
#include "interop/serde/Serde.h"

namespace smalti::interop {

Result<int> stableVersion(mlir::Attribute attribute) {
  auto version = mlir::dyn_cast_or_null<mlir::IntegerAttr>(attribute);
  const bool readable = version && version.getType().isSignlessInteger(64) &&
                        version.getInt() >= kOldestReadableVersion && version.getInt() <= kNewestReadableVersion;
  if (readable) return static_cast<int>(version.getInt());
  Diagnostic d{.code = "SM2103", .message = "the kernel's stable_mosaic version is not one that can be read"};
  d.need = fmt::format("{} = {} to {}", kStableVersionAttribute, kOldestReadableVersion, kNewestReadableVersion);
  d.have = version && version.getType().isSignlessInteger(64) ? fmt::format("{}", version.getInt()) : "none";
  d.help = "export the module with an older JAX, or for an older version";
  return fail(std::move(d));
}

namespace {

// The <{properties}> of an unregistered op count as attributes, too.
OpForm formOf(mlir::Operation& op) {
  OpForm form{.name = op.getName().getStringRef().drop_front(std::strlen(kStablePrefix)).str(),
              .location = op.getLoc(),
              .operands = llvm::to_vector(op.getOperands()),
              .results = llvm::to_vector(op.getResultTypes()),
              .attributes = mlir::NamedAttrList(op.getAttrs())};
  if (auto properties = mlir::dyn_cast_or_null<mlir::DictionaryAttr>(op.getPropertiesAsAttribute()))
    for (mlir::NamedAttribute a : properties) form.attributes.set(a.getName(), a.getValue());
  return form;
}

}  // namespace

Status upgradeModule(mlir::ModuleOp module) {
  std::vector<mlir::Operation*> stable;  // inner ops first
  module.walk([&](mlir::Operation* op) {
    if (op->getName().getStringRef().starts_with(kStablePrefix)) stable.push_back(op);
  });
  if (stable.empty()) return {};
  Result<int> version = stableVersion(module->getAttr(kStableVersionAttribute));
  if (!version) return fail(version.error());
  for (mlir::Operation* op : stable) {
    OpForm form = formOf(*op);
    if (op->getNumSuccessors() != 0)
      return fail({.code = "SM2107",
                   .message = fmt::format("'{}' branches to another block", form.name),
                   .place = placeOfForm(form),
                   .need = "structured control flow (scf.if, scf.for, scf.while)"});
    mlir::OpBuilder builder(op);
    if (Status s = upgradeOp(form, *version, builder); !s) return s;
    Result<mlir::Operation*> created = createOp(builder, form, op->getNumRegions());
    if (!created) return fail(created.error());
    for (unsigned i = 0; i < op->getNumRegions(); ++i) (*created)->getRegion(i).takeBody(op->getRegion(i));
    op->replaceAllUsesWith(*created);
    op->erase();
  }
  return {};
}

}  // namespace smalti::interop
