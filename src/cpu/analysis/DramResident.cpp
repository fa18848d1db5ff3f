#include "cpu/analysis/DramResident.h"

#include <algorithm>

#include "ir/KernelArguments.h"
#include "ir/TpuOpsMemory.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/IndexMaps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::cpu {
namespace {

bool isPlainStore(mlir::Operation& op, mlir::Value ref) {
  return llvm::isa<tpu::VectorStoreOp, mlir::vector::StoreOp>(op) && op.getOperand(1) == ref &&
         op.getOperand(0) != ref && !boolAttribute(op, "add");
}

/// Whether the op is under a condition, by which kernels store to a block in only one of several steps.
bool isConditional(mlir::Operation& op) { return llvm::isa_and_present<mlir::scf::IfOp>(op.getParentOp()); }

bool storedOnce(const KernelPackage& package, const Window& window, mlir::Value ref) {
  const KernelArguments arguments(package);
  const IndexMapFacts map(arguments.indexMap(window), arguments.gridRank());
  const std::vector<bool> injective = injectiveAxes(map, window, package.signature.grid);
  const bool once = std::ranges::all_of(injective, [](bool t) { return t; });
  return llvm::all_of(ref.getUsers(), [&](mlir::Operation* user) {
    return isPlainStore(*user, ref) && (once || isConditional(*user));
  });
}

}  // namespace

bool isInDram(int64_t bytes, const Processor& processor) {
  // Half of the LLC, at most 16 MiB: a core does not have a larger LLC to itself. Chosen, not measured.
  constexpr int64_t kLargestShare = 16 << 20;
  return bytes >= std::min(processor.l3Bytes / 2, kLargestShare);
}

std::vector<bool> usesNonTemporalStores(const KernelPackage& package, const Processor& processor) {
  const KernelArguments arguments(package);
  std::vector<bool> worth(package.results.size(), false);
  if (!processor.isX86()) return worth;
  for (size_t i = 0; i < worth.size(); ++i) {
    const auto& window = arguments.windowOf(arguments.numInputs() + i);
    if (!window || window->elementIndexed || arguments.isAliased(i) || !isInDram(package.results[i].bytes(), processor))
      continue;
    worth[i] = storedOnce(package, *window, arguments.output(i));
  }
  return worth;
}

}  // namespace smalti::cpu
