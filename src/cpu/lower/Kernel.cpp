#include "cpu/lower/Kernel.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/Tiles.h"
#include "cpu/lower/EdgeCopy.h"
#include "cpu/lower/Elementwise.h"
#include "cpu/lower/RowProduct.h"
#include "cpu/lower/Streaming.h"
#include "cpu/lower/Turns.h"
#include "cpu/lower/Written.h"
#include "ir/BlockGeometry.h"
#include "ir/KernelArguments.h"
#include "ir/TpuOpsMxu.h"
#include "ir/TpuOpsSync.h"
#include "ir/facts/IndexMaps.h"
#include "ir/facts/OpFamilies.h"
#include "llvm/IR/Module.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu {
namespace {

using tpu::MemorySpace;

/// As messages name it: "HBM".
std::string nameOf(MemorySpace space) { return tpu::stringifyMemorySpace(space).upper(); }

/// One windowed operand while code is emitted.
struct Windowed {
  const Window* window = nullptr;
  mlir::func::FuncOp map;
  View array;
  bool isOutput = false;
  bool copied = false;  ///< always through the buffer, fetched when the block index changes
  bool mayOverhang = false;
  std::vector<size_t> mayLeave;              ///< dimensions in which nothing of a block may be in the array
  std::optional<std::vector<size_t>> turns;  ///< of an input: see seenByTurns
  DType undefined = DType::f32;              ///< of the array, with its signedness: says what lies beyond its edges
  View buffer;                               ///< where a block that overhangs, or is copied, lies
  Reg lastBlock = nullptr;                   ///< slots of the last block's starts, where others must be told from it
  std::vector<Reg> starts, sizes;            ///< of this step's block, in the array; sizes of what lies inside
  Reg whole = nullptr;                       ///< i1: nothing overhangs
  Reg upcoming = nullptr;                    ///< where the next step's block begins
};

class KernelLowering {
 public:
  KernelLowering(const KernelPackage& package, llvm::Module& module, llvm::Function* function,
                 const Processor& processor, NativeReport& report, InterpretedOps& interpreted, LowerOptions options)
      : package_(package),
        kernel_(package.kernelFunction()),
        arguments_(package),
        l_(module, function, processor, report, interpreted, std::move(options), kernel_),
        b_(l_.b),
        shared_(l_.options.sharedAxes) {}

  tl::expected<LoweredKernel, NotNative> run() {
    auto* entry = llvm::BasicBlock::Create(b_.getContext(), "entry", l_.function);
    b_.SetInsertPoint(entry);
    l_.context = l_.function->getArg(0);
    l_.arenaBase = l_.function->getArg(2);
    if (rank() > 0) chooseOrder();
    lowered_.written = surelyWritten(package_);
    if (auto ok = arguments(); !ok) return tl::unexpected(ok.error());
    if (auto ok = grid(0); !ok) return tl::unexpected(ok.error());
    b_.CreateRet(b_.getInt32(0));
    finishStreaming(*l_.function);
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

  /// Memory of the core itself.
  static bool isLocal(MemorySpace space) {
    return space == MemorySpace::vmem || space == MemorySpace::smem || space == MemorySpace::semaphore_mem;
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

  Native arguments() {
    for (const Alias& a : package_.aliases)
      if (!arguments_.aliasedInput(static_cast<size_t>(a.output)))
        return notNative(fmt::format("output {} is a scalar operand, too", a.output));
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
    for (size_t i = 0; i < arguments_.numBlocks(); ++i, ++operand)
      if (auto ok = ioArgument(i, operand); !ok) return ok;
    for (size_t i = 0; i < arguments_.numScratch(); ++i) {
      const mlir::Value ref = arguments_.scratch(i);
      auto type = llvm::cast<mlir::MemRefType>(ref.getType());
      const auto space = tpu::memorySpaceOf(type);
      if (!space || !isLocal(*space))
        return notNative(fmt::format("scratch {} is in {} memory", i, space ? nameOf(*space) : "unknown"));
      l_.setRef(ref, undefinedBuffer(elementDType(type), elementDType(type), shapeOf(type)));
    }
    return {};
  }

  /// The block that is one array with block `i`, if any.
  std::optional<size_t> partnerOf(size_t i) const {
    const size_t inputs = arguments_.numInputs();
    if (i >= inputs) return arguments_.aliasedInput(i - inputs);
    const auto output = arguments_.aliasedOutput(i);
    return output ? std::optional(inputs + *output) : std::nullopt;
  }

  Native ioArgument(size_t i, size_t operand) {
    const size_t inputs = arguments_.numInputs();
    const bool isOutput = i >= inputs;
    mlir::BlockArgument argument = arguments_.block(i);
    auto type = llvm::cast<mlir::MemRefType>(argument.getType());
    const ArrayType& array = arguments_.arrayOf(i);
    const DType dtype = elementDType(type);
    const auto& window = arguments_.windowOf(i);
    const auto space = tpu::memorySpaceOf(type);
    if (!space) return notNative("an operand in unknown memory");
    View view = arrayView(operand, dtype, array.shape, l_.newMemory());
    // An input that the kernel never looks at is only what the output starts as.
    const auto partner = partnerOf(i);
    const bool aliased = partner && !arguments_.input(isOutput ? *partner : i).use_empty();
    const bool written = !isOutput && mayBeWritten(argument);
    if (!window) {
      if (!isLocal(*space) && *space != MemorySpace::any && *space != MemorySpace::hbm && *space != MemorySpace::host)
        return notNative(fmt::format("operand {} is in {} memory", i, nameOf(*space)));
      if (*space == MemorySpace::any || *space == MemorySpace::hbm) view.padding = tilePadding({dtype, array.shape});
      if (aliased && isLocal(*space) && *space != MemorySpace::semaphore_mem) {
        // In the core's memory the output is a copy of the input; the caller's array is the output's. Semaphores of a
        // program stay where they are.
        if (shared_ > 0) return notNative("an aliased whole operand beside threads");
        if (!isOutput) {
          const View whole = std::exchange(view, l_.allocate(dtype, array.shape));
          view.memory = l_.newMemory();
          l_.copy(whole, view);
        }
      } else if (aliased) {
        // They are one array, written through either of its names.
        if (arguments_.windowOf(*partner))
          return notNative("an aliased input and output, only one of them with a window");
        if (isOutput) view.memory = l_.ref(arguments_.input(*partner)).memory;
      }
      l_.setRef(argument, view);
      return {};
    }
    if (*space != MemorySpace::vmem && *space != MemorySpace::smem)
      return notNative("a window in another memory than VMEM or SMEM");
    Windowed w;
    w.window = &*window;
    w.map = arguments_.indexMap(*window);
    const IndexMapFacts map(w.map, rank());
    const BlockGeometry geometry(*window, array.shape);
    w.array = view;
    w.isOutput = isOutput;
    w.undefined = storage_bytes(array.dtype) == storage_bytes(dtype) ? array.dtype : dtype;
    if (window->revisitMode == RevisitMode::any && isOutput) return notNative("RevisitMode.ANY");
    if (aliased) {
      const auto& other = arguments_.windowOf(*partner);
      if (!other || other->bounds != window->bounds || !sameIndexMap(arguments_.indexMap(*other), w.map))
        return notNative("an aliased input and output with different windows");
    }
    // What the kernel writes to an input's block is seen as long as the block stays the same, and by nobody else.
    w.copied = !isOutput && (aliased || written);
    for (size_t d = 0; d < window->bounds.size(); ++d)
      w.mayOverhang |= geometry.hasPartialBlock(d) || !map.staysIn(d, geometry.numWholeBlocks(d), signature().grid);
    if (l_.options.checkBlocks) w.mayLeave = dimensionsToLeave(*window, array.shape, map);
    if (isOutput && !w.mayOverhang && !l_.options.streamed.empty() && l_.options.streamed[i - inputs]) {
      w.array.streamed = true;
      assumeLineAligned(*llvm::cast<llvm::LoadInst>(w.array.base));
    }
    w.array.distant = !isOutput && exceedsCaches(array.bytes(), l_.processor);
    if (!isOutput && !w.copied)
      w.turns = seenByTurns(map, *w.window, geometry, signature().grid, {fastest_, axesInOrder()});
    if (w.mayOverhang || w.copied) w.buffer = undefinedBuffer(dtype, w.undefined, window->bounds);
    // What is not written of a block that hangs over is what the array holds there, not what the block before left.
    const bool keepsArray = isOutput && w.mayOverhang && !lowered_.written[i - inputs];
    if (w.copied || keepsArray) {
      w.lastBlock = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), window->bounds.size()));
      for (size_t d = 0; d < window->bounds.size(); ++d)
        b_.CreateStore(b_.getInt64(static_cast<uint64_t>(INT64_MIN)), blockSlot(w, d));
    }
    windows_.push_back({std::move(w), argument});
    return {};
  }
  static int64_t paddingOf(const std::vector<int64_t>& padding, size_t d) {
    return d < padding.size() ? padding[d] : 0;
  }
  /// Dimensions in which the index map is not proved to stay in the array, as BlockGeometry::outside has it.
  std::vector<size_t> dimensionsToLeave(const Window& window, const Shape& array, const IndexMapFacts& map) const {
    const BlockGeometry geometry(window, array);
    std::vector<size_t> dimensions;
    for (size_t d = 0; d < array.size(); ++d) {
      const int64_t places = window.elementIndexed
                                 ? array[d] + paddingOf(window.padLow, d) + paddingOf(window.padHigh, d)
                                 : geometry.numBlocks(d);
      if (window.bounds[d] > 0 && array[d] > 0 && !map.staysIn(d, places, signature().grid)) dimensions.push_back(d);
    }
    return dimensions;
  }
  Reg blockSlot(const Windowed& w, size_t d) {
    return b_.CreateConstInBoundsGEP2_64(llvm::ArrayType::get(b_.getInt64Ty(), w.window->bounds.size()), w.lastBlock, 0,
                                         d);
  }

  // ---- the grid

  /// Fastest first.
  std::vector<size_t> axesInOrder() const {
    std::vector<size_t> axes;
    for (size_t a = rank(); a-- > static_cast<size_t>(shared_);) axes.push_back(a);
    axes.insert(axes.end(), order_.begin(), order_.end());
    return axes;
  }

  /// The order of the shared axes, fastest first, and the axis along which steps follow each other. Points of shared
  /// axes may come in any order: with products, in the one that changes the fewest bytes of blocks.
  void chooseOrder() {
    for (int a = shared_; a-- > 0;) order_.push_back(static_cast<size_t>(a));
    const auto many = [&](size_t a) { return signature().grid[a] != 1; };
    for (fastest_ = rank() - 1; fastest_ > 0 && !many(fastest_);) --fastest_;
    bool products = false;
    kernel_.walk([&](tpu::MatmulOp) { products = true; });
    if (!products || fastest_ >= order_.size()) return;
    const auto changed = [&](size_t axis) {
      int64_t bytes = 0;
      for (size_t i = 0; i < arguments_.numInputs(); ++i)
        if (const auto& window = arguments_.windowOf(i);
            window && IndexMapFacts(arguments_.indexMap(*window), rank()).uses(axis))
          bytes += num_elements(window->bounds) * storage_bytes(arguments_.arrayOf(i).dtype);
      return bytes;
    };
    for (const size_t a : order_)
      if (many(a) && changed(a) < changed(fastest_)) fastest_ = a;
    order_.erase(std::find(order_.begin(), order_.end(), fastest_));
    order_.insert(order_.begin(), fastest_);
  }

  Native grid(size_t d) {
    if (d == 0 && shared_ > 0) {
      Native ok;
      l_.loop(l_.function->getArg(3), l_.function->getArg(4), l_.index(1), [&](Reg point) {
        Reg rest = point;
        std::vector<Reg> at(static_cast<size_t>(shared_));
        for (const size_t a : order_) {
          at[a] = b_.CreateURem(rest, bounds_[a]);
          rest = b_.CreateUDiv(rest, bounds_[a]);
        }
        indices_ = at;
        ok = grid(static_cast<size_t>(shared_));
      });
      return ok;
    }
    if (d == rank()) return step();
    Native ok;
    l_.loop(l_.index(0), bounds_[d], l_.index(1), [&](Reg i) {
      indices_.resize(d);
      indices_.push_back(i);
      ok = grid(d + 1);
    });
    return ok;
  }

  Native step() {
    for (size_t d = 0; d < rank(); ++d)
      l_.setScalar(kernel_.getArgument(static_cast<unsigned>(d)), b_.CreateTrunc(indices_[d], b_.getInt32Ty()));
    for (auto& [w, argument] : windows_) {
      if (auto ok = place(w); !ok) return ok;
      if (auto ok = show(w, argument); !ok) return ok;
    }
    if (auto ok = l_.lowerBlock(kernel_.getBody().front()); !ok) return ok;
    for (auto& [w, argument] : windows_)
      if (w.isOutput && w.mayOverhang)
        l_.when(b_.CreateNot(w.whole), [&, &w = w] { storeInside(l_, {w.array, w.buffer, w.starts}); });
    return {};
  }

  /// Where the block of this step lies.
  Native place(Windowed& w) {
    if (fetchesAhead(w)) {
      std::vector<Reg> next = indices_;
      Reg last = b_.CreateSub(bounds_.back(), l_.index(1));
      next.back() = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(next.back(), l_.index(1)), last);
      if (auto ok = place(w, next); !ok) return ok;
      w.upcoming = elementPointer(b_, w.array, w.starts);
    }
    if (auto ok = place(w, indices_); !ok) return ok;
    for (const size_t d : w.mayLeave) requireInside(w, d);
    return {};
  }

  /// On a TPU such a block is memory of something else.
  void requireInside(const Windowed& w, size_t d) {
    Reg before = l_.index(-paddingOf(w.window->padLow, d) - w.window->bounds[d]);
    Reg end = l_.index(w.array.shape[d] + paddingOf(w.window->padHigh, d));
    l_.require(b_.CreateAnd(b_.CreateICmpSGT(w.starts[d], before), b_.CreateICmpSLT(w.starts[d], end)),
               KernelStatus::outside);
  }

  /// Worth knowing where the next step's block lies: small blocks, found by looking up, that few rows are multiplied
  /// with, so that the time goes into fetching them.
  bool fetchesAhead(Windowed& w) {
    constexpr int64_t kMostBytes = 64 << 10;
    if (w.isOutput || w.copied || rank() == 0 || w.window->elementIndexed) return false;
    return IndexMapFacts(w.map, rank()).readsMemory() &&
           num_elements(w.window->bounds) * storage_bytes(w.array.dtype) <= kMostBytes && multipliesFewRows();
  }
  bool multipliesFewRows() {
    bool found = false;
    kernel_.walk([&](tpu::MatmulOp product) {
      const Shape out = shapeOf(product.getType());
      found |= !out.empty() && num_elements(out) <= kFewRows * out.back();
    });
    return found;
  }

  /// The block of the step of these indices.
  Native place(Windowed& w, const std::vector<Reg>& indices) {
    mlir::Block& body = w.map.getBody().front();
    for (unsigned a = 0; a < body.getNumArguments(); ++a) {
      if (a < rank())
        l_.setScalar(body.getArgument(a), b_.CreateTrunc(indices[a], b_.getInt32Ty()));
      else
        l_.setRef(body.getArgument(a), l_.ref(kernel_.getArgument(a)));
    }
    // An index map is scalar code: the same lowering does.
    for (mlir::Operation& op : body.without_terminator()) {
      if (llvm::isa<mlir::arith::ConstantOp>(op)) continue;
      if (auto ok = l_.lowerOp(op); !ok) return ok;
    }
    w.starts.clear();
    w.sizes.clear();
    w.whole = b_.getTrue();
    for (size_t d = 0; d < w.window->bounds.size(); ++d) {
      Reg block = l_.scalar(body.getTerminator()->getOperand(static_cast<unsigned>(d)));
      if (!block) return notNative("an index map that native code does not follow");
      const int64_t size = w.window->bounds[d], extent = w.array.shape[d];
      Reg at = b_.CreateSExt(block, b_.getInt64Ty());
      const bool low = w.window->elementIndexed && d < w.window->padLow.size();
      Reg start = w.window->elementIndexed ? b_.CreateSub(at, l_.index(low ? w.window->padLow[d] : 0))
                                           : b_.CreateMul(at, l_.index(size));
      w.starts.push_back(start);
      if (w.mayOverhang)
        w.whole = b_.CreateAnd(w.whole, size > extent ? static_cast<Reg>(b_.getFalse())
                                                      : b_.CreateICmpULE(start, l_.index(extent - size)));
    }
    return {};
  }

  /// Binds the kernel's ref to the block: the array itself where the block lies inside.
  Native show(Windowed& w, mlir::BlockArgument argument) {
    const Shape& bounds = w.window->bounds;
    View view = slice(b_, w.array, w.starts, bounds);
    if (w.copied) {
      l_.when(blockChanges(w), [&] { fetch(w); });
      view = w.buffer;
    } else if (w.mayOverhang) {
      Reg hangsOver = b_.CreateNot(w.whole);
      if (w.lastBlock) hangsOver = b_.CreateAnd(hangsOver, blockChanges(w));
      if (!w.isOutput || w.lastBlock) l_.when(hangsOver, [&] { fetch(w); });
      view.base = b_.CreateSelect(w.whole, view.base, w.buffer.base);
      for (size_t d = 0; d < bounds.size(); ++d)
        if (bounds[d] != 1 && view.strides[d] != w.buffer.strides[d])
          view.strides[d] = b_.CreateSelect(w.whole, view.strides[d], w.buffer.strides[d]);
    }
    if (w.turns) takeTurns(w, view);
    view.memory = w.copied || w.mayOverhang ? w.buffer.memory : w.array.memory;
    if (w.upcoming)
      view.upcoming =
          b_.CreateSub(b_.CreatePtrToInt(w.upcoming, b_.getInt64Ty()), b_.CreatePtrToInt(view.base, b_.getInt64Ty()));
    auto type = llvm::cast<mlir::MemRefType>(argument.getType());
    auto shaped = reshape(b_, view, shapeOf(type));
    if (!shaped) return notNative("a window of another shape than its ref");
    l_.setRef(argument, *shaped);
    return {};
  }

  /// Whether this step's block is another than the last step's; remembers it.
  Reg blockChanges(const Windowed& w) {
    Reg changed = b_.getFalse();
    for (size_t d = 0; d < w.starts.size(); ++d) {
      Reg slot = blockSlot(w, d);
      changed = b_.CreateOr(changed, b_.CreateICmpNE(b_.CreateLoad(b_.getInt64Ty(), slot), w.starts[d]));
      b_.CreateStore(w.starts[d], slot);
    }
    return changed;
  }

  void takeTurns(const Windowed& w, View& view) {
    view.steady = w.whole;
    for (const size_t d : *w.turns) {
      const int64_t size = w.window->bounds[d], blocks = w.array.shape[d] / size;
      Reg block = b_.CreateUDiv(w.starts[d], l_.index(size));
      view.turn = view.turn ? b_.CreateAdd(b_.CreateMul(view.turn, l_.index(blocks)), block) : block;
      view.turns *= blocks;
    }
    // A block that hangs over is none of them.
    if (view.turn) view.turn = b_.CreateSelect(w.whole, view.turn, l_.index(0));
  }

  void fetch(Windowed& w) {
    fetchInside(l_, {w.array, w.buffer, w.starts},
                w.mayOverhang ? undefinedElement(b_, w.undefined, l_.options.poison) : nullptr);
  }

  const KernelPackage& package_;
  mlir::func::FuncOp kernel_;
  KernelArguments arguments_;
  Lowering l_;
  Builder& b_;
  int shared_;
  std::vector<size_t> order_;  ///< of the shared axes, fastest first
  size_t fastest_ = 0;         ///< axis along which steps follow each other
  std::vector<Reg> bounds_, indices_;
  std::vector<std::pair<Windowed, mlir::BlockArgument>> windows_;
  LoweredKernel lowered_;
};

}  // namespace

tl::expected<LoweredKernel, NotNative> lowerKernel(const KernelPackage& package, llvm::Module& module,
                                                   const Processor& processor, NativeReport& report,
                                                   InterpretedOps& interpreted, LowerOptions options) {
  auto& c = module.getContext();
  auto* pointer = llvm::PointerType::get(c, 0);
  auto* wide = llvm::Type::getInt64Ty(c);
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getInt32Ty(c), {pointer, pointer, pointer, wide, wide}, false),
      llvm::Function::ExternalLinkage, kKernelSymbol, module);
  function->addFnAttr("target-features", processor.features);
  return KernelLowering(package, module, function, processor, report, interpreted, std::move(options)).run();
}

}  // namespace smalti::cpu
