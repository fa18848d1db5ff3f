#include "gpu/emit/GpuLowering.h"

#include "cpu/emit/elements/Elementwise.h"
#include "gpu/emit/Product.h"
#include "gpu/emit/Stream.h"
#include "ir/KernelPackage.h"
#include "ir/facts/OpFamilies.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace smalti::gpu {
namespace {

/// The largest value in shared memory, in bytes; larger values would leave no room for others. Chosen, not measured.
constexpr int64_t kMaxSharedBytes = 32 << 10;

}  // namespace

GpuLowering::GpuLowering(llvm::Module& m, llvm::Function* f, const LaunchPlan& p, eval::Poison undefined,
                         mlir::Operation* root)
    : b(m.getContext()), module(m), function(f), plan(p), poison(undefined), device(m), liveness_(root) {}

Reg GpuLowering::refuse(std::string why) {
  if (status) status = unsupported(std::move(why));
  return nullptr;
}

// ---- memory

Reg GpuLowering::arenaPointer(const cpu::Arena::Block& block, bool inShared) {
  // Shared memory begins with the stages of products.
  return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), inShared ? sharedBase : workspace,
                                      static_cast<uint64_t>(block.offset + (inShared ? plan.stageBytes : 0)));
}

View GpuLowering::allocate(DType t, std::span<const int64_t> shape) {
  constexpr int64_t kMaxBytes = int64_t{1} << 40;
  int64_t bytes = checkedElements(shape);
  if (bytes < 0 || __builtin_mul_overflow(bytes, static_cast<int64_t>(storage_bytes(t)), &bytes) ||
      global_.peakBytes() > kMaxBytes) {
    refuse("its values take more memory than any GPU has");
    bytes = 0;
  }
  View v;
  v.dtype = t;
  v.shape.assign(shape.begin(), shape.end());
  v.strides = cpu::denseStrides(b, shape);
  v.memory = newMemory();
  bool inShared = bytes <= kMaxSharedBytes;
  if (inShared) {
    v.owner = shared_.allocate(bytes);
    const int64_t end = v.owner->offset + bytes;
    inShared = end <= plan.sharedBytes;
    if (inShared) {
      sharedPeak_ = std::max(sharedPeak_, end);
      noteShared(v.memory);
    }
  }
  if (!inShared) v.owner = global_.allocate(bytes);
  v.base = arenaPointer(*v.owner, inShared);
  // The memory may have held another value that slower threads still read.
  if (hazards.reused()) hazards.note({v.memory}, {});
  return v;
}

View GpuLowering::allocateUndefined(DType t, DType undefined, std::span<const int64_t> shape) {
  View v = allocate(t, shape);
  fill(v, is_semaphore(t) ? index(0) : cpu::undefinedElement(b, undefined, poison));
  return v;
}

Reg GpuLowering::tensorMap(size_t number) {
  return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), function->getArg(5), number * TensorMap::kBytes);
}

Reg GpuLowering::slot(llvm::Type* type) {
  auto& entry = function->getEntryBlock();
  Builder at(&entry, entry.begin());
  return at.CreateAlloca(type);
}

// ---- threads

void GpuLowering::barrierNow() {
  if (hazards.none()) return;
  if (stream) stream->endTurn();  // a warp group that waits for its turn does not reach the barrier
  device.barrier(b);
  hazards.clear();
}

void GpuLowering::touch(const MemorySet& allReads, const MemorySet& allWrites) {
  // Registers are not visible to other threads.
  const auto isVisible = [&](int m) { return !registersOfMemory(m) && !unshared_.contains(m); };
  MemorySet reads, writes;
  for (const int m : allReads)
    if (isVisible(m)) reads.insert(m);
  for (const int m : allWrites)
    if (isVisible(m)) writes.insert(m);
  if (hazards.needsBarrier(reads, writes)) barrierNow();
  hazards.note(reads, writes);
}

ElementIndex GpuLowering::placeOf(Reg linear, std::span<const int64_t> shape) {
  ElementIndex place(shape.size(), index(0));
  Reg rest = linear;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) continue;
    bool more = false;
    for (size_t k = 0; k < d; ++k) more |= shape[k] != 1;
    Reg size = llvm::ConstantInt::get(rest->getType(), static_cast<uint64_t>(shape[d]));
    place[d] = b.CreateZExt(more ? b.CreateURem(rest, size) : rest, b.getInt64Ty());
    if (more) rest = b.CreateUDiv(rest, size);
  }
  return place;
}

Reg GpuLowering::linearOf(const ElementIndex& place, std::span<const int64_t> shape) {
  Reg linear = index(0);
  for (size_t d = 0; d < shape.size(); ++d)
    linear = b.CreateAdd(b.CreateMul(linear, index(shape[d])), shape[d] == 1 ? index(0) : place[d]);
  return linear;
}

void GpuLowering::forElements(std::span<const int64_t> shape, const std::function<void(const ElementIndex&)>& body) {
  const int64_t n = num_elements(shape);
  if (n <= 0) return;
  const Scope scope(*this);
  const auto threads = static_cast<int64_t>(plan.threads);
  // Fewer than 2^31 elements are numbered by 32-bit integers, which GPUs divide faster.
  const bool isSmall = n + threads <= INT32_MAX;
  Reg first = isSmall ? thread : b.CreateZExt(thread, b.getInt64Ty());
  const auto number = [&](int64_t i) { return llvm::ConstantInt::get(first->getType(), static_cast<uint64_t>(i)); };
  if (n <= threads) {
    if (n == threads)
      body(placeOf(first, shape));
    else
      when(b.CreateICmpULT(first, number(n)), [&] { body(placeOf(first, shape)); });
    return;
  }
  loop(first, number(n), number(threads), [&](Reg i) { body(placeOf(i, shape)); });
}

void GpuLowering::forElements(std::span<const Reg> sizes, const std::function<void(const ElementIndex&)>& body) {
  const Scope scope(*this);
  Reg n = index(1);
  for (Reg size : sizes) n = b.CreateMul(n, size);
  loop(b.CreateZExt(thread, b.getInt64Ty()), n, index(plan.threads), [&](Reg i) {
    ElementIndex place(sizes.size(), index(0));
    for (size_t d = sizes.size(); d-- > 0;) {
      if (constantOf(sizes[d]) == 1) continue;
      place[d] = d == 0 ? i : b.CreateURem(i, sizes[d]);
      if (d > 0) i = b.CreateUDiv(i, sizes[d]);
    }
    body(place);
  });
}

void GpuLowering::byOneThread(const std::function<void()>& body) {
  const Scope scope(*this);
  when(b.CreateICmpEQ(thread, b.getInt32(0)), body);
}

void GpuLowering::fill(const View& to, Reg element) {
  touch({}, {to.memory});
  if (!to.dynamic() && !is_semaphore(to.dtype)) {
    forRuns(to.shape, [&](std::span<const ElementIndex> run) {
      for (const ElementIndex& at : run) cpu::storeElements(b, to.dtype, element, cpu::elementPointer(b, to, at), 1);
    });
    return;
  }
  const auto store = [&](const ElementIndex& at) {
    if (is_semaphore(to.dtype))
      b.CreateAlignedStore(element, cpu::elementPointer(b, to, at), llvm::Align(8));
    else
      cpu::storeElements(b, to.dtype, element, cpu::elementPointer(b, to, at), 1);
  };
  if (!to.dynamic()) return forElements(to.shape, store);
  forElements(to.sizes, store);
}

// ---- control

void GpuLowering::require(Reg ok, KernelStatus otherwise) {
  if (constantOf(ok).value_or(0) != 0) return;
  auto& c = b.getContext();
  auto* leave = llvm::BasicBlock::Create(c, "leave", function);
  auto* next = llvm::BasicBlock::Create(c, "on", function);
  b.CreateCondBr(ok, next, leave, llvm::MDBuilder(c).createLikelyBranchWeights());
  b.SetInsertPoint(leave);
  b.CreateStore(b.getInt32(static_cast<uint32_t>(otherwise)), kernelStatus);
  if (stream && stream->plan().usesTma) stream->endEarly();
  b.CreateRetVoid();
  b.SetInsertPoint(next);
}

void GpuLowering::note(KernelStatus end) {
  const auto status = [&](KernelStatus s) { return b.getInt32(static_cast<uint32_t>(s)); };
  b.CreateAtomicCmpXchg(kernelStatus, status(KernelStatus::done), status(end), llvm::Align(4),
                        llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Monotonic);
}

std::vector<Reg> GpuLowering::carry(Reg begin, Reg end, Reg step, std::vector<Reg> start,
                                    const std::function<std::vector<Reg>(Reg, const std::vector<Reg>&)>& body) {
  auto& c = b.getContext();
  auto* before = b.GetInsertBlock();
  auto* header = llvm::BasicBlock::Create(c, "loop", function);
  auto* inside = llvm::BasicBlock::Create(c, "body", function);
  auto* after = llvm::BasicBlock::Create(c, "next", function);
  b.CreateBr(header);
  b.SetInsertPoint(header);
  auto* i = b.CreatePHI(begin->getType(), 2);
  i->addIncoming(begin, before);
  std::vector<Reg> carried;
  for (Reg s : start) {
    auto* phi = b.CreatePHI(s->getType(), 2);
    phi->addIncoming(s, before);
    carried.push_back(phi);
  }
  b.CreateCondBr(b.CreateICmpSLT(i, end), inside, after);
  b.SetInsertPoint(inside);
  const Scope scope(*this);
  const std::vector<Reg> next = body(i, carried);
  i->addIncoming(b.CreateAdd(i, step), b.GetInsertBlock());
  for (size_t k = 0; k < carried.size(); ++k)
    llvm::cast<llvm::PHINode>(carried[k])
        ->addIncoming(k < next.size() && next[k] ? next[k] : start[k], b.GetInsertBlock());
  b.CreateBr(header);
  b.SetInsertPoint(after);
  return carried;
}

void GpuLowering::loop(Reg begin, Reg end, Reg step, const std::function<void(Reg)>& body) {
  carry(begin, end, step, {}, [&](Reg i, const std::vector<Reg>&) {
    body(i);
    return std::vector<Reg>();
  });
}

void GpuLowering::when(Reg condition, const std::function<void()>& body) {
  auto& c = b.getContext();
  auto* inside = llvm::BasicBlock::Create(c, "then", function);
  auto* after = llvm::BasicBlock::Create(c, "endif", function);
  b.CreateCondBr(condition, inside, after);
  b.SetInsertPoint(inside);
  {
    const Scope scope(*this);
    body();
  }
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void GpuLowering::countIteration() {
  Reg left = b.CreateSub(b.CreateLoad(b.getInt64Ty(), iterations), index(1));
  b.CreateStore(left, iterations);
  require(b.CreateICmpSGE(left, index(0)), KernelStatus::stepLimit);
  require(b.CreateNot(device.stopped(b)), KernelStatus::stopped);
}

// ---- blocks

NativeResult GpuLowering::lowerBlock(mlir::Block& block) {
  for (mlir::Operation& op : block.without_terminator()) {
    if (llvm::isa<mlir::arith::ConstantOp>(op) || (liveness_.dead(&op) && !isLoad(op))) {
      done_.insert(&op);
      continue;
    }
    NativeResult ok = lowerOp(op);
    if (ok && !status) ok = status;
    if (!ok) {
      if (!unsupportedAt.known()) unsupportedAt = smalti::placeOf(op.getLoc());
      return ok;
    }
    done_.insert(&op);
    releaseUpTo(liveness_.end(&op));
  }
  return {};
}

NativeResult GpuLowering::lowerOp(mlir::Operation& op) {
  if (op.getNumResults() == 1 && fragments_.contains(op.getResult(0))) return {};  // computed with the product
  if (const auto with = plan.products.sums.find(&op); with != plan.products.sums.end())
    return lowerWaitingProduct(*this, *with->second);
  if (LowerOp lower = findLowering(op)) return lower(*this, op);
  const bool vectors = llvm::any_of(op.getResultTypes(), [](mlir::Type t) { return llvm::isa<mlir::VectorType>(t); });
  const bool elementwise = op.getNumResults() == 1 && cpu::findElementwise(op);
  if (vectors && elementwise) {
    defer(op);
    return {};
  }
  if (vectors && movesElementsHere(op)) {
    if (auto ok = checkMove(*this, op); !ok) return ok;
    defer(op);
    return {};
  }
  if (elementwise && llvm::none_of(op.getOperands(), isVector)) {
    Reg r = computeElementwise(op, {});
    if (!r) return status ? unsupported("a scalar op") : status;
    setScalar(op.getResult(0), r);
    return {};
  }
  return unsupported(op.getName().getStringRef().str());
}

NativeResult GpuLowering::beforeRegions(mlir::Operation& op, bool isLoop) {
  bool changes = false;
  for (mlir::Region& region : op.getRegions())
    region.walk([&](mlir::Operation* inner) { changes |= mayChangeMemory(*inner); });
  std::vector<mlir::Value> toMaterialise;
  for (const auto& [value, d] : deferred_) {
    const bool kept = d.box && changes;
    const bool expensive =
        isLoop && !d.box && d.cost >= kExpensiveElement &&
        llvm::any_of(value.getUsers(), [&](mlir::Operation* user) { return op.isProperAncestor(user); });
    if ((kept || expensive) && isNeeded(value)) toMaterialise.push_back(value);
  }
  // In program order, so that equal kernels give equal code.
  llvm::sort(toMaterialise, [&](mlir::Value x, mlir::Value y) {
    return liveness_.begin(x.getDefiningOp()) < liveness_.begin(y.getDefiningOp());
  });
  for (mlir::Value v : toMaterialise)
    if (auto ok = materialise(v); !ok) return ok;
  return {};
}

NativeResult GpuLowering::inRegion(const std::function<NativeResult()>& body) {
  const Scope scope(*this);
  const auto views = views_;
  const auto deferred = deferred_;
  const auto fragments = fragments_;
  const auto known = known_;
  NativeResult ok = body();
  for (const auto& [value, view] : views_)
    if (!views.contains(value) && view.owner) hazards.markReusable(view.memory);
  views_ = views;
  deferred_ = deferred;
  fragments_ = fragments;
  known_ = known;
  return ok;
}

int GpuLowering::lastNeed(mlir::Value v) const {
  int last = -1;
  llvm::SmallVector<mlir::Value, 8> open{v};
  llvm::DenseSet<mlir::Value> seen;
  while (!open.empty()) {
    const mlir::Value at = open.pop_back_val();
    if (!seen.insert(at).second) continue;
    last = std::max(last, liveness_.lastUse(at));
    for (mlir::Operation* user : at.getUsers())
      if (user->getNumResults() == 1 && deferred_.contains(user->getResult(0))) open.push_back(user->getResult(0));
  }
  return last;
}

void GpuLowering::releaseUpTo(int position) {
  llvm::SmallVector<mlir::Value> over;
  for (auto& [value, view] : views_)
    if (view.owner && lastNeed(value) <= position) over.push_back(value);
  for (mlir::Value v : over) {
    hazards.markReusable(views_[v].memory);
    views_.erase(v);
  }
  over.clear();
  for (auto& [value, d] : deferred_)
    if (lastNeed(value) <= position) over.push_back(value);
  for (mlir::Value v : over) deferred_.erase(v);
}

LowerOp findLowering(mlir::Operation& op) {
  static const llvm::StringMap<LowerOp>& table = *[] {
    auto* all = new llvm::StringMap<LowerOp>;
    for (auto rows : {atomicOps(), concatenateOps(), controlOps(), convOps(), memoryOps(), printOps(), refOps(),
                      productOps(), randomOps(), reduceOps(), scalarOps(), searchOps(), syncOps()})
      for (const auto& [name, lower] : rows) (*all)[llvm::StringRef(name.data(), name.size())] = lower;
    return all;
  }();
  auto found = table.find(op.getName().getStringRef());
  return found == table.end() ? nullptr : found->second;
}

}  // namespace smalti::gpu
