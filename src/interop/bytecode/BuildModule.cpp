#include "interop/bytecode/BuildModule.h"

#include <fmt/format.h>

#include "interop/bytecode/BytecodeLimits.h"
#include "interop/serde/Serde.h"

namespace smalti::interop::bytecode {
namespace {

/// Values by number, as one isolated op and the regions inside see them: a region's values follow those of the regions
/// around it, and those of two regions side by side share numbers.
struct ValueScope {
  std::vector<mlir::Value> values;
};

class ModuleBuilder {
 public:
  ModuleBuilder(const BodyModel& model, mlir::MLIRContext& context, ReadState& state, AttrTypeReader& reader)
      : model_(model), state_(state), reader_(reader), builder_(&context) {}

  mlir::OwningOpRef<mlir::ModuleOp> build() {
    const OpRecord& root = model_.root;
    if (fullName(root) != "builtin.module" || root.regions.size() != 1 || !root.operands.empty() ||
        !root.resultTypes.empty()) {
      state_.fail("SM2101", root.offset, "the kernel body's outermost op is not a module", "builtin.module",
                  fullName(root).substr(0, 100));
      return nullptr;
    }
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(reader_.location(root.location));
    if (root.attributes >= 0) (*module)->setAttrs(reader_.dictionary(root.attributes));
    versionAttribute_ = (*module)->getAttr(kStableVersionAttribute);
    ValueScope scope;
    fillBlock(*module->getBody(), root.regions[0], scope);
    if (!state_.ok()) return nullptr;
    return module;
  }

 private:
  std::string fullName(const OpRecord& r) const {
    const OpName& n = model_.opNames[r.name];
    return fmt::format("{}.{}", model_.dialects[n.dialect], n.name);
  }

  void op(const OpRecord& r, ValueScope& scope, size_t& nextValue) {
    OpForm form{
        .name = fullName(r), .location = reader_.location(r.location), .operands = {}, .results = {}, .attributes = {}};
    for (uint64_t o : r.operands) {
      if (o >= scope.values.size() || !scope.values[o]) {
        state_.fail("SM2101", r.offset, fmt::format("'{}' uses a value before it is made", form.name), {},
                    fmt::format("value {}", o));
        return;
      }
      form.operands.push_back(scope.values[o]);
    }
    for (uint32_t t : r.resultTypes) form.results.push_back(reader_.type(t));
    if (r.attributes >= 0) form.attributes = mlir::NamedAttrList(reader_.dictionary(r.attributes));
    if (!state_.ok() || !upgraded(form)) return;
    if (reader_.nodesUsed() > kMaxModuleNodes || (operandsMade_ += form.operands.size()) > kMaxModuleNodes) {
      state_.fail("SM2106", r.offset, "the kernel's ops are too large together",
                  fmt::format("at most {} parts", kMaxModuleNodes));
      return;
    }
    Result<mlir::Operation*> created = createOp(builder_, form, r.regions.size());
    if (!created) return state_.fail(created.error());
    ValueScope own;
    for (size_t i = 0; i < r.regions.size() && state_.ok(); ++i)
      region((*created)->getRegion(i), r.regions[i], r.isolated ? own : scope);
    for (mlir::Value result : (*created)->getResults()) scope.values[nextValue++] = result;
  }

  bool upgraded(OpForm& form) {
    if (!llvm::StringRef(form.name).starts_with(kStablePrefix)) return true;
    form.name.erase(0, std::strlen(kStablePrefix));
    if (version_ == 0) {
      Result<int> version = stableVersion(versionAttribute_);
      if (!version) return state_.fail(version.error()), false;
      version_ = *version;
    }
    if (Status s = upgradeOp(form, version_, builder_); !s) return state_.fail(s.error()), false;
    return true;
  }

  void region(mlir::Region& region, const RegionRecord& r, ValueScope& scope) {
    if (r.empty) return;
    fillBlock(region.emplaceBlock(), r, scope);
  }

  void fillBlock(mlir::Block& block, const RegionRecord& r, ValueScope& scope) {
    const size_t first = scope.values.size();
    size_t next = first;
    scope.values.resize(first + r.numValues);
    for (const BlockArgument& a : r.arguments) {
      mlir::Type type = reader_.type(a.type);
      mlir::Location location = reader_.location(a.location);
      if (!state_.ok()) return;
      scope.values[next++] = block.addArgument(type, location);
    }
    mlir::OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToEnd(&block);
    for (const OpRecord& o : r.ops) {
      if (!state_.ok()) return;
      op(o, scope, next);
    }
    scope.values.resize(first);
  }

  const BodyModel& model_;
  ReadState& state_;
  AttrTypeReader& reader_;
  mlir::OpBuilder builder_;
  mlir::Attribute versionAttribute_;
  int version_ = 0;  ///< 0: not looked up yet
  uint64_t operandsMade_ = 0;
};

}  // namespace

mlir::OwningOpRef<mlir::ModuleOp> buildModule(const BodyModel& model, mlir::MLIRContext& context, ReadState& state,
                                              AttrTypeReader& reader) {
  return ModuleBuilder(model, context, state, reader).build();
}

}  // namespace smalti::interop::bytecode
