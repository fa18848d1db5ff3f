#include "cpu/rewrite/grid/DropEdgeMasks.h"

#include "cpu/analysis/EdgeMasks.h"
#include "cpu/rewrite/grid/CollapseReductionAxis.h"
#include "ir/BlockGeometry.h"
#include "ir/KernelArguments.h"
#include "ir/Types.h"
#include "ir/facts/IndexMaps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu {
namespace {

class EdgeMaskRemover {
 public:
  explicit EdgeMaskRemover(KernelPackage& package) : package_(package) {}

  bool drop() {
    const KernelArguments arguments(package_);
    for (size_t i = 0; i < arguments.numInputs(); ++i) {
      if (!arguments.windowOf(i) || arguments.windowOf(i)->elementIndexed) return false;
      const Window& window = *arguments.windowOf(i);
      const IndexMapFacts map(arguments.indexMap(window), arguments.gridRank());
      if (!map.uses(axis())) continue;
      const auto along = dimensionsAlong(map);
      if (!map.onlyReturns(axis()) || along.size() != 1 || shapeOf(arguments.input(i).getType()) != window.bounds)
        return false;
      const size_t d = along[0];
      if (!BlockGeometry(window, arguments.arrayOf(i).shape).hasPartialBlock(d)) continue;
      const auto found = edgeMasks(package_, i, d);
      if (!found) return false;
      masks_.insert(masks_.end(), found->begin(), found->end());
    }
    for (auto& [select, value] : masks_) {
      const mlir::Value inside = value;
      select.getResult().replaceAllUsesWith(inside);
    }
    for (auto& [select, value] : masks_) narrowAgain(value);
    dropUnused(package_);
    return !masks_.empty();
  }

 private:
  unsigned axis() const { return static_cast<unsigned>(package_.signature.grid.size()) - 1; }

  /// The dimensions of the array along which the axis steps through blocks.
  std::vector<size_t> dimensionsAlong(const IndexMapFacts& map) const {
    std::vector<size_t> dimensions;
    for (size_t d = 0; d < map.coordinates().size(); ++d)
      if (const auto& form = map.coordinates()[d].form; form && form->gridIndex() == axis()) dimensions.push_back(d);
    return dimensions;
  }

  /// Removes conversions of a narrow value that served only its mask.
  static void narrowAgain(mlir::Value wide) {
    mlir::Operation* wider = wide.getDefiningOp();
    if (!llvm::isa_and_present<mlir::arith::ExtFOp, mlir::arith::ExtSIOp, mlir::arith::ExtUIOp>(wider)) return;
    for (mlir::Operation* user : llvm::to_vector(wide.getUsers()))
      if (llvm::isa<mlir::arith::TruncFOp, mlir::arith::TruncIOp>(user) &&
          user->getResult(0).getType() == wider->getOperand(0).getType())
        user->getResult(0).replaceAllUsesWith(wider->getOperand(0));
  }

  KernelPackage& package_;
  std::vector<EdgeMask> masks_;
};

}  // namespace

std::optional<KernelPackage> dropEdgeMasks(const KernelPackage& package) {
  const KernelSignature& s = package.signature;
  if (s.grid.empty() || s.grid.back() < 2 ||
      package.kernelFunction().getArgument(static_cast<unsigned>(s.grid.size()) - 1).use_empty())
    return std::nullopt;
  bool selects = false;
  package.kernelFunction().walk([&](mlir::arith::SelectOp) { selects = true; });
  if (!selects) return std::nullopt;
  KernelPackage made = package.copy();
  if (!EdgeMaskRemover(made).drop()) return std::nullopt;
  return made;
}

}  // namespace smalti::cpu
