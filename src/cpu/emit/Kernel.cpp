#include "cpu/emit/Kernel.h"

#include <algorithm>
#include <utility>

#include "base/Tiles.h"
#include "cpu/emit/EdgeCopy.h"
#include "cpu/emit/Measured.h"
#include "cpu/emit/Streaming.h"
#include "cpu/emit/WindowCode.h"
#include "cpu/emit/elements/Elementwise.h"
#include "cpu/emit/ops/ReadOutside.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOpsSync.h"
#include "llvm/IR/Module.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu {
namespace {

/// One windowed operand while code is emitted.
struct Windowed : EmittedWindow {
  const BlockLocality* locality = nullptr;
  Reg lastBlock = nullptr;  ///< slots with the last block's starts, if changes of the block must be detected
  Reg next = nullptr;       ///< address of the next step's block
  Reg overlaps = nullptr;   ///< i1, of inputs whose block may be entirely outside the array: it is not
  int number = 0;           ///< among the operands
};

class KernelEmitter {
 public:
  KernelEmitter(const PlannedKernel& planned, llvm::Module& module, llvm::Function* function,
                const Processor& processor, NativeReport& report, FallbackOps& interpreted, LowerOptions options)
      : package_(planned.package()),
        kernel_(package_.kernelFunction()),
        arguments_(package_),
        l_(module, function, processor, planned.body, report, interpreted, options),
        b_(l_.b),
        plan_(planned.plan.grid),
        locality_(planned.plan.locality),
        shared_(plan_.sharedAxes) {}

  tl::expected<LoweredKernel, Unsupported> run() {
    lowered_.written = plan_.written;
    auto* entry = llvm::BasicBlock::Create(b_.getContext(), "entry", l_.function);
    b_.SetInsertPoint(entry);
    l_.context = l_.function->getArg(0);
    l_.arenaBase = l_.function->getArg(2);
    if (auto ok = arguments(); !ok) return tl::unexpected(ok.error());
    if (auto ok = grid(); !ok) return tl::unexpected(ok.error());
    b_.CreateRet(b_.getInt32(0));
    finishStreaming(*l_.function);
    outlineShared(l_);
    lowered_.sharedBounds.assign(signature().grid.begin(), signature().grid.begin() + shared_);
    for (const auto& m : l_.forPeers) lowered_.undefined.push_back({m.place->offset, m.type});
    lowered_.arenaBytes = l_.arena.peakBytes();
    l_.report.arenaBytes = lowered_.arenaBytes;
    return std::move(lowered_);
  }

 private:
  const KernelSignature& signature() const { return package_.signature; }
  size_t rank() const { return signature().grid.size(); }

  View arrayView(size_t number, DType dtype, const Shape& shape, int memory) {
    View v;
    v.dtype = dtype;
    v.shape = shape;
    Reg slot = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), l_.function->getArg(1), number);
    v.base = b_.CreateLoad(b_.getPtrTy(), slot);
    v.strides = denseStrides(b_, shape);
    v.memory = memory;
    return v;
  }

  /// `undefined`: the dtype with the signedness of what the buffer stands for.
  View undefinedBuffer(DType dtype, DType undefined, const Shape& shape) {
    View v = l_.allocate(dtype, shape);
    v.memory = l_.newMemory();
    // Others may add to a semaphore before this device begins: it is 0 before any does.
    if (is_semaphore(dtype) && !l_.options.devices)
      l_.fill(v, l_.index(0));
    else
      lowered_.undefined.push_back({v.owner->offset, {undefined, shape}});
    return v;
  }

  NativeResult arguments() {
    size_t operand = 0;
    kernel_.walk([&](tpu::SemBarrierOp) {
      if (!l_.barrier.base) l_.barrier = undefinedBuffer(DType::semaphore, DType::semaphore, {});
    });
    for (int64_t bound : signature().grid) {
      if (bound != kDynamicBound) {
        bounds_.push_back(l_.index(bound));
        continue;
      }
      const View scalar = arrayView(operand++, DType::i32, {}, l_.newMemory());
      bounds_.push_back(b_.CreateSExt(loadElements(b_, DType::i32, scalar.base, 1), b_.getInt64Ty()));
    }
    l_.gridBounds = bounds_;
    for (size_t i = 0; i < arguments_.numScalarPrefetch(); ++i, ++operand) {
      const mlir::Value ref = arguments_.scalarPrefetch(i);
      l_.setRef(ref, arrayView(operand, elementDType(ref.getType()), shapeOf(ref.getType()), l_.newMemory()));
    }
    for (size_t i = 0; i < arguments_.numBlocks(); ++i, ++operand) blockArgument(i, operand);
    for (size_t i = 0; i < arguments_.numScratch(); ++i) {
      const mlir::Value ref = arguments_.scratch(i);
      auto type = llvm::cast<mlir::MemRefType>(ref.getType());
      l_.setRef(ref, undefinedBuffer(elementDType(type), elementDType(type), shapeOf(type)));
    }
    return {};
  }

  void blockArgument(size_t i, size_t operand) {
    const BlockPlan& plan = plan_.blocks[i];
    mlir::BlockArgument argument = arguments_.block(i);
    const ArrayType& array = arguments_.arrayOf(i);
    const DType dtype = elementDType(argument.getType());
    View view = arrayView(operand, dtype, array.shape, l_.newMemory());
    if (const auto& window = arguments_.windowOf(i)) {
      windowArgument(i, *window, std::move(view));
      return;
    }
    if (plan.isPadded) view.padding = tilePadding({dtype, array.shape});
    if (plan.access == BlockAccess::privateCopy) {
      const View whole = std::exchange(view, l_.allocate(dtype, array.shape));
      view.memory = l_.newMemory();
      l_.copy(whole, view);
    }
    if (plan.sameMemory) view.memory = l_.ref(arguments_.input(*plan.sameMemory)).memory;
    l_.setRef(argument, view);
  }

  void windowArgument(size_t i, const Window& window, View view) {
    const BlockPlan& plan = plan_.blocks[i];
    const BlockLocality& locality = locality_[i];
    const ArrayType& array = arguments_.arrayOf(i);
    Windowed w;
    w.plan = &plan;
    w.number = static_cast<int>(i);
    w.locality = &locality;
    w.window = &window;
    w.array = std::move(view);
    w.undefined = storage_bytes(array.dtype) == storage_bytes(w.array.dtype) ? array.dtype : w.array.dtype;
    w.array.hints.nonTemporal = locality.isNonTemporal;
    if (locality.isNonTemporal) assumeLineAligned(*llvm::cast<llvm::LoadInst>(w.array.base));
    w.array.hints.inDram = locality.isInDram;
    if (plan.hasBuffer()) w.buffer = undefinedBuffer(w.array.dtype, w.undefined, window.bounds);
    if (plan.tracksBlock) {
      w.lastBlock = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), window.bounds.size()));
      for (size_t d = 0; d < window.bounds.size(); ++d)
        b_.CreateStore(b_.getInt64(static_cast<uint64_t>(INT64_MIN)), blockSlot(w, d));
    }
    windows_.push_back({std::move(w), arguments_.block(i)});
  }
  Reg blockSlot(const Windowed& w, size_t d) {
    return b_.CreateConstInBoundsGEP2_64(llvm::ArrayType::get(b_.getInt64Ty(), w.window->bounds.size()), w.lastBlock, 0,
                                         d);
  }

  // ---- the grid

  /// Loops around an empty one could have too many iterations to wait for: all are skipped.
  NativeResult grid() {
    Reg hasPoints = b_.getTrue();
    for (Reg bound : bounds_) hasPoints = b_.CreateAnd(hasPoints, b_.CreateICmpSGT(bound, l_.index(0)));
    if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(hasPoints); known && known->isOne()) return grid(0);
    NativeResult ok;
    l_.when(hasPoints, [&] { ok = grid(0); });
    return ok;
  }

  NativeResult grid(size_t d) {
    if (d == 0 && shared_ > 0) {
      NativeResult ok;
      l_.loop(l_.function->getArg(3), l_.function->getArg(4), l_.index(1), [&](Reg point) {
        Reg rest = point;
        std::vector<Reg> at(static_cast<size_t>(shared_));
        for (const size_t a : plan_.sharedOrder) {
          at[a] = b_.CreateURem(rest, bounds_[a]);
          rest = b_.CreateUDiv(rest, bounds_[a]);
        }
        indices_ = at;
        ok = grid(static_cast<size_t>(shared_));
      });
      return ok;
    }
    if (d == rank()) return step();
    NativeResult ok;
    l_.loop(l_.index(0), bounds_[d], l_.index(1), [&](Reg i) {
      indices_.resize(d);
      indices_.push_back(i);
      ok = grid(d + 1);
    });
    return ok;
  }

  NativeResult step() {
    for (size_t d = 0; d < rank(); ++d)
      l_.setScalar(kernel_.getArgument(static_cast<unsigned>(d)), b_.CreateTrunc(indices_[d], b_.getInt32Ty()));
    measureStep(l_, signature().grid, bounds_, indices_);
    for (auto& [w, argument] : windows_) {
      if (auto ok = computeBlockOffset(w); !ok) return ok;
      if (auto ok = bindWindow(w, argument); !ok) return ok;
    }
    if (auto ok = l_.lowerBlock(kernel_.getBody().front()); !ok) return ok;
    for (auto& [w, argument] : windows_)
      if (w.plan->isOutput && w.plan->isPartial)
        l_.when(b_.CreateNot(w.whole), [&, &w = w] { storeInside(l_, {w.array, w.buffer, w.starts}); });
    return {};
  }

  /// Computes the position of this step's block.
  NativeResult computeBlockOffset(Windowed& w) {
    if (w.locality->prefetchesNext) {
      std::vector<Reg> next = indices_;
      const size_t a = plan_.fastestAxis;
      Reg last = b_.CreateSub(bounds_[a], l_.index(1));
      next[a] = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(next[a], l_.index(1)), last);
      const auto starts = blockStarts(l_, arguments_, *w.window, next);
      if (!starts) return tl::unexpected(starts.error());
      w.next = elementPointer(b_, w.array, *starts);
    }
    auto starts = blockStarts(l_, arguments_, *w.window, indices_);
    if (!starts) return tl::unexpected(std::move(starts.error()));
    w.starts = std::move(*starts);
    w.whole = isWholeBlock(l_, w);
    for (const size_t d : w.plan->maybeOutside) {
      if (w.plan->isOutput)
        l_.require(overlapsArray(l_, w, d), KernelStatus::outside);
      else
        w.overlaps = b_.CreateAnd(w.overlaps ? w.overlaps : b_.getTrue(), overlapsArray(l_, w, d));
    }
    return {};
  }

  /// Binds the kernel's ref to the block: to the array itself if the block is inside it.
  NativeResult bindWindow(Windowed& w, mlir::BlockArgument argument) {
    View view;
    if (w.overlaps && w.plan->hasBuffer()) inputBlockFrom(l_, w.number, w.array, w.undefined, w.overlaps, true);
    if (w.plan->access == BlockAccess::copied) {
      l_.when(blockChanges(w), [&] { fetch(w); });
      view = w.buffer;
    } else if (w.plan->isPartial) {
      Reg needsFetch = b_.CreateNot(w.whole);
      if (w.lastBlock) needsFetch = b_.CreateAnd(needsFetch, blockChanges(w));
      if (!w.plan->isOutput || w.lastBlock) l_.when(needsFetch, [&] { fetch(w); });
      view = arrayOrBuffer(b_, w);
    } else {
      view = slice(b_, w.array, w.starts, w.window->bounds);
      if (w.overlaps) {
        view.base = inputBlockFrom(l_, w.number, view, w.undefined, w.overlaps, false);
        w.whole = w.overlaps;
      }
    }
    if (w.locality->reuse) markReuse(w, view);
    view.memory = w.plan->hasBuffer() ? w.buffer.memory : w.array.memory;
    if (w.next)
      view.hints.nextStepOffset =
          b_.CreateSub(b_.CreatePtrToInt(w.next, b_.getInt64Ty()), b_.CreatePtrToInt(view.base, b_.getInt64Ty()));
    auto shaped = inShapeOf(b_, view, argument);
    if (!shaped) return tl::unexpected(std::move(shaped.error()));
    l_.setRef(argument, std::move(*shaped));
    return {};
  }

  /// Whether this step's block differs from the last step's, which it replaces.
  Reg blockChanges(const Windowed& w) {
    Reg changed = b_.getFalse();
    for (size_t d = 0; d < w.starts.size(); ++d) {
      Reg slot = blockSlot(w, d);
      changed = b_.CreateOr(changed, b_.CreateICmpNE(b_.CreateLoad(b_.getInt64Ty(), slot), w.starts[d]));
      b_.CreateStore(w.starts[d], slot);
    }
    return changed;
  }

  void markReuse(const Windowed& w, View& view) {
    ReuseInfo& reuse = view.reuse;
    reuse.isInvariant = w.whole;
    for (const size_t d : *w.locality->reuse) {
      const int64_t size = w.window->bounds[d], blocks = w.array.shape[d] / size;
      Reg block = b_.CreateUDiv(w.starts[d], l_.index(size));
      reuse.block = reuse.block ? b_.CreateAdd(b_.CreateMul(reuse.block, l_.index(blocks)), block) : block;
      reuse.blocks *= blocks;
    }
    // A partial block is not among the reused ones.
    if (reuse.block) reuse.block = b_.CreateSelect(w.whole, reuse.block, l_.index(0));
  }

  void fetch(Windowed& w) {
    fetchInside(l_, {w.array, w.buffer, w.starts},
                w.plan->isPartial || w.overlaps ? undefinedElement(b_, w.undefined, l_.options.poison) : nullptr);
  }

  const KernelPackage& package_;
  mlir::func::FuncOp kernel_;
  KernelArguments arguments_;
  NativeLowering l_;
  Builder& b_;
  const GridPlan& plan_;
  const std::vector<BlockLocality>& locality_;
  const int shared_;
  std::vector<Reg> bounds_, indices_;
  std::vector<std::pair<Windowed, mlir::BlockArgument>> windows_;
  LoweredKernel lowered_;
};

}  // namespace

tl::expected<LoweredKernel, Unsupported> lowerKernel(const PlannedKernel& planned, llvm::Module& module,
                                                     const Processor& processor, NativeReport& report,
                                                     FallbackOps& interpreted, LowerOptions options) {
  const KernelPlan& plan = planned.plan;
  report.plan = std::make_shared<const KernelPlan>(plan);
  report.sharedAxes = plan.grid.sharedAxes;
  report.sequentialReason = plan.sequentialReason;
  for (const ProductPlan& product : plan.products) report.matmuls.push_back(text(product));
  auto& c = module.getContext();
  auto* pointer = llvm::PointerType::get(c, 0);
  auto* wide = llvm::Type::getInt64Ty(c);
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getInt32Ty(c), {pointer, pointer, pointer, wide, wide}, false),
      llvm::Function::ExternalLinkage, kKernelSymbol, module);
  function->addFnAttr("target-features", processor.features);
  return KernelEmitter(planned, module, function, processor, report, interpreted, options).run();
}

}  // namespace smalti::cpu
