#include "cpu/plan/PlanKernel.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/Tiles.h"
#include "cpu/analysis/MustWrite.h"
#include "cpu/analysis/Parallel.h"
#include "cpu/ops/SharedCopies.h"
#include "cpu/plan/BodyPlanner.h"
#include "cpu/rewrite/Passes.h"
#include "ir/KernelArguments.h"
#include "ir/Tpu.h"
#include "ir/TpuOpsSync.h"
#include "ir/Types.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace smalti::cpu {
namespace {

using tpu::MemorySpace;

/// Its name in messages: "HBM".
std::string nameOf(MemorySpace space) { return tpu::stringifyMemorySpace(space).upper(); }

/// Plans the body of a kernel whose grid and locality are planned: what is known of the memory of its arguments, then
/// its ops.
class KernelPlanner {
 public:
  KernelPlanner(const KernelPackage& package, const KernelPlan& plan, const Processor& processor, bool devices,
                int stepThreads)
      : package_(package),
        grid_(plan.grid),
        locality_(plan.locality),
        kernel_(package.kernelFunction()),
        arguments_(package),
        body_(processor, devices, stepThreads, kernel_) {
    bool isChecked = false, isWorthwhile = false;
    kernel_.walk([&](tpu::EnqueueDMAOp copy) {
      const Shape shape = shapeOf(copy.getSource().getType());
      const bool isDynamic = std::ranges::find(shape, kDynamicSize) != shape.end();
      isChecked |= copy->hasAttr(kHazardChecked);
      isWorthwhile |=
          isDynamic || ArrayType{elementDType(copy.getSource().getType()), shape}.bytes() >= kFewestSharedBytes;
    });
    // The checks rely on copies that are complete when they start.
    body_.plan.copiesLater = stepThreads > 1 && isWorthwhile && !isChecked;
  }

  NativeResult run() {
    if (auto ok = checkScratch(); !ok) return ok;
    planArguments();
    // An axis with a single step has a constant index, unless threads share it.
    for (size_t d = 0; d < bounds().size(); ++d) setIndex(kernel_.getArgument(static_cast<unsigned>(d)), d);
    for (size_t i = 0; i < arguments_.numBlocks(); ++i)
      if (arguments_.windowOf(i))
        if (auto ok = planWindow(i); !ok) return ok;
    return body_.planBlock(kernel_.getBody().front());
  }

  BodyPlanner& body() { return body_; }

 private:
  const std::vector<int64_t>& bounds() const { return package_.signature.grid; }

  void setIndex(mlir::Value index, size_t axis) {
    body_.setScalar(index);
    const bool single = bounds()[axis] == 1 && axis >= static_cast<size_t>(grid_.sharedAxes);
    body_.integers.set(index, single ? KnownNumber(0) : std::nullopt);
  }

  MemoryView allocated(DType dtype, const Shape& shape) { return body_.newMemory(BodyPlanner::allocate(dtype, shape)); }

  /// Scratch is memory of the core.
  NativeResult checkScratch() const {
    for (size_t i = 0; i < arguments_.numScratch(); ++i) {
      const auto space = tpu::memorySpaceOf(llvm::cast<mlir::MemRefType>(arguments_.scratch(i).getType()));
      if (space != MemorySpace::vmem && space != MemorySpace::smem && space != MemorySpace::semaphore_mem)
        return unsupported(fmt::format("scratch {} is in {} memory", i, space ? nameOf(*space) : "unknown"));
    }
    return {};
  }

  void planArguments() {
    kernel_.walk([&](tpu::SemBarrierOp) {
      if (!body_.barrier) body_.barrier = allocated(DType::semaphore, {});
    });
    for (const int64_t bound : bounds())
      body_.gridBounds.push_back(bound == kDynamicBound ? std::nullopt : KnownNumber(bound));
    for (size_t i = 0; i < arguments_.numScalarPrefetch(); ++i) {
      const mlir::Value ref = arguments_.scalarPrefetch(i);
      body_.setRef(ref, body_.newMemory(denseMemory(elementDType(ref.getType()), shapeOf(ref.getType()))));
    }
    for (size_t i = 0; i < arguments_.numBlocks(); ++i) planBlockArgument(i);
    for (size_t i = 0; i < arguments_.numScratch(); ++i) {
      const mlir::Value ref = arguments_.scratch(i);
      body_.setRef(ref, allocated(elementDType(ref.getType()), shapeOf(ref.getType())));
    }
  }

  void planBlockArgument(size_t i) {
    const BlockPlan& plan = grid_.blocks[i];
    const DType dtype = elementDType(arguments_.block(i).getType());
    const Shape& shape = arguments_.arrayOf(i).shape;
    MemoryView array = body_.newMemory(denseMemory(dtype, shape));
    if (const auto& window = arguments_.windowOf(i)) {
      array.isNonTemporal = locality_[i].isNonTemporal;
      array.isInDram = locality_[i].isInDram;
      arrays_.push_back(std::move(array));
      buffers_.push_back(plan.hasBuffer() ? allocated(dtype, window->bounds) : MemoryView());
      return;
    }
    arrays_.emplace_back();
    buffers_.emplace_back();
    if (plan.isPadded) array.padding = tilePadding({dtype, shape});
    if (plan.access == BlockAccess::privateCopy) array = allocated(dtype, shape);
    if (plan.sameMemory) array.memory = body_.ref(arguments_.input(*plan.sameMemory)).memory;
    body_.setRef(arguments_.block(i), std::move(array));
  }

  /// The starts of the window's block in the array.
  tl::expected<std::vector<KnownNumber>, Unsupported> planIndexMap(const Window& window) {
    mlir::Block& map = arguments_.indexMap(window).getBody().front();
    for (unsigned a = 0; a < map.getNumArguments(); ++a) {
      const mlir::Value argument = map.getArgument(a);
      if (a < bounds().size())
        setIndex(argument, a);
      else
        body_.setRef(argument, MemoryView(body_.ref(kernel_.getArgument(a))));
    }
    for (mlir::Operation& op : map.without_terminator()) {
      if (llvm::isa<mlir::arith::ConstantOp>(op)) continue;
      if (auto ok = body_.planOp(op); !ok) return tl::unexpected(std::move(ok.error()));
    }
    std::vector<KnownNumber> starts;
    for (size_t d = 0; d < window.bounds.size(); ++d) {
      const KnownNumber block = body_.integers.find(map.getTerminator()->getOperand(static_cast<unsigned>(d)));
      const int64_t low = window.elementIndexed && d < window.padLow.size() ? window.padLow[d] : 0;
      starts.push_back(!block                  ? std::nullopt
                       : window.elementIndexed ? KnownNumber(*block - low)
                                               : KnownNumber(*block * window.bounds[d]));
    }
    return starts;
  }

  NativeResult planWindow(size_t i) {
    const BlockPlan& plan = grid_.blocks[i];
    const Window& window = *arguments_.windowOf(i);
    const BlockLocality& locality = locality_[i];
    if (locality.prefetchesNext)
      if (auto next = planIndexMap(window); !next) return tl::unexpected(std::move(next.error()));
    const auto starts = planIndexMap(window);
    if (!starts) return tl::unexpected(starts.error());
    const MemoryView &array = arrays_[i], &buffer = buffers_[i];
    MemoryView view = slice(array, window.bounds);
    if (plan.access == BlockAccess::copied) {
      view = buffer;
    } else if (plan.isPartial) {
      const bool known = llvm::all_of(*starts, [](const KnownNumber& start) { return start.has_value(); });
      for (size_t d = 0; d < window.bounds.size(); ++d)
        if (window.bounds[d] != 1 && view.strides[d] != buffer.strides[d])
          view.strides[d] = known ? (isWhole(*starts, window, array) ? view : buffer).strides[d] : std::nullopt;
    }
    if (locality.reuse) {
      view.isReused = true;
      for (const size_t d : *locality.reuse) {
        view.hasBlockNumber = true;
        view.reusedBlocks *= array.shape[d] / window.bounds[d];
      }
    }
    view.memory = plan.hasBuffer() ? buffer.memory : array.memory;
    view.isNextKnown = locality.prefetchesNext;
    auto shaped = reshape(view, shapeOf(arguments_.block(i).getType()));
    if (!shaped) return unsupported("a window whose shape differs from its ref's");
    body_.setRef(arguments_.block(i), std::move(*shaped));
    return {};
  }

  static bool isWhole(const std::vector<KnownNumber>& starts, const Window& window, const MemoryView& array) {
    for (size_t d = 0; d < starts.size(); ++d)
      if (*starts[d] < 0 || *starts[d] > array.shape[d] - window.bounds[d]) return false;
    return true;
  }

  const KernelPackage& package_;
  const GridPlan& grid_;
  const std::vector<BlockLocality>& locality_;
  mlir::func::FuncOp kernel_;
  KernelArguments arguments_;
  BodyPlanner body_;
  std::vector<MemoryView> arrays_, buffers_;  ///< by block; empty for those without a window
};

/// How many threads may share the work of a step: one, if they share the steps.
int threadsOfStep(const GridPlan& grid, const KernelPackage& package, const PlanOptions& options) {
  if (!options.sharesAxes || options.devices) return 1;
  const auto& bounds = package.signature.grid;
  const auto isSingle = [](int64_t bound) { return bound == 1; };
  return std::all_of(bounds.begin(), bounds.begin() + grid.sharedAxes, isSingle) ? options.cores : 1;
}

}  // namespace

tl::expected<PlannedKernel, Unsupported> planKernel(const KernelPackage& package, const Processor& processor,
                                                    const PlanOptions& options) {
  PlannedKernel made;
  made.given = &package;
  made.rewritten = runRewritePasses(package, {processor, options.cores, options.devices}, &made.plan.rewrites);
  ParallelPlan parallel;
  if (options.sharesAxes && !options.devices) parallel = planParallel(made.package());
  const KernelPackage& chosen = made.package();
  made.plan.sequentialReason = parallel.reason;
  auto grid = planGrid(chosen, {.sharedAxes = parallel.axes, .checkBlocks = options.checkBlocks});
  if (!grid) return tl::unexpected(std::move(grid.error()));
  made.plan.grid = std::move(*grid);
  // Rewrites keep what results depend on, but may divide a store into parts that no proof joins.
  if (made.rewritten && llvm::is_contained(made.plan.grid.written, false)) made.plan.grid.written = mustWrite(package);
  made.plan.locality = planLocality(chosen, made.plan.grid, processor, options.streams && !options.devices);
  const KernelArguments arguments(chosen);
  for (size_t i = 0; i < arguments.numBlocks(); ++i)
    made.plan.blockNames.push_back(arguments.roleOf(arguments.block(i).getArgNumber()).str());
  KernelPlanner planner(chosen, made.plan, processor, options.devices, threadsOfStep(made.plan.grid, chosen, options));
  if (auto ok = planner.run(); !ok) return tl::unexpected(std::move(ok.error()));
  made.body = std::move(planner.body().plan);
  made.plan.products = std::move(planner.body().products);
  made.plan.nests = std::move(planner.body().nests);
  made.plan.copies = std::move(planner.body().copies);
  made.plan.interpreted = std::move(planner.body().interpreted);
  return made;
}

}  // namespace smalti::cpu
