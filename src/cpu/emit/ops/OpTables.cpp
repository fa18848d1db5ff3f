#include "cpu/emit/ops/OpTables.h"

#include <array>

#include "llvm/ADT/StringMap.h"

namespace smalti::cpu {

std::span<const std::span<const NativeOpRow>> nativeOpTables() {
  static const std::array kTables{argReduceOps(), atomicOps(), bitcastOps(), controlOps(),      convOps(),  iotaOps(),
                                  matmulOps(),    memoryOps(), reduceOps(),  rotateGatherOps(), shapeOps(), syncOps()};
  return kTables;
}

LowerOp findLowering(mlir::Operation& op) {
  static const llvm::StringMap<LowerOp>& table = *[] {
    auto* all = new llvm::StringMap<LowerOp>;
    for (const auto rows : nativeOpTables())
      for (const auto& [name, lower] : rows) (*all)[llvm::StringRef(name.data(), name.size())] = lower;
    return all;
  }();
  auto found = table.find(op.getName().getStringRef());
  return found == table.end() ? nullptr : found->second;
}

}  // namespace smalti::cpu
