#include "gpu/emit/Kernel.h"

#include <utility>

#include <fmt/format.h>

#include "base/Tiles.h"
#include "cpu/emit/WindowCode.h"
#include "cpu/emit/elements/Elementwise.h"
#include "gpu/NoDeviceCode.h"
#include "gpu/emit/BlockRunCode.h"
#include "gpu/emit/Edge.h"
#include "gpu/emit/Points.h"
#include "gpu/emit/Stream.h"
#include "gpu/emit/ops/ReduceInRegisters.h"
#include "gpu/plan/Rewrites.h"
#include "ir/GpuParams.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOpsDebug.h"
#include "ir/TpuOpsMemory.h"
#include "ir/TpuOpsSync.h"
#include "ir/facts/OpFamilies.h"
#include "llvm/IR/Module.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::gpu {
namespace {

using cpu::BlockAccess;
using tpu::MemorySpace;

/// One windowed operand while code is emitted.
struct Windowed : cpu::EmittedWindow {
  std::vector<Reg> lastBlock;  ///< slots of the last block's starts, if changes of the block must be detected
};

class DeviceKernelEmitter final : StreamSource {
 public:
  DeviceKernelEmitter(const KernelPackage& package, llvm::Module& module, llvm::Function* function, LaunchPlan plan,
                      eval::Poison poison)
      : package_(package),
        kernel_(package.kernelFunction()),
        arguments_(package),
        plan_(std::move(plan)),
        l_(module, function, plan_, poison, kernel_),
        b_(l_.b),
        stream_(l_, plan_.stream, *this),
        runs_(l_, arguments_) {}

  NativeResult run() {
    auto* entry = llvm::BasicBlock::Create(b_.getContext(), "entry", l_.function);
    auto* start = llvm::BasicBlock::Create(b_.getContext(), "start", l_.function);
    b_.SetInsertPoint(entry);
    b_.CreateBr(start);
    b_.SetInsertPoint(start);
    begin();
    arrays();
    // Each of n blocks takes every n-th point.
    Reg first = b_.CreateZExt(l_.device.block(b_), b_.getInt64Ty());
    Reg step = b_.CreateZExt(l_.device.blocks(b_), b_.getInt64Ty());
    // Loops around an empty one could have too many iterations to wait for: all are skipped.
    Reg points = b_.CreateSelect(hasSteps(plan_.pointAxes()), numPoints(), l_.index(0));
    if (!plan_.stream.products.empty()) l_.stream = &stream_;
    if (plan_.runs)
      if (auto ok = runs_.begin(points, plan_.threads + plan_.stream.copyThreads); !ok) return ok;
    if (plan_.stream.usesTma) copyInOtherThreads(first, points, step);
    if (auto ok = arguments(); !ok) return ok;
    if (pointsAreSteps()) {
      reductionBuffers_ = allocateReductionBuffers(l_, kernel_.getBody().front());
      l_.reductionBufferHalf = l_.slot(b_.getInt64Ty());
      b_.CreateStore(l_.index(0), l_.reductionBufferHalf);
      if (hasRoomForMoreBlocks()) l_.function->addFnAttr(kMinBlocks, std::to_string(kBlocksForReductions));
    }
    l_.barrierNow();
    if (l_.stream) stream_.begin(first, points, step);
    NativeResult ok;
    l_.loop(first, points, step, [&](Reg point) {
      indices_ = indicesOf(point);
      if (l_.stream) stream_.enterPoint(point);
      ok = plan_.runs ? runOfSteps() : grid(static_cast<size_t>(shared()));
    });
    if (!ok) return ok;
    if (plan_.stream.pendingAcrossSteps) l_.device.groupWait(b_, 0, nullptr, 0, DType::f32);
    if (l_.prints.ops)
      l_.byOneThread([&] {
        b_.CreateStore(b_.CreateLoad(b_.getInt64Ty(), l_.prints.used),
                       b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), l_.prints.memory, 1));
      });
    b_.CreateRetVoid();
    return l_.status;
  }

  DeviceKernel lowered() const {
    DeviceKernel k;
    k.threads = plan_.threads;
    k.copyThreads = plan_.stream.copyThreads;
    k.registers = plan_.stream.registers;
    k.maps = plan_.stream.maps;
    k.streamed = static_cast<int>(plan_.stream.products.size());
    k.stages = plan_.stream.stages;
    k.stageBytes = plan_.stream.stageBytes;
    k.residentBytes = plan_.stream.residentBytes;
    k.copiedBytes = plan_.stream.copiedBytes;
    k.blockBytes = plan_.stream.blockBytes;
    k.turns = plan_.stream.turns;
    k.sharedBytes = plan_.stageBytes + l_.sharedUsed();
    k.workspaceBytes = l_.workspaceUsed();
    k.sharedBounds.assign(signature().grid.begin(),
                          signature().grid.begin() + static_cast<ptrdiff_t>(plan_.pointAxes()));
    k.written = plan_.grid.written;
    k.barriers = l_.device.barriers();
    k.prints = l_.prints.ops;
    k.order = plan_.order;
    k.hasRuns = plan_.runs.has_value();
    k.sequentialReason = plan_.sequentialReason;
    return k;
  }
  SourcePlace unsupportedAt() const { return l_.unsupportedAt; }

 private:
  const KernelSignature& signature() const { return package_.signature; }
  size_t rank() const { return signature().grid.size(); }
  int shared() const { return plan_.grid.sharedAxes; }

  /// The number of points that blocks share.
  Reg numPoints() {
    const auto bounds = std::span(signature().grid).first(plan_.pointAxes());
    if (std::ranges::count(bounds, kDynamicBound) == 0) return l_.function->getArg(3);
    Reg points = b_.getInt64(1);
    for (size_t a = 0; a < bounds.size(); ++a)
      points = b_.CreateMul(points, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, l_.gridBounds[a], l_.index(0)));
    return points;
  }

  std::vector<Reg> indicesOf(Reg point) override { return indicesOfPoint(b_, plan_.order, l_.gridBounds, point); }

  void begin() {
    l_.thread = l_.device.thread(b_);
    l_.sharedBase = l_.device.shared(b_);
    l_.kernelStatus = l_.function->getArg(2);
    l_.iterations = l_.slot(b_.getInt64Ty());
    b_.CreateStore(l_.function->getArg(4), l_.iterations);
    // The workspace of a block begins at a multiple of its size, which `finish` fills in.
    workspaceSize_ =
        new llvm::GlobalVariable(l_.module, b_.getInt64Ty(), true, llvm::GlobalValue::PrivateLinkage, b_.getInt64(0),
                                 "workspace", nullptr, llvm::GlobalValue::NotThreadLocal, plan_.globalSpace);
    Reg size = b_.CreateLoad(b_.getInt64Ty(), b_.CreateAddrSpaceCast(workspaceSize_, b_.getPtrTy()));
    Reg number = b_.CreateZExt(l_.device.block(b_), b_.getInt64Ty());
    l_.workspace = b_.CreateGEP(b_.getInt8Ty(), l_.function->getArg(1), b_.CreateMul(number, size));
  }

 public:
  void finish() { workspaceSize_->setInitializer(b_.getInt64(static_cast<uint64_t>(l_.workspaceUsed()))); }

 private:
  View arrayView(size_t number, DType dtype, const Shape& shape, int memory) {
    View v;
    v.dtype = dtype;
    v.shape = shape;
    // On a GPU, arrays are in global memory and begin at multiples of 16 bytes.
    auto* base = b_.CreateLoad(llvm::PointerType::get(b_.getContext(), plan_.globalSpace),
                               b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), l_.function->getArg(0), number));
    if (plan_.globalSpace != 0)
      base->setMetadata(
          llvm::LLVMContext::MD_align,
          llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt64(kArrayAlignment))));
    v.base = b_.CreateAddrSpaceCast(base, b_.getPtrTy());
    v.strides = cpu::denseStrides(b_, shape);
    v.memory = memory;
    return v;
  }

  /// Loads the array pointers and grid bounds, which are the same in all threads.
  void arrays() {
    size_t operand = 0;
    for (const int64_t bound : signature().grid) {
      if (bound != kDynamicBound) {
        l_.gridBounds.push_back(l_.index(bound));
        continue;
      }
      const View scalar = arrayView(operand++, DType::i32, {}, l_.newMemory());
      l_.gridBounds.push_back(b_.CreateSExt(cpu::loadElements(b_, DType::i32, scalar.base, 1), b_.getInt64Ty()));
    }
    for (size_t i = 0; i < arguments_.numScalarPrefetch(); ++i, ++operand) {
      const mlir::Value ref = arguments_.scalarPrefetch(i);
      l_.setRef(ref, arrayView(operand, elementDType(ref.getType()), shapeOf(ref.getType()), l_.newMemory()));
      if (!mayBeWritten(ref)) l_.noteUnshared(l_.ref(ref).memory);
    }
    for (size_t i = 0; i < arguments_.numBlocks(); ++i, ++operand) {
      arrays_.push_back(
          arrayView(operand, elementDType(arguments_.block(i).getType()), arguments_.arrayOf(i).shape, memoryOf(i)));
      if (i < arguments_.numInputs() && !arguments_.aliasedOutput(i) && !mayBeWritten(arguments_.block(i)))
        l_.noteUnshared(arrays_[i].memory);
    }
  }

  /// Of the additional threads, the first copies and the others do nothing; all of them return.
  void copyInOtherThreads(Reg first, Reg points, Reg step) {
    stream_.initMbarriers();
    auto *copy = llvm::BasicBlock::Create(b_.getContext(), "copies", l_.function),
         *compute = llvm::BasicBlock::Create(b_.getContext(), "computes", l_.function);
    Reg threads = b_.getInt32(static_cast<uint32_t>(plan_.threads));
    b_.CreateCondBr(b_.CreateICmpUGE(l_.thread, threads), copy, compute);
    const RegisterShares& registers = plan_.stream.registers;
    b_.SetInsertPoint(copy);
    if (registers.copying) l_.device.lowerRegisterLimit(b_, registers.copying);
    l_.when(b_.CreateICmpEQ(l_.thread, threads), [&] { stream_.copyAll(first, points, step); });
    b_.CreateRetVoid();
    b_.SetInsertPoint(compute);
    if (registers.computing) l_.device.raiseRegisterLimit(b_, registers.computing);
    l_.device.onlyFirst(plan_.threads);
    l_.hazards.clear();
  }

  NativeResult arguments() {
    kernel_.walk([&](tpu::SemBarrierOp) {
      if (!l_.barrier.base) l_.barrier = l_.allocateUndefined(DType::semaphore, DType::semaphore, {});
    });
    for (size_t i = 0; i < arguments_.numBlocks(); ++i) blockArgument(i);
    for (size_t i = 0; i < arguments_.numScratch(); ++i) {
      const mlir::Value ref = arguments_.scratch(i);
      auto type = llvm::cast<mlir::MemRefType>(ref.getType());
      const auto space = tpu::memorySpaceOf(type);
      if (!space ||
          (*space != MemorySpace::vmem && *space != MemorySpace::smem && *space != MemorySpace::semaphore_mem))
        return unsupported(fmt::format("scratch {} outside VMEM, SMEM and semaphore memory", i));
      if (const auto kept = plan_.products.scratch.find(ref); kept != plan_.products.scratch.end()) {
        keepInRegisters(ref, kept->second);
        continue;
      }
      l_.setRef(ref, l_.allocateUndefined(elementDType(type), elementDType(type), shapeOf(type)));
    }
    return preparePrints();
  }

  NativeResult preparePrints() {
    bool prints = false;
    kernel_.walk([&](mlir::Operation* op) { prints |= llvm::isa<tpu::LogOp, tpu::LogBufferOp>(op); });
    if (!prints) return l_.status;
    if (shared() > 0) return unsupported("debug prints of grid points that run in any order");
    PrintBuffer& buffer = l_.prints;
    buffer.ops = std::make_shared<PrintOps>();
    buffer.memory =
        b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), l_.function->getArg(0),
                                                                   package_.operands.size() + package_.results.size()));
    buffer.capacity = b_.CreateLoad(b_.getInt64Ty(), buffer.memory);
    buffer.used = l_.slot(b_.getInt64Ty());
    b_.CreateStore(l_.index(0), buffer.used);
    return l_.status;
  }

  void keepInRegisters(mlir::Value ref, const Distribution& distribution) {
    const DType dtype = elementDType(ref.getType());
    GpuLowering::Fragment f = l_.newFragment(distribution, ref.getType());
    f.memory = l_.newMemory();
    View view;
    view.dtype = dtype;
    view.shape = shapeOf(ref.getType());
    view.base = llvm::ConstantPointerNull::get(b_.getPtrTy());  // registers have no address
    view.strides = cpu::denseStrides(b_, view.shape);
    view.memory = f.memory;
    f.pending = plan_.stream.pendingAcrossSteps && !distribution.perRow;
    l_.setFragment(ref, f);
    l_.setRef(ref, std::move(view));
    Reg undefined = cpu::undefinedElement(b_, dtype, l_.poison);
    l_.forDistributed(distribution, shapeOf(ref.getType()), GpuLowering::RowsBeyond::repeatLast,
                      [&](const ElementIndex&) { l_.setElement(f, undefined); });
  }

  bool isAlias(size_t block) const {
    return block >= arguments_.numInputs() && arguments_.aliasedInput(block - arguments_.numInputs());
  }

  /// Aliased arrays share a memory number.
  int memoryOf(size_t block) {
    const size_t inputs = arguments_.numInputs();
    if (block >= inputs)
      if (const auto input = arguments_.aliasedInput(block - inputs)) return arrays_[*input].memory;
    return l_.newMemory();
  }

  void blockArgument(size_t i) {
    const cpu::BlockPlan& plan = plan_.grid.blocks[i];
    mlir::BlockArgument argument = arguments_.block(i);
    const ArrayType& array = arguments_.arrayOf(i);
    const DType dtype = elementDType(argument.getType());
    View view = arrays_[i];
    if (const auto& window = arguments_.windowOf(i)) {
      windowArgument(plan, *window, argument, array, std::move(view), isAlias(i));
      return;
    }
    if (plan.isPadded) view.padding = tilePadding({dtype, array.shape});
    if (plan.access == BlockAccess::privateCopy) {
      const View whole = std::exchange(view, l_.allocate(dtype, array.shape));
      l_.touch({whole.memory}, {view.memory});
      l_.forElements(view.shape, [&](const ElementIndex& at) {
        llvm::Type* type = cpu::storageType(b_.getContext(), dtype);
        const llvm::Align align(static_cast<uint64_t>(storage_bytes(dtype)));
        b_.CreateAlignedStore(b_.CreateAlignedLoad(type, cpu::elementPointer(b_, whole, at), align),
                              cpu::elementPointer(b_, view, at), align);
      });
    }
    l_.setRef(argument, view);
  }

  void windowArgument(const cpu::BlockPlan& plan, const Window& window, mlir::BlockArgument argument,
                      const ArrayType& array, View view, bool isAlias) {
    Windowed w;
    w.plan = &plan;
    w.window = &window;
    w.array = std::move(view);
    w.undefined = storage_bytes(array.dtype) == storage_bytes(w.array.dtype) ? array.dtype : w.array.dtype;
    if (plan.hasBuffer()) w.buffer = l_.allocateUndefined(w.array.dtype, w.undefined, window.bounds);
    // A whole block is in the array, which the window of the aliased operand reads.
    if (plan.hasBuffer() && isAlias) {
      if (l_.isShared(w.buffer)) l_.noteShared(w.array.memory);
      w.buffer.memory = w.array.memory;
    }
    if (!isAlias && isStoredWhole(plan, window, argument)) l_.noteUnshared(w.array.memory);
    if (plan.tracksBlock)
      for (size_t d = 0; d < window.bounds.size(); ++d) {
        w.lastBlock.push_back(l_.slot(b_.getInt64Ty()));
        b_.CreateStore(b_.getInt64(static_cast<uint64_t>(INT64_MIN)), w.lastBlock.back());
      }
    windows_.push_back({std::move(w), argument});
  }

  /// Whether an output is only accessed by one store of its whole block. Since the blocks partition the array, the same
  /// thread stores an element in all steps.
  static bool isStoredWhole(const cpu::BlockPlan& plan, const Window& window, mlir::BlockArgument argument) {
    if (!plan.isOutput || plan.access != BlockAccess::view || plan.isPartial || window.elementIndexed ||
        !argument.hasOneUse())
      return false;
    mlir::Operation& user = **argument.user_begin();
    return llvm::isa<tpu::VectorStoreOp, mlir::vector::StoreOp>(user) &&
           shapeOf(user.getOperand(0).getType()) == shapeOf(argument.getType());
  }

  // ---- the grid

  /// i1: whether the axes from `first` on have steps.
  Reg hasSteps(size_t first) {
    Reg all = b_.getTrue();
    for (size_t d = first; d < rank(); ++d) all = b_.CreateAnd(all, b_.CreateICmpSGT(l_.gridBounds[d], l_.index(0)));
    return all;
  }

  /// The loops over the axes from d on.
  NativeResult grid(size_t d) {
    if (d == rank()) return stepIfNeeded();
    return loopOver(d, l_.index(0), l_.gridBounds[d], [&] { return grid(d + 1); });
  }

  NativeResult loopOver(size_t axis, Reg begin, Reg end, const std::function<NativeResult()>& body) {
    NativeResult ok;
    l_.loop(begin, end, l_.index(1), [&](Reg i) {
      indices_.resize(axis);
      indices_.push_back(i);
      ok = body();
    });
    return ok;
  }

  /// The steps of the run that begins at the point, if any.
  NativeResult runOfSteps() {
    const auto axis = static_cast<size_t>(shared());
    const auto run = runAt(indices_[axis]);
    if (!run) return tl::unexpected(run.error());
    return loopOver(axis, run->begin, run->end, [&] { return grid(axis + 1); });
  }

  /// The step, unless it does nothing.
  NativeResult stepIfNeeded() {
    if (plan_.stepConditions.empty()) return step();
    Reg needed = b_.getFalse();
    for (mlir::Value condition : plan_.stepConditions) {
      const auto one = scalarAt(condition, indices_);
      if (!one) return tl::unexpected(one.error());
      needed = b_.CreateOr(needed, *one);
    }
    NativeResult ok;
    ifUniform(needed, [&] { ok = step(); });
    return ok;
  }

  NativeResult step() {
    for (size_t d = 0; d < rank(); ++d)
      l_.setScalar(kernel_.getArgument(static_cast<unsigned>(d)), b_.CreateTrunc(indices_[d], b_.getInt32Ty()));
    if (plan_.products.kept > 0) l_.threadOfElements = l_.device.opaqueCopy(b_, l_.thread);
    const auto whole = l_.inRegion([&]() -> NativeResult {
      for (auto& [w, argument] : windows_) {
        if (auto ok = computeBlockOffset(w); !ok) return ok;
        if (auto ok = bindWindow(w, argument); !ok) return ok;
      }
      return l_.lowerBlock(kernel_.getBody().front());
    });
    if (!whole) return whole;
    for (auto& [w, argument] : windows_)
      if (w.plan->isOutput && w.plan->isPartial)
        ifUniform(b_.CreateNot(w.whole), [&, &w = w] { storeInside(l_, edge(w)); });
    l_.countIteration();
    if (pointsAreSteps()) {
      l_.hazards.forget(sharedArrays());
      l_.hazards.forget(reductionBuffers_);
      if (!reductionBuffers_.empty())
        b_.CreateStore(b_.CreateXor(b_.CreateLoad(b_.getInt64Ty(), l_.reductionBufferHalf), b_.getInt64(1)),
                       l_.reductionBufferHalf);
    }
    l_.barrierNow();  // all threads see all writes before the next step
    return {};
  }

  /// Resident blocks of 256 threads per multiprocessor for kernels that reduce rows in registers: 48 of the 64 K
  /// registers for each thread (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"). Chosen;
  /// no measurement is recorded.
  static constexpr int kBlocksForReductions = 5;

  /// Whether kBlocksForReductions leaves enough registers for rows in registers: while the threads of one block
  /// reduce a row, those of other blocks load theirs.
  bool hasRoomForMoreBlocks() const {
    // The most elements per thread in a window, and the most windows. Chosen, not measured.
    constexpr int64_t kThreads = 256, kMostElements = 16;
    constexpr size_t kMostBlocks = 4;
    if (reductionBuffers_.empty() || plan_.threads != kThreads || arguments_.numBlocks() > kMostBlocks) return false;
    for (size_t i = 0; i < arguments_.numBlocks(); ++i)
      if (num_elements(shapeOf(arguments_.block(i).getType())) > kThreads * kMostElements) return false;
    return true;
  }

  /// Whether each point of the shared axes is one step, and no stream needs all threads between points.
  bool pointsAreSteps() const { return rank() == static_cast<size_t>(shared()) && plan_.stream.products.empty(); }

  /// Arrays whose accesses need no barrier between two points of the shared axes, since no point reads or writes what
  /// another one writes.
  MemorySet sharedArrays() const {
    MemorySet memories;
    for (const View& array : arrays_) memories.insert(array.memory);
    for (const auto& [w, argument] : windows_)
      if (w.plan->hasBuffer()) memories.erase(w.buffer.memory);
    return memories;
  }

  EdgeBlock edge(const Windowed& w) const { return {w.array, w.buffer, w.starts}; }

  /// Emits code that either all threads execute or none, and that may contain barriers.
  void ifUniform(Reg condition, const std::function<void()>& body) {
    const Hazards before = l_.hazards;
    l_.when(condition, body);
    l_.hazards.join(before);
  }

  /// Computes where the block of this step begins, and whether it is whole.
  NativeResult computeBlockOffset(Windowed& w) {
    auto starts = cpu::blockStarts(l_, arguments_, *w.window, indices_);
    if (!starts) return tl::unexpected(std::move(starts.error()));
    w.starts = std::move(*starts);
    w.whole = cpu::isWholeBlock(l_, w);
    const std::vector<size_t>& checked = w.plan->maybeOutside;
    Reg overlaps = b_.getTrue();
    for (const size_t d : checked) overlaps = b_.CreateAnd(overlaps, cpu::overlapsArray(l_, w, d));
    if (w.plan->isOutput) {
      if (!checked.empty()) l_.require(overlaps, KernelStatus::outside);
      return {};
    }
    if (!checked.empty()) l_.when(b_.CreateNot(overlaps), [&] { l_.note(KernelStatus::blockReadOutside); });
    // What is outside is undefined: another block, where there is no buffer.
    if (!w.plan->hasBuffer())
      for (const size_t d : checked) w.starts[d] = cpu::nearestInside(l_, w.array, w.window->bounds, w.starts[d], d);
    return {};
  }

  // ---- services for the stream (StreamSource)

  std::span<const Reg> currentIndices() override { return indices_; }
  const View& array(size_t block) override { return arrays_[block]; }
  const Shape& bounds(size_t block) override { return arguments_.windowOf(block)->bounds; }
  tl::expected<std::vector<Reg>, cpu::Unsupported> blockAt(size_t block, std::span<const Reg> indices) override {
    return cpu::blockStarts(l_, arguments_, *arguments_.windowOf(block), indices);
  }
  tl::expected<BlockRun, cpu::Unsupported> runAt(Reg step) override { return runs_.at(step); }

  tl::expected<Reg, cpu::Unsupported> scalarAt(mlir::Value v, std::span<const Reg> indices) override {
    llvm::DenseMap<mlir::Value, Reg> known;
    for (unsigned d = 0; d < indices.size(); ++d)
      known[kernel_.getArgument(d)] = b_.CreateTrunc(indices[d], b_.getInt32Ty());
    if (Reg r = l_.scalarFrom(v, known)) return r;
    return unsupported("a condition that device code does not follow");
  }

  /// Binds the kernel's ref to the block: in the array if the block is inside it, else in its buffer.
  NativeResult bindWindow(Windowed& w, mlir::BlockArgument argument) {
    View view;
    if (w.plan->access == BlockAccess::copied) {
      ifUniform(blockChanges(w), [&] { fetch(w); });
      view = w.buffer;
    } else if (w.plan->isPartial) {
      Reg needsFetch = b_.CreateNot(w.whole);
      if (!w.lastBlock.empty()) needsFetch = b_.CreateAnd(needsFetch, blockChanges(w));
      if (!w.plan->isOutput || !w.lastBlock.empty()) ifUniform(needsFetch, [&] { fetch(w); });
      view = cpu::arrayOrBuffer(b_, w);
    } else {
      view = cpu::slice(b_, w.array, w.starts, w.window->bounds);
    }
    view.memory = w.plan->hasBuffer() ? w.buffer.memory : w.array.memory;
    auto shaped = cpu::inShapeOf(b_, view, argument);
    if (!shaped) return tl::unexpected(std::move(shaped.error()));
    l_.setRef(argument, std::move(*shaped));
    return {};
  }

  /// i1: whether this step's block differs from the last step's. Remembers this step's block.
  Reg blockChanges(const Windowed& w) {
    Reg changed = b_.getFalse();
    for (size_t d = 0; d < w.starts.size(); ++d) {
      changed = b_.CreateOr(changed, b_.CreateICmpNE(b_.CreateLoad(b_.getInt64Ty(), w.lastBlock[d]), w.starts[d]));
      b_.CreateStore(w.starts[d], w.lastBlock[d]);
    }
    return changed;
  }

  void fetch(Windowed& w) {
    fetchInside(l_, edge(w),
                w.plan->isPartial || !w.plan->maybeOutside.empty() ? cpu::undefinedElement(b_, w.undefined, l_.poison)
                                                                   : nullptr);
  }

  const KernelPackage& package_;
  mlir::func::FuncOp kernel_;
  KernelArguments arguments_;
  LaunchPlan plan_;
  GpuLowering l_;
  Builder& b_;
  Stream stream_;
  BlockRunCode runs_;
  llvm::GlobalVariable* workspaceSize_ = nullptr;
  std::vector<View> arrays_;    ///< one per block
  MemorySet reductionBuffers_;  ///< which reductions use alternately (allocateReductionBuffers)
  std::vector<Reg> indices_;
  std::vector<std::pair<Windowed, mlir::BlockArgument>> windows_;
};

}  // namespace

Result<DeviceKernel> lowerKernel(const KernelPackage& given, llvm::Module& module, const EmitOptions& options) {
  const auto params = gpuParamsOf(given);
  if (!params) return fail(params.error());
  const std::optional<KernelPackage> rewritten = rewriteForGpus(given, options.architecture, *params);
  const KernelPackage& package = rewritten ? *rewritten : given;
  auto plan = planLaunch(package, options.architecture, options.checkBlocks, *params);
  if (!plan) return fail(noDeviceCode(plan.error()));
  if (Status ok = checkParams(*plan, *params, options.architecture); !ok) return fail(std::move(ok.error()));
  plan->globalSpace = options.globalSpace;
  auto& c = module.getContext();
  auto* pointer = llvm::PointerType::get(c, 0);
  auto* wide = llvm::Type::getInt64Ty(c);
  std::vector<llvm::Type*> types{pointer, pointer, pointer, wide, wide};
  const size_t maps = plan->stream.maps.size();
  if (maps > 0) types.push_back(pointer);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(c), types, false),
                                          llvm::Function::ExternalLinkage, kKernelSymbol, module);
  if (maps > 0 && options.mapsByValue) {
    auto* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(c), maps * TensorMap::kBytes);
    function->addParamAttr(5, llvm::Attribute::getWithByValType(c, type));
    function->addParamAttr(5, llvm::Attribute::getWithAlignment(c, llvm::Align(64)));
    function->addParamAttr(5, llvm::Attribute::get(c, "nvvm.grid_constant"));
  }
  DeviceKernelEmitter lowering(package, module, function, std::move(*plan), options.poison);
  if (auto ok = lowering.run(); !ok) {
    cpu::Unsupported why = ok.error();
    if (!why.place.known()) why.place = lowering.unsupportedAt();
    return fail(noDeviceCode(why));
  }
  lowering.finish();
  DeviceKernel made = lowering.lowered();
  if (package.signature.grid != given.signature.grid) made.dividedGrid = package.signature.grid;
  return made;
}

}  // namespace smalti::gpu
