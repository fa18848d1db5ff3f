#include "cpu/check/Plan.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/Tiles.h"
#include "cpu/check/Copies.h"
#include "cpu/check/Definedness.h"
#include "cpu/check/Masks.h"
#include "cpu/check/Outside.h"
#include "cpu/lower/DistinctBlocks.h"
#include "cpu/lower/FirstUse.h"
#include "cpu/lower/Written.h"
#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "machine/flat/Types.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"

namespace smalti::cpu {

void CheckPlan::track(unsigned argument) {
  if (!llvm::is_contained(tracked, argument)) tracked.push_back(argument);
}

bool WindowCheck::anyOverhang() const { return std::ranges::find(overhangs, true) != overhangs.end(); }

namespace {

using Why = std::optional<NotNative>;

/// A slice on the way to `ref` may end in the padding of the last tile of an array in HBM, where nothing is defined.
bool mayReadPadding(mlir::Value ref) {
  for (mlir::Operation* op = ref.getDefiningOp(); op && op->getNumOperands() > 0;
       op = op->getOperand(0).getDefiningOp()) {
    if (!mlir::isa<tpu::MemRefSliceOp>(op)) continue;
    auto from = mlir::cast<mlir::MemRefType>(op->getOperand(0).getType());
    const auto space = machine::flat::memorySpaceOf(from);
    if (!from.hasStaticShape() || (space != machine::MemorySpace::any && space != machine::MemorySpace::hbm)) continue;
    const Shape padding = tilePadding({machine::flat::elementDType(from), machine::flat::shapeOf(from)});
    const Shape sizes = machine::flat::shapeOf(op->getResult(0).getType());
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
      : package_(package), signature_(package.signature), kernel_(package.kernelFunction()) {}

  tl::expected<CheckPlan, NotNative> plan() {
    if (Why why = ops()) return tl::unexpected(std::move(*why));
    kernel_.walk([&](tpu::EnqueueDMAOp copy) { trackSource(copy); });
    always_ = use(static_cast<int>(rank()));
    for (size_t i = 0; i < signature_.windows.size(); ++i)
      if (Why why = window(i)) return tl::unexpected(std::move(*why));
    written_ = surelyWritten(package_);
    for (size_t o = 0; o < package_.results.size(); ++o)
      if (Why why = output(o)) return tl::unexpected(std::move(*why));
    for (size_t i = 0; i < inputs(); ++i)
      if (const WindowCheck* w = find(i); w && w->anyOverhang() && !staysOutside(package_, i))
        plan_.track(argumentOf(i));
    for (unsigned s = 0; s < static_cast<unsigned>(signature_.numScratch); ++s) {
      const unsigned argument = argumentOf(signature_.windows.size()) + s;
      if (!isSemaphore(argument) && !settled(argument, 0)) plan_.track(argument);
    }
    return std::move(plan_);
  }

 private:
  size_t rank() const { return signature_.grid.size(); }
  size_t inputs() const { return static_cast<size_t>(package_.numInputs()); }
  /// Of an input or output by number, of the first scratch after the last.
  unsigned argumentOf(size_t number) const {
    return static_cast<unsigned>(rank() + static_cast<size_t>(signature_.numScalarPrefetch) + number);
  }
  bool isSemaphore(unsigned argument) const {
    return is_semaphore(machine::flat::elementDType(kernel_.getArgument(argument).getType()));
  }
  const WindowCheck* find(size_t number) const {
    for (const WindowCheck& w : plan_.windows)
      if (w.number == static_cast<int>(number)) return &w;
    return nullptr;
  }
  mlir::func::FuncOp mapOf(const Window& window) const {
    return mlir::cast<mlir::func::FuncOp>(package_.module.get().lookupSymbol(window.transform));
  }

  /// Memory must be reached only by ops whose effect is known.
  Why ops() const {
    static constexpr std::array<llvm::StringLiteral, 3> kHarmless{"tpu.log_buffer", "memref.dealloc", "func.func"};
    static constexpr std::array<llvm::StringLiteral, 4> kStructured{"scf.for", "scf.if", "scf.while", "tpu.region"};
    Why why;
    kernel_.walk([&](mlir::Operation* op) {
      const llvm::StringRef name = op->getName().getStringRef();
      if (why || llvm::is_contained(kHarmless, name)) return;
      if (op->getNumRegions() > 0 && !llvm::is_contained(kStructured, name))
        why = fmt::format("it uses {}", std::string_view(name.data(), name.size()));
      const auto isRef = [](mlir::Type t) { return mlir::isa<mlir::MemRefType>(t); };
      auto copy = mlir::dyn_cast<tpu::EnqueueDMAOp>(op);
      if (copy && mayReadPadding(copy.getSource()))
        why = "a copy may read past the end of an array";
      else if (copy && mayOverlapItself(copy))
        why = "the source and the target of a copy may be one memory";
      else if (isSynchronising(*op))
        why = cannotCheck(*op);
      else if (const MaskRule rule = maskRuleOf(*op);
               (rule == MaskRule::none && (llvm::any_of(op->getOperandTypes(), isRef) || name.contains("mxu") ||
                                           name.starts_with("tpu.matmul_"))) ||
               (llvm::any_of(op->getResultTypes(), isRef) && rule != MaskRule::ref && rule != MaskRule::allocate))
        why = fmt::format("it uses {}", std::string_view(name.data(), name.size()));
    });
    return why;
  }

  /// Parts of one ref, or arrays that are one (SM4112).
  bool mayOverlapItself(tpu::EnqueueDMAOp copy) const {
    const mlir::Value source = rootOf(copy.getSource()), target = rootOf(copy.getTarget());
    return source == target || (!package_.aliases.empty() && mlir::isa<mlir::BlockArgument>(source) &&
                                mlir::isa<mlir::BlockArgument>(target));
  }

  /// The body where every grid index from `axes` on is 0.
  BodyUse use(int axes) const {
    std::vector<bool> zero;
    for (size_t d = 0; d < rank(); ++d) zero.push_back(signature_.grid[d] == 1 || static_cast<int>(d) >= axes);
    return useInOneRun(kernel_, zero);
  }

  /// No run of the body reads what is not written: each writes before it reads, or the first one (where the indices
  /// from `axes` on are 0) leaves nothing unwritten.
  bool settled(unsigned argument, int axes) const {
    if (!always_.arguments[argument].readFirst) return true;
    const BufferUse first = use(axes).arguments[argument];
    return !first.readFirst && first.covered;
  }
  bool covered(unsigned argument, int axes) const {
    return always_.arguments[argument].covered || use(axes).arguments[argument].covered;
  }

  /// What a copy reads is not among what is known to be written first.
  void trackSource(tpu::EnqueueDMAOp copy) {
    auto root = mlir::dyn_cast<mlir::BlockArgument>(rootOf(copy.getSource()));
    if (root && isTrackable(package_, root)) plan_.track(root.getArgNumber());
  }

  // ---- windows

  Why window(size_t number) {
    if (!signature_.windows[number]) return std::nullopt;
    const Window& window = *signature_.windows[number];
    const bool isOutput = number >= inputs();
    const Shape& array = arrayOf(number).shape;
    WindowCheck w;
    w.number = static_cast<int>(number);
    w.isOutput = isOutput;
    mlir::func::FuncOp map = mapOf(window);
    for (size_t d = 0; d < window.bounds.size(); ++d) {
      if (window.bounds[d] <= 0 || array[d] <= 0) return fmt::format("{} has empty blocks", nameOf(number));
      // Element-indexed blocks may lie anywhere; those that hang over are left to the machine.
      w.overhangs.push_back(!window.elementIndexed && array[d] % window.bounds[d] != 0);
      const int64_t blocks = (array[d] + window.bounds[d] - 1) / window.bounds[d];
      w.mayBeOutside |= window.elementIndexed ||
                        !inside(map.getBody().front().getTerminator()->getOperand(static_cast<unsigned>(d)), blocks);
    }
    if (isOutput) {
      w.visitAxes = visitAxes(map);
      const std::vector<bool> told = distinguishes(map, window, signature_.grid);
      for (int a = 0; a < w.visitAxes; ++a) w.followsVisits |= !told[static_cast<size_t>(a)];
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
  const ArrayType& arrayOf(size_t number) const {
    return number < inputs() ? package_.operands[package_.operands.size() - inputs() + number]
                             : package_.results[number - inputs()];
  }

  /// A grid index with fewer points than there are blocks, or a constant.
  bool inside(mlir::Value block, int64_t blocks) const {
    if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(block)) {
      if (argument.getArgNumber() >= rank()) return false;
      const int64_t bound = signature_.grid[argument.getArgNumber()];
      return bound != kDynamicBound && bound <= blocks;
    }
    mlir::Operation* op = block.getDefiningOp();
    auto constant = op ? op->getAttrOfType<mlir::IntegerAttr>("value") : nullptr;
    return constant && op->getName().getStringRef() == "arith.constant" && constant.getInt() >= 0 &&
           constant.getInt() < blocks;
  }

  /// After the last axis with several points that the map looks at.
  int visitAxes(mlir::func::FuncOp map) const {
    auto last = static_cast<int>(rank());
    while (last > 0 && (signature_.grid[static_cast<size_t>(last - 1)] == 1 ||
                        map.getArgument(static_cast<unsigned>(last - 1)).use_empty()))
      --last;
    return last;
  }

  // ---- outputs

  Why output(size_t o) {
    const size_t number = inputs() + o;
    const unsigned argument = argumentOf(number);
    const WindowCheck* w = find(number);
    const int axes = w ? w->visitAxes : 0;
    const bool reads = !settled(argument, axes);
    const bool aliased =
        std::ranges::any_of(package_.aliases, [&](const Alias& a) { return a.output == static_cast<int>(o); });
    if (aliased) {
      if (w && mayOvertake(o, *w))
        return fmt::format("output {} is one array with an input that may be fetched before it is written back", o);
      // The array is defined, a window starts undefined.
      if (w && (reads || !covered(argument, axes)))
        return fmt::format("output {} is one array with an input, and its blocks are not surely written", o);
      return std::nullopt;
    }
    if (!reads && written_[o]) return std::nullopt;
    plan_.track(argument);
    // A block that hangs over lies in a buffer, which holds the block before.
    if (w && w->anyOverhang() && (reads || !covered(argument, axes))) plan_.resets.push_back(argument);
    return std::nullopt;
  }

  /// A window of the same array may show what output `o` has written in the step before (SM4110). Not where both show
  /// the same blocks, each in one run of steps.
  bool mayOvertake(size_t o, const WindowCheck& w) const {
    const Window& output = *signature_.windows[inputs() + o];
    const int first = static_cast<int>(package_.operands.size() - inputs());
    for (const Alias& alias : package_.aliases) {
      if (alias.output != static_cast<int>(o) || alias.operand < first) continue;
      const auto& input = signature_.windows[static_cast<size_t>(alias.operand - first)];
      if (!input || input->pipelineMode == PipelineMode::synchronous) continue;
      const bool sameBlocks = !input->elementIndexed && !output.elementIndexed && input->bounds == output.bounds &&
                              !w.followsVisits && sameMap(mapOf(*input), mapOf(output));
      if (!sameBlocks) return true;
    }
    return false;
  }

  const KernelPackage& package_;
  const KernelSignature& signature_;
  mutable mlir::func::FuncOp kernel_;
  BodyUse always_;
  std::vector<bool> written_;
  CheckPlan plan_;
};

}  // namespace

tl::expected<CheckPlan, NotNative> planChecks(const KernelPackage& package) { return Planner(package).plan(); }

}  // namespace smalti::cpu
