#include "gpu/emit/Kernel.h"

#include <utility>

#include <fmt/format.h>

#include "base/Tiles.h"
#include "cpu/emit/elements/Elementwise.h"
#include "cpu/rewrite/MatrixUnitProducts.h"
#include "gpu/emit/Edge.h"
#include "gpu/emit/Points.h"
#include "gpu/emit/Stream.h"
#include "gpu/emit/ops/ReduceInRegisters.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOpsDebug.h"
#include "ir/TpuOpsSync.h"
#include "llvm/IR/Module.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::gpu {
namespace {

using cpu::BlockAccess;
using tpu::MemorySpace;

/// One windowed operand while code is emitted.
struct Windowed {
  const cpu::BlockPlan* plan = nullptr;
  const Window* window = nullptr;
  View array;
  DType undefined = DType::f32;  ///< of the array, with its signedness: the value of elements beyond its edges
  View buffer;                   ///< holds a block that is partial or copied
  std::vector<Reg> lastBlock;    ///< slots of the last block's starts, where others must be told from it
  std::vector<Reg> starts;       ///< of this step's block, in the array
  Reg whole = nullptr;           ///< i1: the block is not partial
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
        stream_(l_, plan_.stream, *this) {}

  NativeResult run() {
    auto* entry = llvm::BasicBlock::Create(b_.getContext(), "entry", l_.function);
    auto* start = llvm::BasicBlock::Create(b_.getContext(), "start", l_.function);
    b_.SetInsertPoint(entry);
    b_.CreateBr(start);
    b_.SetInsertPoint(start);
    begin();
    arrays();
    // Of n blocks, each takes every n-th point.
    Reg first = b_.CreateZExt(l_.device.block(b_), b_.getInt64Ty());
    Reg step = b_.CreateZExt(l_.device.blocks(b_), b_.getInt64Ty());
    Reg points = l_.function->getArg(3);
    if (!plan_.stream.products.empty()) l_.stream = &stream_;
    if (plan_.stream.byBoxes) copyInOtherThreads(first, points, step);
    if (auto ok = arguments(); !ok) return ok;
    if (pointsAreSteps()) {
      exchanges_ = prepareExchanges(l_, kernel_.getBody().front());
      l_.exchangeNumber = l_.slot(b_.getInt64Ty());
      b_.CreateStore(l_.index(0), l_.exchangeNumber);
      if (hasRoomForMoreBlocks()) l_.function->addFnAttr(kMinBlocks, "5");
    }
    l_.barrierNow();
    if (l_.stream) stream_.begin(first, points, step);
    NativeResult ok;
    l_.loop(first, points, step, [&](Reg point) {
      indices_ = sharedIndices(point);
      ok = grid(static_cast<size_t>(shared()));
    });
    if (!ok) return ok;
    if (plan_.stream.crossesSteps) l_.device.groupWait(b_, 0, nullptr, 0, DType::f32);
    if (l_.prints.ops)
      l_.byOneThread([&] {
        b_.CreateStore(b_.CreateLoad(b_.getInt64Ty(), l_.prints.used),
                       b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), l_.prints.memory, 1));
      });
    b_.CreateRetVoid();
    return l_.failure;
  }

  DeviceKernel lowered() const {
    DeviceKernel k;
    k.threads = plan_.threads;
    k.copyThreads = plan_.stream.copyThreads;
    k.registers = plan_.stream.registers;
    k.maps = plan_.stream.maps;
    k.streamed = static_cast<int>(plan_.stream.products.size());
    k.stages = plan_.stream.stages;
    k.stageBytes = plan_.stream.itemBytes;
    k.sharedBytes = plan_.stageBytes + l_.sharedUsed();
    k.workspaceBytes = l_.workspaceUsed();
    k.sharedBounds.assign(signature().grid.begin(), signature().grid.begin() + shared());
    k.written = plan_.grid.written;
    k.barriers = l_.device.barriers();
    k.prints = l_.prints.ops;
    k.order = plan_.order;
    k.sequentialReason = plan_.sequentialReason;
    return k;
  }
  SourcePlace unsupportedAt() const { return l_.unsupportedAt; }

 private:
  const KernelSignature& signature() const { return package_.signature; }
  size_t rank() const { return signature().grid.size(); }
  int shared() const { return plan_.grid.sharedAxes; }

  std::vector<Reg> sharedIndices(Reg point) { return indicesOfPoint(b_, plan_.order, l_.gridBounds, point); }

  void begin() {
    l_.thread = l_.device.thread(b_);
    l_.sharedBase = l_.device.shared(b_);
    l_.status = l_.function->getArg(2);
    l_.iterations = l_.slot(b_.getInt64Ty());
    b_.CreateStore(l_.function->getArg(4), l_.iterations);
    // The offset of this block's part of the workspace depends on the final size: it is filled in at the end.
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

  /// What of the arguments only says where arrays are: it holds for all threads.
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
    }
    for (size_t i = 0; i < arguments_.numBlocks(); ++i, ++operand)
      arrays_.push_back(
          arrayView(operand, elementDType(arguments_.block(i).getType()), arguments_.arrayOf(i).shape, memoryOf(i)));
  }

  /// Threads beyond the computing ones do not compute: the first of them copies, and all return.
  void copyInOtherThreads(Reg first, Reg points, Reg step) {
    stream_.makeSignals();
    auto *copy = llvm::BasicBlock::Create(b_.getContext(), "copies", l_.function),
         *compute = llvm::BasicBlock::Create(b_.getContext(), "computes", l_.function);
    Reg threads = b_.getInt32(static_cast<uint32_t>(plan_.threads));
    b_.CreateCondBr(b_.CreateICmpUGE(l_.thread, threads), copy, compute);
    const RegisterShares& registers = plan_.stream.registers;
    b_.SetInsertPoint(copy);
    if (registers.copying) l_.device.returnRegisters(b_, registers.copying);
    l_.when(b_.CreateICmpEQ(l_.thread, threads), [&] { stream_.copyAll(first, points, step); });
    b_.CreateRetVoid();
    b_.SetInsertPoint(compute);
    if (registers.computing) l_.device.takeRegisters(b_, registers.computing);
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
    if (!prints) return l_.failure;
    if (shared() > 0) return unsupported("debug prints of grid points that run in any order");
    PrintBuffer& buffer = l_.prints;
    buffer.ops = std::make_shared<PrintOps>();
    buffer.memory =
        b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), l_.function->getArg(0),
                                                                   package_.operands.size() + package_.results.size()));
    buffer.capacity = b_.CreateLoad(b_.getInt64Ty(), buffer.memory);
    buffer.used = l_.slot(b_.getInt64Ty());
    b_.CreateStore(l_.index(0), buffer.used);
    return l_.failure;
  }

  void keepInRegisters(mlir::Value ref, const Distribution& distribution) {
    const DType dtype = elementDType(ref.getType());
    GpuLowering::Fragment f = l_.newFragment(distribution, ref.getType());
    f.memory = l_.newMemory();
    View view;
    view.dtype = dtype;
    view.shape = shapeOf(ref.getType());
    view.base = llvm::ConstantPointerNull::get(b_.getPtrTy());  // it has no address
    view.strides = cpu::denseStrides(b_, view.shape);
    view.memory = f.memory;
    f.pending = plan_.stream.crossesSteps && !distribution.perRow;
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
    // The block is in the array where it is whole, and the window of the operand reads the array.
    if (plan.hasBuffer() && isAlias) {
      if (l_.isShared(w.buffer)) l_.noteShared(w.array.memory);
      w.buffer.memory = w.array.memory;
    }
    if (!isAlias && isStoredWhole(plan, window, argument)) l_.noteOwned(w.array.memory);
    if (plan.tracksBlock)
      for (size_t d = 0; d < window.bounds.size(); ++d) {
        w.lastBlock.push_back(l_.slot(b_.getInt64Ty()));
        b_.CreateStore(b_.getInt64(static_cast<uint64_t>(INT64_MIN)), w.lastBlock.back());
      }
    windows_.push_back({std::move(w), argument});
  }

  /// Whether all that happens to an output is one store of its block. Blocks are those of a partition of the array, so
  /// that the thread that stores an element stores it in all steps.
  static bool isStoredWhole(const cpu::BlockPlan& plan, const Window& window, mlir::BlockArgument argument) {
    if (!plan.isOutput || plan.access != BlockAccess::view || plan.isPartial || window.elementIndexed ||
        !argument.hasOneUse())
      return false;
    mlir::Operation& user = **argument.user_begin();
    const auto name = user.getName().getStringRef();
    return (name == "tpu.vector_store" || name == "vector.store") &&
           shapeOf(user.getOperand(0).getType()) == shapeOf(argument.getType());
  }

  // ---- the grid

  NativeResult grid(size_t d) {
    if (d == rank()) return step();
    NativeResult ok;
    l_.loop(l_.index(0), l_.gridBounds[d], l_.index(1), [&](Reg i) {
      indices_.resize(d);
      indices_.push_back(i);
      ok = grid(d + 1);
    });
    return ok;
  }

  NativeResult step() {
    for (size_t d = 0; d < rank(); ++d)
      l_.setScalar(kernel_.getArgument(static_cast<unsigned>(d)), b_.CreateTrunc(indices_[d], b_.getInt32Ty()));
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
    l_.countRound();
    if (pointsAreSteps()) {
      l_.hazards.forget(sharedArrays());
      l_.hazards.forget(exchanges_);
      if (!exchanges_.empty())
        b_.CreateStore(b_.CreateXor(b_.CreateLoad(b_.getInt64Ty(), l_.exchangeNumber), b_.getInt64(1)),
                       l_.exchangeNumber);
    }
    l_.barrierNow();  // other steps begin and end with threads that have seen all
    return {};
  }

  /// Whether 48 registers per thread, with which five blocks of threads run on a processor at once, suffice for rows in
  /// registers: while threads reduce a row, those of other blocks load theirs.
  bool hasRoomForMoreBlocks() const {
    constexpr int64_t kThreads = 256, kMostElements = 16;
    constexpr size_t kMostBlocks = 4;
    if (exchanges_.empty() || plan_.threads != kThreads || arguments_.numBlocks() > kMostBlocks) return false;
    for (size_t i = 0; i < arguments_.numBlocks(); ++i)
      if (num_elements(shapeOf(arguments_.block(i).getType())) > kThreads * kMostElements) return false;
    return true;
  }

  /// Whether each point of the shared axes is one step, and no stream needs all threads between points.
  bool pointsAreSteps() const { return rank() == static_cast<size_t>(shared()) && plan_.stream.products.empty(); }

  /// Arrays in which the threads of a block need not wait for each other between two points of the shared axes, as
  /// those of different blocks do not: no point reads or writes what another one writes.
  MemorySet sharedArrays() const {
    MemorySet memories;
    for (const View& array : arrays_) memories.insert(array.memory);
    for (const auto& [w, argument] : windows_)
      if (w.plan->hasBuffer()) memories.erase(w.buffer.memory);
    return memories;
  }

  EdgeBlock edge(const Windowed& w) const { return {w.array, w.buffer, w.starts}; }

  /// Code that all threads or none execute, with the barriers that it needs.
  void ifUniform(Reg condition, const std::function<void()>& body) {
    const Hazards before = l_.hazards;
    l_.when(condition, body);
    l_.hazards.join(before);
  }

  /// The first element of the block at these indices of the grid.
  tl::expected<std::vector<Reg>, cpu::Unsupported> blockStarts(const Window& window, std::span<const Reg> indices) {
    mlir::func::FuncOp map = arguments_.indexMap(window);
    mlir::Block& body = map.getBody().front();
    for (unsigned a = 0; a < body.getNumArguments(); ++a) {
      if (a < rank())
        l_.setScalar(body.getArgument(a), b_.CreateTrunc(indices[a], b_.getInt32Ty()));
      else
        l_.setRef(body.getArgument(a), View(l_.ref(kernel_.getArgument(a))));
    }
    // An index map is scalar code: the body's lowering handles it.
    for (mlir::Operation& op : body.without_terminator()) {
      if (llvm::isa<mlir::arith::ConstantOp>(op)) continue;
      if (auto ok = l_.lowerOp(op); !ok) return tl::unexpected(ok.error());
    }
    std::vector<Reg> starts;
    for (size_t d = 0; d < window.bounds.size(); ++d) {
      Reg block = l_.scalar(body.getTerminator()->getOperand(static_cast<unsigned>(d)));
      if (!block) return unsupported("an index map that device code does not follow");
      Reg at = b_.CreateSExt(block, b_.getInt64Ty());
      const bool low = window.elementIndexed && d < window.padLow.size();
      starts.push_back(window.elementIndexed ? b_.CreateSub(at, l_.index(low ? window.padLow[d] : 0))
                                             : b_.CreateMul(at, l_.index(window.bounds[d])));
    }
    return starts;
  }

  /// Where the block of this step is.
  NativeResult computeBlockOffset(Windowed& w) {
    auto starts = blockStarts(*w.window, indices_);
    if (!starts) return tl::unexpected(std::move(starts.error()));
    w.starts = std::move(*starts);
    w.whole = b_.getTrue();
    for (size_t d = 0; d < w.starts.size() && w.plan->isPartial; ++d) {
      const int64_t size = w.window->bounds[d], extent = w.array.shape[d];
      w.whole = b_.CreateAnd(w.whole, size > extent ? static_cast<Reg>(b_.getFalse())
                                                    : b_.CreateICmpULE(w.starts[d], l_.index(extent - size)));
    }
    for (const size_t d : w.plan->maybeOutside) requireInside(w, d);
    return {};
  }

  // ---- of the stream

  const View& array(size_t block) override { return arrays_[block]; }
  const Shape& bounds(size_t block) override { return arguments_.windowOf(block)->bounds; }
  tl::expected<std::vector<Reg>, cpu::Unsupported> blockAt(size_t block, Reg point,
                                                           std::span<const Reg> inner) override {
    std::vector<Reg> indices = sharedIndices(point);
    indices.insert(indices.end(), inner.begin(), inner.end());
    return blockStarts(*arguments_.windowOf(block), indices);
  }

  tl::expected<Reg, cpu::Unsupported> scalarAt(mlir::Value v, Reg point, std::span<const Reg> inner) override {
    llvm::DenseMap<mlir::Value, Reg> known;
    std::vector<Reg> indices = sharedIndices(point);
    indices.insert(indices.end(), inner.begin(), inner.end());
    for (unsigned d = 0; d < indices.size(); ++d)
      known[kernel_.getArgument(d)] = b_.CreateTrunc(indices[d], b_.getInt32Ty());
    if (Reg r = l_.scalarFrom(v, known)) return r;
    return unsupported("a condition that device code does not follow");
  }

  /// On a TPU such a block would be unrelated memory.
  void requireInside(const Windowed& w, size_t d) {
    const auto paddingOf = [&](const std::vector<int64_t>& padding) { return d < padding.size() ? padding[d] : 0; };
    Reg before = l_.index(-paddingOf(w.window->padLow) - w.window->bounds[d]);
    Reg end = l_.index(w.array.shape[d] + paddingOf(w.window->padHigh));
    l_.require(b_.CreateAnd(b_.CreateICmpSGT(w.starts[d], before), b_.CreateICmpSLT(w.starts[d], end)),
               KernelEnd::outside);
  }

  /// Binds the kernel's ref to the block: to the array itself if the block is inside it.
  NativeResult bindWindow(Windowed& w, mlir::BlockArgument argument) {
    const Shape& bounds = w.window->bounds;
    View view = cpu::slice(b_, w.array, w.starts, bounds);
    if (w.plan->access == BlockAccess::copied) {
      ifUniform(blockChanges(w), [&] { fetch(w); });
      view = w.buffer;
    } else if (w.plan->isPartial) {
      Reg hangsOver = b_.CreateNot(w.whole);
      if (!w.lastBlock.empty()) hangsOver = b_.CreateAnd(hangsOver, blockChanges(w));
      if (!w.plan->isOutput || !w.lastBlock.empty()) ifUniform(hangsOver, [&] { fetch(w); });
      view.base = b_.CreateSelect(w.whole, view.base, w.buffer.base);
      for (size_t d = 0; d < bounds.size(); ++d)
        if (bounds[d] != 1 && view.strides[d] != w.buffer.strides[d])
          view.strides[d] = b_.CreateSelect(w.whole, view.strides[d], w.buffer.strides[d]);
    }
    view.memory = w.plan->hasBuffer() ? w.buffer.memory : w.array.memory;
    auto shaped = cpu::reshape(b_, view, shapeOf(argument.getType()));
    if (!shaped) return unsupported("a window whose shape differs from its ref's");
    l_.setRef(argument, *shaped);
    return {};
  }

  /// Whether this step's block differs from the last step's, which it replaces.
  Reg blockChanges(const Windowed& w) {
    Reg changed = b_.getFalse();
    for (size_t d = 0; d < w.starts.size(); ++d) {
      changed = b_.CreateOr(changed, b_.CreateICmpNE(b_.CreateLoad(b_.getInt64Ty(), w.lastBlock[d]), w.starts[d]));
      b_.CreateStore(w.starts[d], w.lastBlock[d]);
    }
    return changed;
  }

  void fetch(Windowed& w) {
    fetchInside(l_, edge(w), w.plan->isPartial ? cpu::undefinedElement(b_, w.undefined, l_.poison) : nullptr);
  }

  const KernelPackage& package_;
  mlir::func::FuncOp kernel_;
  KernelArguments arguments_;
  LaunchPlan plan_;
  GpuLowering l_;
  Builder& b_;
  Stream stream_;
  llvm::GlobalVariable* workspaceSize_ = nullptr;
  std::vector<View> arrays_;  ///< by block
  MemorySet exchanges_;       ///< that reductions use in turns (prepareExchanges)
  std::vector<Reg> indices_;
  std::vector<std::pair<Windowed, mlir::BlockArgument>> windows_;
};

}  // namespace

int64_t gridPoints(std::span<const int64_t> bounds, std::span<const Array> operands) {
  int64_t points = 1;
  size_t dynamic = 0;
  for (int64_t bound : bounds) {
    if (bound == kDynamicBound) bound = *operands[dynamic++].as<int32_t>();
    if (__builtin_mul_overflow(points, std::max<int64_t>(bound, 0), &points)) return INT64_MAX;
  }
  return points;
}

tl::expected<DeviceKernel, cpu::Unsupported> lowerKernel(const KernelPackage& given, llvm::Module& module,
                                                         const EmitOptions& options) {
  const std::optional<KernelPackage> rewritten = cpu::multiplyWithoutUnits(given);
  const KernelPackage& package = rewritten ? *rewritten : given;
  auto plan = planLaunch(package, options.architecture, options.checkBlocks);
  if (!plan) return tl::unexpected(std::move(plan.error()));
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
    return tl::unexpected(std::move(why));
  }
  lowering.finish();
  return lowering.lowered();
}

}  // namespace smalti::gpu
