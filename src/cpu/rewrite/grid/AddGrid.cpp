#include "cpu/rewrite/grid/AddGrid.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/Arithmetic.h"
#include "cpu/analysis/AxisDims.h"
#include "cpu/rewrite/grid/ResizeAxis.h"
#include "ir/KernelArguments.h"
#include "ir/Tpu.h"
#include "ir/TpuOpsMxu.h"
#include "ir/Types.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace smalti::cpu {
namespace {

/// The arrays' bytes that are worth a step: they take about 20 us at 25 GB/s (a core of the processor that
/// docs/performance.md names), as long as waking a thread. The step of a kernel with products computes more per byte.
/// Chosen, not measured.
constexpr int64_t kPartBytes = 512 << 10, kProductPartBytes = 64 << 10;
/// Blocks have, if possible, a multiple of this many rows (whole tiles of a product), or, of a single row, of this many
/// elements (whole cache lines). Chosen, not measured.
constexpr int64_t kRowStep = 8, kElementStep = 1024;

int numProducts(const KernelPackage& package) {
  int count = 0;
  package.kernelFunction().walk([&](tpu::MatmulOp) { ++count; });
  return count;
}

int64_t bytesOf(const KernelPackage& package) {
  int64_t bytes = 0;
  for (const auto* arrays : {&package.operands, &package.results})
    for (const ArrayType& array : *arrays) bytes += array.bytes();
  return bytes;
}

/// Every array is one whole ref that a window can have.
bool hasWholeRefs(const KernelArguments& arguments) {
  for (size_t i = 0; i < arguments.numBlocks(); ++i) {
    const auto type = llvm::cast<mlir::MemRefType>(arguments.block(i).getType());
    const auto space = tpu::memorySpaceOf(type);
    if (space != tpu::MemorySpace::vmem && space != tpu::MemorySpace::smem) return false;
    if (arguments.windowOf(i) || shapeOf(type) != arguments.arrayOf(i).shape) return false;
  }
  return true;
}

/// For each ref, the grid axis that each of its dimensions follows, or -1.
using AxesOfRefs = std::vector<std::vector<int>>;

/// Makes dimension `d` of the first output an axis, if its blocks determine those of the other refs.
bool addAxis(const KernelPackage& package, size_t d, int axis, AxesOfRefs& axes) {
  const KernelArguments arguments(package);
  const auto dims = AxisDims::ofOutput(package, d);
  if (!dims || !dims->free(0) || dims->contracted(0)) return false;
  AxesOfRefs made = axes;
  for (size_t i = 0; i < arguments.numBlocks(); ++i) {
    const size_t rank = made[i].size();
    int following = 0;
    for (size_t k = 0; k < rank; ++k)
      if (dims->axisOf(arguments.block(i), k) == 0) {
        if (made[i][k] >= 0 || ++following > 1) return false;
        made[i][k] = axis;
      }
    if (i >= arguments.numInputs() && following != 1) return false;  // steps would write the same
  }
  axes = std::move(made);
  return true;
}

void addIndexMap(KernelPackage& package, const std::string& name, const std::vector<int>& axes, int rank) {
  mlir::ModuleOp module = *package.module;
  auto b = mlir::OpBuilder::atBlockEnd(module.getBody());
  const auto i32 = b.getI32Type();
  const llvm::SmallVector<mlir::Type> indices(static_cast<size_t>(rank), i32), coordinates(axes.size(), i32);
  const auto loc = package.kernelFunction().getLoc();
  auto map = mlir::func::FuncOp::create(b, loc, name, b.getFunctionType(indices, coordinates));
  b.setInsertionPointToStart(map.addEntryBlock());
  const mlir::Value zero = mlir::arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
  llvm::SmallVector<mlir::Value> returned;
  for (const int axis : axes) returned.push_back(axis < 0 ? zero : map.getArgument(static_cast<unsigned>(axis)));
  mlir::func::ReturnOp::create(b, loc, returned);
}

/// One step per axis, with the arrays as blocks.
KernelPackage inOneStep(const KernelPackage& package, const AxesOfRefs& axes, int rank) {
  KernelPackage made = package.copy();
  auto kernel = made.kernelFunction();
  const auto i32 = mlir::IntegerType::get(kernel.getContext(), 32);
  for (int axis = 0; axis < rank; ++axis)
    if (mlir::failed(kernel.insertArgument(static_cast<unsigned>(axis), i32, {}, kernel.getLoc()))) return made;
  made.signature.grid.assign(static_cast<size_t>(rank), 1);
  made.signature.dimensionSemantics.assign(static_cast<size_t>(rank), DimensionSemantics::parallel);
  const KernelArguments arguments(made);
  for (size_t i = 0; i < axes.size(); ++i) {
    const std::string name = fmt::format("{}_block_{}", kernel.getSymName().str(), i);
    made.signature.windows[i] = Window{.transform = name, .bounds = arguments.arrayOf(i).shape};
    addIndexMap(made, name, axes[i], rank);
  }
  return made;
}

/// Size of a block, for about `parts` of them, a multiple of `step` unless blocks are smaller than that.
int64_t blockSize(int64_t extent, int64_t parts, int64_t step) {
  const int64_t least = ceilDiv(extent, parts);
  if (least <= step / 2) return least;
  const int64_t wanted = roundUp(least, step);
  for (int64_t block = wanted; block >= std::max(step, wanted / 2); block -= step)
    if (extent % block == 0) return block;
  return wanted;
}

}  // namespace

std::optional<KernelPackage> divideIntoSteps(const KernelPackage& package, int64_t parts) {
  const KernelSignature& s = package.signature;
  const KernelArguments arguments(package);
  if (!s.grid.empty() || s.numScalarPrefetch > 0 || package.results.empty() || !package.aliases.empty() ||
      !hasWholeRefs(arguments))
    return std::nullopt;
  const bool isProduct = numProducts(package) == 1;
  const Shape& shape = arguments.arrayOf(arguments.numInputs()).shape;
  AxesOfRefs axes;
  for (size_t i = 0; i < arguments.numBlocks(); ++i) axes.emplace_back(arguments.arrayOf(i).shape.size(), -1);
  std::vector<int64_t> extents;
  // Parts of rows would not be contiguous; only a product has a use for them.
  const bool dividesRows = isProduct || shape.size() == 1;
  for (size_t d = 0; d + (dividesRows ? 0 : 1) < shape.size(); ++d)
    if (addAxis(package, d, static_cast<int>(extents.size()), axes)) extents.push_back(shape[d]);
  if (extents.empty()) return std::nullopt;

  KernelPackage made = inOneStep(package, axes, static_cast<int>(extents.size()));
  if (!independentSteps(made)) return std::nullopt;
  if (isProduct) return made;
  // The outermost axis that is long enough, else the longest.
  auto longest = std::ranges::find_if(extents, [&](int64_t extent) { return extent >= parts; });
  if (longest == extents.end()) longest = std::ranges::max_element(extents);
  const int axis = static_cast<int>(longest - extents.begin());
  const auto dims = AxisDims::of(made);
  if (!dims || !dims->free(axis) || dims->contracted(axis)) return std::nullopt;
  resizeAxis(made, axis, blockSize(*longest, parts, shape.size() == 1 ? kElementStep : kRowStep));
  return made;
}

std::optional<KernelPackage> addGrid(const KernelPackage& package, int cores) {
  if (cores < 2) return std::nullopt;
  const int64_t bytes = numProducts(package) > 0 ? kProductPartBytes : kPartBytes;
  const int64_t parts = std::min<int64_t>(bytesOf(package) / bytes, kPartsPerCore * cores);
  return parts < 2 ? std::nullopt : divideIntoSteps(package, parts);
}

}  // namespace smalti::cpu
