// Grids and loops.
#include <fmt/format.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "tpu/rules/Reasons.h"
#include "tpu/rules/Table.h"

namespace smalti::tpu {
namespace {

void onGrid(const Judge& judge) {
  const KernelSignature& s = judge.kernel.signature;
  for (size_t i = 0; i < s.dimensionSemantics.size() && i < s.grid.size(); ++i) {
    const int64_t cores = judge.chip.device.coresPerDevice;
    if (s.dimensionSemantics[i] == smalti::DimensionSemantics::subcore_parallel)
      judge.refuse(reason::kCoreParallel, judge.kernel.kernelFunction().getLoc(),
                   {.message = "subcore_parallel is only supported on SparseCore",
                    .need = "parallel or arbitrary",
                    .have = fmt::format("grid axis {}", i),
                    .help = "mark the axis parallel"});
    if (s.dimensionSemantics[i] != smalti::DimensionSemantics::core_parallel || s.grid[i] == cores) continue;
    judge.refuse(reason::kCoreParallel, judge.kernel.kernelFunction().getLoc(),
                 {.message = fmt::format(
                      "Core-parallel dimension {} has iteration bound: {}, which is not the number of active cores: {}",
                      i, s.grid[i], cores),
                  .need = fmt::format("{} steps along a core_parallel axis", cores),
                  .have = fmt::format("{}", s.grid[i]),
                  .help = "mark the axis parallel instead"});
  }
}

void onLoop(mlir::Operation* op, const Judge& judge) {
  auto loop = mlir::dyn_cast<mlir::scf::ForOp>(op);
  if (!loop) return;
  for (mlir::Value v : loop.getInitArgs()) {
    const auto type = arrayTypeOf(v.getType());
    if (!type) continue;
    const bool vector = mlir::isa<mlir::VectorType>(v.getType());
    const bool word = type->dtype == DType::f32 || type->dtype == DType::i32 || type->dtype == DType::u32;
    if (vector ? type->dtype != DType::pred : word || type->dtype == DType::pred || type->dtype == DType::index)
      continue;
    return judge.refuse(reason::kBoolCarry, op->getLoc(),
                        {.message = "failed to legalize operation 'scf.for'",
                         .need = vector ? "carried vectors of numbers" : "carried scalars of f32, i32 or bool",
                         .have = type->str(),
                         .help = vector ? "carry it as i32, and compare with 0" : "carry it as f32 or i32"});
  }
}

}  // namespace

std::span<const Rule> controlRules() {
  static constexpr Rule kRules[]{{.onOp = onLoop}, {.onKernel = onGrid}};
  return kRules;
}

}  // namespace smalti::tpu
