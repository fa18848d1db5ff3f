#include "cpu/rewrite/grid/RetileMatmulGrid.h"

#include <algorithm>

#include "base/Arithmetic.h"
#include "cpu/analysis/AxisDims.h"
#include "cpu/analysis/Parallel.h"
#include "cpu/rewrite/grid/AddGrid.h"
#include "cpu/rewrite/grid/CollapseReductionAxis.h"
#include "cpu/rewrite/grid/ResizeAxis.h"
#include "ir/TpuOpsMxu.h"
#include "ir/Types.h"
#include "ir/facts/DotDimensions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu {
namespace {

// Fitted with the GEMM rows of `./do bench cpu`, on one core and two, on the processor that docs/performance.md names.

/// Columns of a part of the product: at least a register tile, at most what one pass over packed B takes.
constexpr int64_t kTile = 64, kMaxColumns = 1024;
/// The fewest rows of a part that has all columns, provided that every core gets a part.
constexpr int64_t kMinRows = 64;
/// The fewest of parts that register tiles do not divide: some whole tiles. Chosen, not measured.
constexpr int64_t kFewestColumns = 2 * kTile, kFewestRows = 24;
/// Multiply-adds in f32 that are worth a part, and a core's first part.
constexpr int64_t kPartProducts = 4 << 20, kFirstPartProducts = 1 << 20;

/// A part size for `total`: near `wanted`, a multiple of `step`, without remainder, if possible so that `cores` share
/// the parts evenly, and at least `least`; else all of it.
int64_t partOf(int64_t total, int64_t wanted, int64_t step, int64_t cores = 1, int64_t least = 1) {
  if (wanted >= total) return total;
  int64_t found = total;
  for (int64_t part = std::max(step, roundUp(wanted, step)); part >= std::max(step, least); part -= step) {
    if (total % part != 0) continue;
    if (total / part % cores == 0) return part;
    if (found == total) found = part;
  }
  return found;
}

class MatmulRetiler {
 public:
  MatmulRetiler(const Processor& processor, int cores) : processor_(processor), cores_(cores) {}

  std::optional<KernelPackage> run(const KernelPackage& package) {
    const KernelSignature& s = package.signature;
    const auto isWindow = [](const std::optional<Window>& w) { return w && !(w->revisitMode == RevisitMode::any); };
    if (s.grid.empty() || !package.aliases.empty() || !llvm::all_of(s.windows, isWindow)) return std::nullopt;
    auto original = package.kernelFunction();
    bool products = false;
    original.walk([&](tpu::MatmulOp) { products = true; });
    if (!products) return std::nullopt;
    KernelPackage made = package.copy();
    dropUnused(made);
    auto dims = AxisDims::of(made);
    if (!dims) return std::nullopt;
    const int last = dims->rank() - 1;
    const bool fuses = canCollapse(made, *dims);
    const bool single = s.grid.back() == 1;
    if (fuses || single) {
      collapseReductionAxis(made, last);
      if (fuses) resizeAxis(made, last, dims->extent(last));
    }
    forwardStores(made);
    const bool parted = chooseParts(made) || chooseColumns(made);
    if (!fuses && !single && !parted) return std::nullopt;
    return made;
  }

 private:
  /// As partOf, in the coarsest steps, from `step` down, in which the cores share the parts evenly, or at all.
  int64_t finerPartOf(int64_t total, int64_t wanted, int64_t step, int64_t least) const {
    int64_t found = total;
    for (; step >= 1; step /= 2) {
      const int64_t part = partOf(total, wanted, step, cores_, least);
      if (total / part % cores_ == 0) return part;
      if (found == total) found = part;
    }
    return found;
  }

  /// Rows and columns.
  bool chooseParts(KernelPackage& package) {
    auto kernel = package.kernelFunction();
    if (!independentSteps(package)) return false;
    auto dims = AxisDims::of(package);
    int rows = -1, columns = -1, count = 0;
    int64_t depth = 1;
    mlir::Operation* product = nullptr;
    for (mlir::Operation& op : kernel.getBody().front()) {
      if (!llvm::isa<tpu::MatmulOp>(op)) continue;
      const auto lists = dotDimensionsOf(op);
      ++count;
      product = &op;
      for (int64_t d : lists.lhsFree)
        if (const int a = dims->axisOf(op.getOperand(0), static_cast<size_t>(d)); a >= 0) rows = a;
      for (int64_t d : lists.rhsFree)
        if (const int a = dims->axisOf(op.getOperand(1), static_cast<size_t>(d)); a >= 0) columns = a;
      for (int64_t d : lists.lhsContracting) depth *= shapeOf(op.getOperand(0).getType())[static_cast<size_t>(d)];
    }
    if (count != 1 || rows == columns) return false;
    const auto usable = [&](int axis) {
      return axis >= 0 && kernel.getArgument(static_cast<unsigned>(axis)).use_empty();
    };
    if (!usable(rows)) rows = -1;
    if (!usable(columns)) columns = -1;
    const Shape shape = shapeOf(product->getResult(0).getType());
    const int64_t m = rows >= 0 ? dims->extent(rows) : shape.size() >= 2 ? shape[shape.size() - 2] : 1;
    const int64_t n = columns >= 0 ? dims->extent(columns) : shape.empty() ? 1 : shape.back();
    int64_t steps = 1;  // of other axes
    for (int a = 0; a < dims->rank(); ++a)
      if (a != rows && a != columns) steps *= std::max<int64_t>(package.signature.grid[static_cast<size_t>(a)], 1);
    // Narrower operands are multiplied as many times faster.
    const int64_t bytes = storage_bytes(elementDType(product->getOperand(0).getType()));
    const int64_t work = m * n * depth * bytes / 4;
    const int64_t parts =
        std::clamp<int64_t>(work / kPartProducts, std::clamp<int64_t>(work / kFirstPartProducts, 1, cores_),
                            cores_ == 1 ? 1 : kPartsPerCore * cores_);
    int64_t wanted = ceilDiv(parts, steps);
    int64_t partColumns = n, partRows = m;
    if (columns >= 0) {
      partColumns = partOf(n, std::min(ceilDiv(n, wanted), kMaxColumns), kTile, cores_);
      wanted = std::max<int64_t>(1, wanted / std::max<int64_t>(1, n / partColumns));
    }
    // With parts of rows alone, each part reads the whole right operand, so more parts than cores must be worth it.
    const int64_t least = columns >= 0 ? 1 : std::min(kMinRows, ceilDiv(m, cores_));
    if (rows >= 0) {
      const int64_t wantedRows = std::max(ceilDiv(m, wanted), least);
      partRows = partOf(m, wantedRows, 8);
      if (cores_ > 1 && 2 * partRows < wantedRows)
        if (const int64_t finer = finerPartOf(m, wantedRows, 4, kFewestRows); finer < m) partRows = finer;
    }
    // Uneven register tiles cost less than cores without a part.
    const auto leavesCores = [&] {
      return steps * ceilDiv(n, partColumns) * ceilDiv(m, partRows) < std::min<int64_t>(parts, cores_);
    };
    const int64_t fewest = std::min<int64_t>(parts, cores_);
    if (columns >= 0 && leavesCores())
      partColumns = finerPartOf(n, std::min(ceilDiv(n, fewest), kMaxColumns), kTile / 2, kFewestColumns);
    if (rows >= 0 && leavesCores()) partRows = finerPartOf(m, ceilDiv(m, fewest), 4, kFewestRows);
    // Ops on the product run while it is in L2.
    const bool stored = product->getResult(0).hasOneUse() && wholeAccess(**product->getResult(0).user_begin());
    if (!stored && rows >= 0)
      partRows = std::min(partRows, partOf(m, std::max(kMinRows, processor_.l2Bytes * 3 / 8 / (4 * partColumns)), 8));
    if (columns >= 0) resizeAxis(package, columns, partColumns);
    if (rows >= 0) resizeAxis(package, rows, partRows);
    auto& semantics = package.signature.dimensionSemantics;
    semantics.assign(package.signature.grid.size(), DimensionSemantics::parallel);
    return rows >= 0 || columns >= 0;
  }

  /// Columns of a kernel whose steps along other axes share their columns, if the outermost axis is that of columns.
  bool chooseColumns(KernelPackage& package) {
    auto kernel = package.kernelFunction();
    if (planParallel(package).axes < 1 || !kernel.getArgument(0).use_empty()) return false;
    auto dims = AxisDims::of(package);
    if (!dims || !dims->free(0)) return false;
    int64_t depth = 0;
    bool onlyColumns = true;
    kernel.walk([&](tpu::MatmulOp op) {
      const auto lists = dotDimensionsOf(*op);
      bool columns = false;
      for (int64_t d : lists.rhsFree) columns |= dims->axisOf(op->getOperand(1), static_cast<size_t>(d)) == 0;
      onlyColumns &= columns && !dims->follows(op->getOperand(0), 0);
      for (int64_t d : lists.rhsContracting)
        depth = std::max(depth, shapeOf(op->getOperand(1).getType())[static_cast<size_t>(d)]);
    });
    if (!onlyColumns || depth == 0) return false;
    // Packed columns stay in the LLC for the steps that share them.
    const int64_t n = dims->extent(0), share = std::max<int64_t>(4 * kTile, n / (cores_ == 1 ? 1 : 2 * cores_));
    const int64_t kept = std::min<int64_t>(processor_.l3Bytes / 4, 8 << 20) / (4 * depth);
    const int64_t part = partOf(n, std::min({share, std::max(kTile, kept), ceilDiv(n, cores_)}), kTile);
    if (part == dims->block(0)) return false;
    resizeAxis(package, 0, part);
    return true;
  }

  const Processor& processor_;
  int cores_;
};

}  // namespace

std::optional<KernelPackage> retileMatmulGrid(const KernelPackage& package, const Processor& processor, int cores) {
  return MatmulRetiler(processor, cores).run(package);
}

}  // namespace smalti::cpu
