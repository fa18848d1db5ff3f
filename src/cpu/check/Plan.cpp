#include "cpu/check/Plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/Tiles.h"
#include "cpu/analysis/MustWrite.h"
#include "cpu/analysis/ReadBeforeWrite.h"
#include "cpu/check/Copies.h"
#include "cpu/check/Definedness.h"
#include "cpu/check/Masks.h"
#include "cpu/check/Outside.h"
#include "ir/BlockGeometry.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "ir/facts/IndexMaps.h"
#include "ir/facts/OpFamilies.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"

namespace smalti::cpu {

void CheckPlan::track(unsigned argument) {
  if (!llvm::is_contained(tracked, argument)) tracked.push_back(argument);
}

bool WindowCheck::anyPartial() const { return std::ranges::find(isPartial, true) != isPartial.end(); }

namespace {

using Why = std::optional<Unsupported>;

/// Its accumulators and queues keep values between ops.
bool usesMatrixUnit(mlir::Operation& op) {
  return mlir::isa<tpu::MatmulPushRhsOp, tpu::MatmulAccLhsOp, tpu::MatmulPopOp, tpu::MatmulLhsFifoOp,
                   tpu::MatmulPopFifoOp>(op);
}

/// A slice on the way to `ref` may end in the padding of the last tile of an array in HBM, where nothing is defined.
bool mayReadPadding(mlir::Value ref) {
  for (mlir::Operation* op = ref.getDefiningOp(); op && op->getNumOperands() > 0;
       op = op->getOperand(0).getDefiningOp()) {
    if (!mlir::isa<tpu::MemRefSliceOp>(op)) continue;
    auto from = mlir::cast<mlir::MemRefType>(op->getOperand(0).getType());
    const auto space = tpu::memorySpaceOf(from);
    if (!from.hasStaticShape() || (space != tpu::MemorySpace::any && space != tpu::MemorySpace::hbm)) continue;
    const Shape padding = tilePadding({elementDType(from), shapeOf(from)});
    const Shape sizes = shapeOf(op->getResult(0).getType());
    for (size_t d = 0; d < padding.size(); ++d) {
      mlir::APInt start;
      const auto axis = static_cast<unsigned>(d);
      const bool known = mlir::matchPattern(op->getOperand(1 + axis), mlir::m_ConstantInt(&start));
      if (padding[d] > 0 && (sizes[d] < 0 || !known || start.getSExtValue() + sizes[d] > from.getDimSize(axis)))
        return true;
    }
  }
  return false;
}

class Planner {
 public:
  explicit Planner(const KernelPackage& package)
      : package_(package), signature_(package.signature), arguments_(package), kernel_(arguments_.function()) {}

  tl::expected<CheckPlan, Unsupported> plan() {
    if (Why why = ops()) return tl::unexpected(std::move(*why));
    kernel_.walk([&](tpu::EnqueueDMAOp copy) { trackSource(copy); });
    always_ = use(static_cast<int>(rank()));
    for (size_t i = 0; i < signature_.windows.size(); ++i)
      if (Why why = window(i)) return tl::unexpected(std::move(*why));
    written_ = mustWrite(package_);
    for (size_t o = 0; o < package_.results.size(); ++o)
      if (Why why = output(o)) return tl::unexpected(std::move(*why));
    for (size_t i = 0; i < inputs(); ++i)
      if (const WindowCheck* w = find(i); w && w->anyPartial() && !staysOutside(package_, i))
        plan_.track(argumentOf(i));
    for (size_t s = 0; s < arguments_.numScratch(); ++s) {
      const unsigned argument = arguments_.scratch(s).getArgNumber();
      if (!isSemaphore(argument) && !isWrittenFirst(argument, 0)) plan_.track(argument);
    }
    return std::move(plan_);
  }

 private:
  size_t rank() const { return signature_.grid.size(); }
  size_t inputs() const { return arguments_.numInputs(); }
  unsigned argumentOf(size_t block) const { return arguments_.block(block).getArgNumber(); }
  bool isSemaphore(unsigned argument) const {
    return is_semaphore(elementDType(kernel_.getArgument(argument).getType()));
  }
  const WindowCheck* find(size_t number) const {
    for (const WindowCheck& w : plan_.windows)
      if (w.number == static_cast<int>(number)) return &w;
    return nullptr;
  }

  /// Memory must be reached only by ops whose effect is known.
  Why ops() const {
    Why why;
    kernel_.walk([&](mlir::Operation* op) {
      const llvm::StringRef name = op->getName().getStringRef();
      if (why || mlir::isa<tpu::LogBufferOp, mlir::memref::DeallocOp, mlir::func::FuncOp>(op)) return;
      if (op->getNumRegions() > 0 &&
          !mlir::isa<mlir::scf::ForOp, mlir::scf::IfOp, mlir::scf::WhileOp, tpu::RegionOp>(op))
        why = fmt::format("it uses {}", std::string_view(name.data(), name.size()));
      const auto isRef = [](mlir::Type t) { return mlir::isa<mlir::MemRefType>(t); };
      auto copy = mlir::dyn_cast<tpu::EnqueueDMAOp>(op);
      if (copy && mayReadPadding(copy.getSource()))
        why = "a copy may read past the end of an array";
      else if (copy && mayOverlapItself(copy))
        why = "the source and the target of a copy may be the same memory";
      else if (isSynchronising(*op))
        why = cannotCheck(*op);
      else if (const MaskRule rule = maskRuleOf(*op);
               (rule == MaskRule::none && (llvm::any_of(op->getOperandTypes(), isRef) || usesMatrixUnit(*op))) ||
               (llvm::any_of(op->getResultTypes(), isRef) && rule != MaskRule::ref && rule != MaskRule::allocate))
        why = fmt::format("it uses {}", std::string_view(name.data(), name.size()));
    });
    return why;
  }

  /// Parts of one ref, or arrays that are one (SM4112).
  bool mayOverlapItself(tpu::EnqueueDMAOp copy) const {
    const mlir::Value source = memoryOf(copy.getSource()), target = memoryOf(copy.getTarget());
    return source == target || (!package_.aliases.empty() && mlir::isa<mlir::BlockArgument>(source) &&
                                mlir::isa<mlir::BlockArgument>(target));
  }

  /// The body where every grid index from `axes` on is 0.
  BodyAccesses use(int axes) const {
    std::vector<bool> zero;
    for (size_t d = 0; d < rank(); ++d) zero.push_back(signature_.grid[d] == 1 || static_cast<int>(d) >= axes);
    return accessesOfOneRun(kernel_, zero);
  }

  /// No run of the body reads unwritten memory: each writes before it reads, or the first one (where the indices
  /// from `axes` on are 0) writes all of it.
  bool isWrittenFirst(unsigned argument, int axes) const {
    if (!always_.arguments[argument].readFirst) return true;
    const BufferAccesses first = use(axes).arguments[argument];
    return !first.readFirst && first.covered;
  }
  bool covered(unsigned argument, int axes) const {
    return always_.arguments[argument].covered || use(axes).arguments[argument].covered;
  }

  /// The analysis does not cover the source of a copy, so it is tracked.
  void trackSource(tpu::EnqueueDMAOp copy) {
    auto root = mlir::dyn_cast<mlir::BlockArgument>(memoryOf(copy.getSource()));
    if (root && isTrackable(package_, root)) plan_.track(root.getArgNumber());
  }

  // ---- windows

  Why window(size_t number) {
    if (!signature_.windows[number]) return std::nullopt;
    const Window& window = *signature_.windows[number];
    const bool isOutput = number >= inputs();
    const Shape& array = arguments_.arrayOf(number).shape;
    WindowCheck w;
    w.number = static_cast<int>(number);
    w.isOutput = isOutput;
    const IndexMapFacts map(arguments_.indexMap(window), rank());
    const BlockGeometry geometry(window, array);
    for (size_t d = 0; d < window.bounds.size(); ++d) {
      if (window.bounds[d] <= 0 || array[d] <= 0) return fmt::format("{} has empty blocks", nameOf(number));
      // Element-indexed blocks may begin anywhere; partial ones are left to the machine.
      w.isPartial.push_back(!window.elementIndexed && geometry.hasPartialBlock(d));
      w.mayBeOutside |= window.elementIndexed || !map.staysIn(d, geometry.numBlocks(d), signature_.grid);
    }
    if (isOutput) {
      w.visitAxes = visitAxes(map);
      const std::vector<bool> injective = injectiveAxes(map, window, signature_.grid);
      for (int a = 0; a < w.visitAxes; ++a) w.followsVisits |= !injective[static_cast<size_t>(a)];
      if (w.followsVisits && window.elementIndexed)
        return fmt::format("{} has element-indexed blocks that may overlap", nameOf(number));
      if (w.followsVisits) {
        w.visitAxes = static_cast<int>(rank());
        w.mayBeOutside = true;
      }
    }
    plan_.windows.push_back(std::move(w));
    return std::nullopt;
  }

  std::string nameOf(size_t number) const {
    return number < inputs() ? fmt::format("input {}", number) : fmt::format("output {}", number - inputs());
  }

  /// One past the last axis with several points that the map uses.
  int visitAxes(const IndexMapFacts& map) const {
    auto last = static_cast<int>(rank());
    while (last > 0 &&
           (signature_.grid[static_cast<size_t>(last - 1)] == 1 || !map.uses(static_cast<size_t>(last - 1))))
      --last;
    return last;
  }

  // ---- outputs

  Why output(size_t o) {
    const size_t number = inputs() + o;
    const unsigned argument = argumentOf(number);
    const WindowCheck* w = find(number);
    const int axes = w ? w->visitAxes : 0;
    const bool reads = !isWrittenFirst(argument, axes);
    if (arguments_.isAliased(o)) {
      if (w && mayOvertake(o, *w))
        return fmt::format("output {} is one array with an input that may be fetched before it is written back", o);
      // The array is defined, a window starts undefined.
      if (w && (reads || !covered(argument, axes)))
        return fmt::format("output {} is aliased with an input, and its blocks may not be fully written", o);
      return std::nullopt;
    }
    if (!reads && written_[o]) return std::nullopt;
    plan_.track(argument);
    // A partial block is in a buffer, which still holds the previous block.
    if (w && w->anyPartial() && (reads || !covered(argument, axes))) plan_.resets.push_back(argument);
    return std::nullopt;
  }

  /// A window of the same array may show what output `o` has written in the step before (SM4110). Not where both show
  /// the same blocks, each in one run of steps.
  bool mayOvertake(size_t o, const WindowCheck& w) const {
    const auto i = arguments_.aliasedInput(o);
    if (!i) return false;
    const Window& output = *arguments_.windowOf(inputs() + o);
    const auto& input = arguments_.windowOf(*i);
    if (!input || input->pipelineMode == PipelineMode::synchronous) return false;
    const bool sameBlocks = !input->elementIndexed && !output.elementIndexed && input->bounds == output.bounds &&
                            !w.followsVisits && sameIndexMap(arguments_.indexMap(*input), arguments_.indexMap(output));
    return !sameBlocks;
  }

  const KernelPackage& package_;
  const KernelSignature& signature_;
  const KernelArguments arguments_;
  mutable mlir::func::FuncOp kernel_;
  BodyAccesses always_;
  std::vector<bool> written_;
  CheckPlan plan_;
};

}  // namespace

tl::expected<CheckPlan, Unsupported> planChecks(const KernelPackage& package) { return Planner(package).plan(); }

}  // namespace smalti::cpu
