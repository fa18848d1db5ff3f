#include "RewritePasses.h"

#include "cpu/rewrite/Passes.h"
#include "ir/Types.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace smalti {
namespace {

/// The arrays of a list of tensor types; false, with an error, where the module has none.
bool readArrays(mlir::ModuleOp module, llvm::StringRef name, std::vector<ArrayType>& arrays) {
  auto list = module->getAttrOfType<mlir::ArrayAttr>(name);
  if (!list) {
    module.emitError() << "the module has no attribute '" << name << "': a list of tensor types";
    return false;
  }
  for (mlir::Attribute entry : list) {
    auto type = llvm::dyn_cast<mlir::TypeAttr>(entry);
    auto tensor = type ? llvm::dyn_cast<mlir::RankedTensorType>(type.getValue()) : nullptr;
    if (!tensor || !tensor.hasStaticShape()) {
      module.emitError() << "'" << name << "' has an entry that is not a tensor of known shape: " << entry;
      return false;
    }
    arrays.push_back({elementDType(tensor), Shape(tensor.getShape().begin(), tensor.getShape().end())});
  }
  return true;
}

/// Rewrites change the signature; its attributes are written back to the function for readers of the module.
void writeSignature(const KernelPackage& package) {
  mlir::func::FuncOp kernel = package.kernelFunction();
  mlir::Builder b(kernel.getContext());
  kernel->setAttr("iteration_bounds", b.getDenseI64ArrayAttr(package.signature.grid));
  kernel->setAttr("scratch_operands", b.getI64IntegerAttr(package.signature.numScratch));
  auto params = kernel->getAttrOfType<mlir::ArrayAttr>("window_params");
  if (!params) return;
  llvm::SmallVector<mlir::Attribute> windows(params.begin(), params.end());
  for (size_t i = 0; i < windows.size(); ++i) {
    if (!package.signature.windows[i]) continue;
    mlir::NamedAttrList entries(llvm::cast<mlir::DictionaryAttr>(windows[i]));
    entries.set("window_bounds", b.getDenseI64ArrayAttr(package.signature.windows[i]->bounds));
    windows[i] = entries.getDictionary(b.getContext());
  }
  kernel->setAttr("window_params", b.getArrayAttr(windows));
}

class RewriteKernel : public mlir::PassWrapper<RewriteKernel, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RewriteKernel)

  explicit RewriteKernel(const cpu::RewritePass& row) : row_(row), argument_("smalti-" + std::string(row.name)) {}
  RewriteKernel(const RewriteKernel& other) : PassWrapper(other), row_(other.row_), argument_(other.argument_) {}

  llvm::StringRef getArgument() const override { return argument_; }
  llvm::StringRef getDescription() const override { return row_.summary; }

  void runOnOperation() override {
    mlir::ModuleOp module = getOperation();
    KernelPackage package;
    package.context = {&getContext(), [](mlir::MLIRContext*) {}};  // the tool's
    package.module = module.clone();
    package.name = "kernel";
    if (!readArrays(module, "smalti.operands", package.operands) ||
        !readArrays(module, "smalti.results", package.results))
      return signalPassFailure();
    if (Status ok = finish(package); !ok) {
      module.emitError() << ok.error().str();
      return signalPassFailure();
    }
    const auto target = cpu::processorNamed(std::string(processor));
    if (!target) {
      module.emitError() << target.error().str();
      return signalPassFailure();
    }
    auto made = row_.run(package, {*target, cores});
    if (!made) return;
    writeSignature(*made);
    module.getBodyRegion().takeBody(made->module->getBodyRegion());
  }

 private:
  const cpu::RewritePass& row_;
  std::string argument_;
  Option<std::string> processor{*this, "processor", llvm::cl::desc("the processor it is made for"),
                                llvm::cl::init("x86_64-unknown-linux-gnu/znver5")};
  Option<int> cores{*this, "cores", llvm::cl::desc("cores that share the grid"), llvm::cl::init(1)};
};

}  // namespace

void registerRewritePasses() {
  for (const cpu::RewritePass& row : cpu::rewritePasses())
    mlir::registerPass([&row] { return std::make_unique<RewriteKernel>(row); });
}

}  // namespace smalti
