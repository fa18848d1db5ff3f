#include "tpu/Warnings.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/Arithmetic.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "tpu/Registers.h"
#include "tpu/Tiling.h"

namespace smalti::tpu {
namespace {

/// Fewer registers than these do not matter.
constexpr int64_t kManyRegisters = 32;
/// Fractions of the elements of registers that a wasteful value uses, and of work that is uneven.
constexpr double kWastefulShare = 0.125;
constexpr double kUnevenShare = 0.1;

std::vector<std::string> whereOf(const KernelPackage& kernel, const Chip& chip) {
  return {fmt::format("kernel '{}'", kernel.name), fmt::format("chip {}", chip.name)};
}

/// Ops that only say how a value is seen, or read a column of rows that are wider: what they give is not a waste.
bool isNoWork(mlir::Operation* op) {
  if (auto load = mlir::dyn_cast<mlir::vector::LoadOp>(op))
    return load.getMemRefType().getShape().back() > load.getVectorType().getShape().back();
  return mlir::isa<mlir::vector::ShapeCastOp, mlir::vector::BroadcastOp, mlir::vector::ExtractStridedSliceOp>(op);
}

std::optional<Diagnostic> wasteful(const KernelPackage& kernel, const Chip& chip) {
  mlir::Value worst;
  int64_t most = kManyRegisters - 1;
  kernel.kernelFunction().walk([&](mlir::Operation* op) {
    if (isNoWork(op) || op->hasTrait<mlir::OpTrait::ConstantLike>()) return;
    for (mlir::Value v : op->getResults()) {
      const int64_t registers = registersOf(v);
      if (registers <= most) continue;
      const auto array = arrayTypeOf(v.getType());
      const double room = static_cast<double>(registers * (kRegisterBytes / 4) * packingOf(array->dtype));
      if (static_cast<double>(array->elements()) / room >= kWastefulShare) continue;
      worst = v, most = registers;
    }
  });
  if (!worst) return std::nullopt;
  const ArrayType array = *arrayTypeOf(worst.getType());
  return Diagnostic{
      .code = "SM6636",
      .message = "a value's shape wastes vector registers",
      .place = smalti::placeOf(worst.getLoc()),
      .where = whereOf(kernel, chip),
      .need = fmt::format("last dimensions that fill registers of 8 rows of {} lanes", kLanes),
      .have = fmt::format("{} of {} in {} registers, where {} would hold it",
                          worst.getDefiningOp()->getName().getStringRef().str(), array.str(), most,
                          registersOf(ArrayType{array.dtype, {ceilDiv(array.elements(), kLanes), kLanes}})),
      .help = "put the longest dimension last, or fold leading dimensions into the last two"};
}

std::optional<Diagnostic> spilled(const KernelPackage& kernel, const Chip& chip, const VmemMap& map) {
  int64_t bytes = 0;
  const KeptValue* most = nullptr;
  for (const KeptValue& k : map.temporaries.kept)
    if (!k.ofProduct) {
      bytes += k.bytes;
      if (!most) most = &k;
    }
  const int64_t more =
      std::min(bytes / kRegisterBytes - chip.spills.freeRegisters, map.temporaries.likely / kRegisterBytes);
  if (!most || more < chip.vector.registers) return std::nullopt;
  return Diagnostic{.code = "SM6637",
                    .message = "values of the body do not fit into the vector registers",
                    .place = most->place,
                    .where = whereOf(kernel, chip),
                    .need = fmt::format("at most {} registers at once", chip.vector.registers),
                    .have = fmt::format("about {} more, which are stored to VMEM and loaded again; most is the {}: {}",
                                        more, most->what, most->array.str()),
                    .help =
                        "where smalti time says that vector loads and stores take long: smaller blocks, or a loop over "
                        "the rows of a block (pl.loop)"};
}

std::optional<Diagnostic> uneven(const KernelPackage& kernel, const Chip& chip) {
  const int64_t cores = chip.device.coresPerDevice;
  const auto& grid = kernel.signature.grid;
  const auto& semantics = kernel.signature.dimensionSemantics;
  if (cores < 2 || grid.empty() || std::ranges::count(grid, kDynamicBound) > 0) return std::nullopt;
  double best = 0;  // of the cores' time that is used
  bool isShared = false;
  for (size_t d = 0; d < grid.size() && d < semantics.size(); ++d) {
    if (semantics[d] == smalti::DimensionSemantics::arbitrary) continue;
    isShared = true;
    const int64_t steps = (grid[d] + cores - 1) / cores;
    best = std::max(best, static_cast<double>(grid[d]) / static_cast<double>(std::max<int64_t>(1, steps * cores)));
  }
  if (isShared && best >= 1 - kUnevenShare) return std::nullopt;
  return Diagnostic{
      .code = "SM6638",
      .message = isShared ? "the cores do not share the grid evenly" : "one core does all steps of the grid",
      .place = smalti::placeOf(kernel.kernelFunction().getLoc()),
      .where = whereOf(kernel, chip),
      .need = fmt::format("an axis marked parallel that {} cores divide", cores),
      .have = isShared ? fmt::format("cores that work {:.0f} % of the time", 100 * best)
                       : std::string("no axis that is marked parallel"),
      .help = isShared ? "choose blocks that give an even number of steps along that axis"
                       : "mark axes whose steps do not depend on each other: dimension_semantics"};
}

}  // namespace

std::vector<Diagnostic> warningsOf(const KernelPackage& kernel, const Chip& chip, const VmemMap& map) {
  std::vector<Diagnostic> out;
  if (!kernel.kernelFunction()) return out;
  for (auto& found : {wasteful(kernel, chip), spilled(kernel, chip, map), uneven(kernel, chip)})
    if (found) out.push_back(*found);
  return out;
}

}  // namespace smalti::tpu
