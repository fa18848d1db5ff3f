#include "cpu/emit/Lowering.h"

#include <algorithm>
#include <array>

#include "cpu/emit/Measured.h"
#include "cpu/emit/PackedView.h"
#include "cpu/emit/elements/Elementwise.h"
#include "cpu/emit/ops/Columns.h"
#include "cpu/nest/ElementMap.h"
#include "cpu/nest/Segment.h"
#include "ir/KernelPackage.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace smalti::cpu {
namespace {

/// An attribute's element in storage form.
uint64_t storageBits(mlir::Attribute attribute) {
  if (auto f = llvm::dyn_cast<mlir::FloatAttr>(attribute)) return f.getValue().bitcastToAPInt().getZExtValue();
  if (auto i = llvm::dyn_cast<mlir::IntegerAttr>(attribute)) {
    const llvm::APInt value = i.getValue();
    if (value.getBitWidth() == 1) return value.getZExtValue();
    return value.getSignificantBits() <= 64 ? static_cast<uint64_t>(value.getSExtValue()) : 0;
  }
  return 0;
}

}  // namespace

bool isSplatConstant(mlir::Value v) {
  auto op = v.getDefiningOp<mlir::arith::ConstantOp>();
  if (!op) return false;
  auto dense = llvm::dyn_cast_or_null<mlir::DenseElementsAttr>(op->getAttr("value"));
  return dense && dense.isSplat();
}

Reg splatConstant(Builder& b, mlir::Value v) {
  auto dense = llvm::cast<mlir::DenseElementsAttr>(v.getDefiningOp()->getAttr("value"));
  const uint64_t bits = storageBits(dense.getSplatValue<mlir::Attribute>());
  return constantElement(b, elementDType(v.getType()), &bits);
}

Lowering::Lowering(llvm::Module& m, llvm::Function* f, const Processor& p, NativeReport& r, InterpretedOps& i,
                   LowerOptions o, mlir::Operation* root)
    : b(m.getContext()),
      module(m),
      function(f),
      processor(p),
      report(r),
      interpreted(i),
      options(std::move(o)),
      liveness_(root) {}
Lowering::~Lowering() = default;

// ---- values

Reg Lowering::scalar(mlir::Value v) {
  if (auto known = scalars_.find(v); known != scalars_.end()) return known->second;
  if (auto op = v.getDefiningOp<mlir::arith::ConstantOp>()) {
    const uint64_t bits = storageBits(op->getAttr("value"));
    return constantElement(b, elementDType(v.getType()), &bits);
  }
  return nullptr;
}

int64_t Lowering::placeBytes(DType t, std::span<const int64_t> shape) {
  constexpr int64_t kMostBytes = int64_t{1} << 44;
  const int64_t elements = checkedElements(shape);
  if (failure_ && (elements < 0 || arena.peakBytes() > kMostBytes))
    failure_ = unsupported("its values take more memory than any machine has");
  return failure_ ? elements * storage_bytes(t) : 0;
}

View Lowering::allocate(DType t, std::span<const int64_t> shape) {
  return at(t, shape, arena.allocate(placeBytes(t, shape)));
}

View Lowering::allocateScoped(DType t, std::span<const int64_t> shape) {
  View v;
  if (options.devices) {
    v = at(t, shape, arena.allocateUnused(placeBytes(t, shape)));
    forPeers.push_back({v.owner, {t, v.shape}});
  } else {
    v = allocate(t, shape);
    // So that one sees it; the arena's places are used again and again.
    fill(v, is_semaphore(t) ? index(0) : undefinedElement(b, t, options.poison));
  }
  v.memory = newMemory();
  return v;
}

View Lowering::at(DType t, std::span<const int64_t> shape, std::shared_ptr<const Arena::Block> place) {
  View v;
  v.dtype = t;
  v.shape.assign(shape.begin(), shape.end());
  v.owner = std::move(place);
  // At the function's start, so that it may be used anywhere.
  v.base = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), arenaBase, static_cast<uint64_t>(v.owner->offset));
  v.strides = denseStrides(b, shape);
  return v;
}

const PackedView* Lowering::packedRef(mlir::Value v) const {
  auto at = packedRefs_.find(v);
  return at == packedRefs_.end() ? nullptr : at->second.get();
}

void Lowering::setPackedRef(mlir::Value v, PackedView view) {
  packedRefs_[v] = std::make_shared<const PackedView>(std::move(view));
}

void Lowering::setView(mlir::Value v, View view) { views_[v] = std::move(view); }

View Lowering::view(mlir::Value v) {
  if (const View* known = findView(v)) return *known;
  mlir::Operation* op = v.getDefiningOp();
  const Shape shape = shapeOf(v.getType());
  if (llvm::isa_and_present<mlir::arith::ConstantOp>(op)) {
    const DType t = elementDType(v.getType());
    if (isSplatConstant(v)) {
      View filled = allocate(t, shape);
      fill(filled, splatConstant(b, v));
      return filled;
    }
    auto dense = llvm::cast<mlir::DenseElementsAttr>(op->getAttr("value"));
    std::string bytes;
    for (mlir::Attribute a : dense.getValues<mlir::Attribute>()) {
      const uint64_t bits = storageBits(a);
      bytes.append(reinterpret_cast<const char*>(&bits), static_cast<size_t>(storage_bytes(t)));
    }
    auto* data = llvm::ConstantDataArray::getString(b.getContext(), bytes, false);
    auto* global = new llvm::GlobalVariable(module, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data);
    global->setAlignment(llvm::Align(64));
    View constant;
    constant.dtype = t;
    constant.shape = shape;
    constant.base = global;
    constant.strides = denseStrides(b, shape);
    setView(v, constant);
    return constant;
  }
  // A pending load, perhaps reshaped: its own memory will do.
  for (const PendingOp& p : pending_)
    if (p.isLoad() && p.op == op) return *p.box;
  if (llvm::isa_and_present<mlir::vector::ShapeCastOp>(op) && isVector(op->getOperand(0)))
    for (const PendingOp& p : pending_)
      if (p.op == op) {
        View source = view(op->getOperand(0));
        if (auto reshaped = reshape(b, source, shape)) return *reshaped;
      }
  // Anything else that is still pending is evaluated into a place of its own.
  View made = allocate(elementDType(v.getType()), shape);
  Segment segment;
  segment.ops = pending_;
  for (size_t i = 0; i < segment.ops.size(); ++i)
    for (mlir::Value r : segment.ops[i].op->getResults()) segment.opOf[r] = i;
  for (size_t i = 0; i < segment.ops.size(); ++i)
    if (segment.ops[i].op == op) {
      segment.materialised.insert(v);
      const Nest nest{rowsOf(shape), {i}, {}};
      // Free ops have no nest: as one op of this nest it gets a place.
      if (auto ok = emitNest(*this, segment, nest); !ok) failure_ = ok;
      if (const View* known = findView(v)) return *known;
    }
  if (failure_) failure_ = unsupported("a value is used before it is computed");
  return made;
}

// ---- control

void Lowering::require(Reg ok, KernelStatus otherwise) {
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(ok); known && known->isOne()) return;
  llvm::BasicBlock*& leaving = leaving_[otherwise];
  if (!leaving) {
    leaving = llvm::BasicBlock::Create(b.getContext(), "fault", function);
    Builder at(leaving);
    at.CreateRet(at.getInt32(static_cast<uint32_t>(otherwise)));
  }
  auto* next = llvm::BasicBlock::Create(b.getContext(), "inside", function);
  llvm::MDBuilder weights(b.getContext());
  b.CreateCondBr(ok, next, leaving, weights.createBranchWeights(1 << 20, 1));
  b.SetInsertPoint(next);
}

void Lowering::loop(Reg begin, Reg end, Reg step, const std::function<void(Reg)>& body) {
  if (auto first = constantOf(begin), last = constantOf(end), by = constantOf(step); first && last && by) {
    if (*first >= *last) return;
    if (*first + *by >= *last) {
      body(begin);
      return;
    }
  }
  auto& c = b.getContext();
  auto* before = b.GetInsertBlock();
  auto* header = llvm::BasicBlock::Create(c, "loop", function);
  auto* inside = llvm::BasicBlock::Create(c, "body", function);
  auto* after = llvm::BasicBlock::Create(c, "next", function);
  b.CreateBr(header);
  b.SetInsertPoint(header);
  auto* i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(begin, before);
  b.CreateCondBr(b.CreateICmpSLT(i, end), inside, after);
  b.SetInsertPoint(inside);
  body(i);
  i->addIncoming(b.CreateAdd(i, step), b.GetInsertBlock());
  b.CreateBr(header);
  b.SetInsertPoint(after);
}

void Lowering::when(Reg condition, const std::function<void()>& body) {
  auto& c = b.getContext();
  auto* inside = llvm::BasicBlock::Create(c, "then", function);
  auto* after = llvm::BasicBlock::Create(c, "endif", function);
  b.CreateCondBr(condition, inside, after);
  b.SetInsertPoint(inside);
  body();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void Lowering::either(Reg condition, const std::function<void()>& body, const std::function<void()>& otherwise) {
  auto& c = b.getContext();
  auto* yes = llvm::BasicBlock::Create(c, "then", function);
  auto* no = llvm::BasicBlock::Create(c, "else", function);
  auto* after = llvm::BasicBlock::Create(c, "endif", function);
  b.CreateCondBr(condition, yes, no);
  for (const auto& [block, emit] : {std::pair{yes, &body}, std::pair{no, &otherwise}}) {
    b.SetInsertPoint(block);
    (*emit)();
    b.CreateBr(after);
  }
  b.SetInsertPoint(after);
}

void Lowering::copy(const View& from, const View& to) {
  const int bytes = storage_bytes(to.dtype);
  if (isDense(from) && isDense(to)) {
    b.CreateMemMove(to.base, llvm::Align(static_cast<uint64_t>(bytes)), from.base,
                    llvm::Align(static_cast<uint64_t>(bytes)), static_cast<uint64_t>(to.elements() * bytes));
    return;
  }
  if (copyTransposed(*this, from, to)) return;
  std::vector<Reg> at(to.shape.size(), index(0));
  std::function<void(size_t)> walk = [&](size_t d) {
    const bool contiguous =
        d + 1 == to.shape.size() && constantOf(from.strides[d]) == 1 && constantOf(to.strides[d]) == 1;
    if (d == to.shape.size() || contiguous) {
      const int64_t n = contiguous ? to.shape[d] : 1;
      b.CreateMemMove(elementPointer(b, to, at), llvm::Align(static_cast<uint64_t>(bytes)), elementPointer(b, from, at),
                      llvm::Align(static_cast<uint64_t>(bytes)), static_cast<uint64_t>(n * bytes));
      return;
    }
    loop(index(0), index(to.shape[d]), index(1), [&](Reg i) {
      at[d] = i;
      walk(d + 1);
      at[d] = index(0);
    });
  };
  walk(0);
}

View Lowering::denseCopy(const View& from) {
  View to = allocate(from.dtype, from.shape);
  copy(from, to);
  return to;
}

void Lowering::fill(const View& to, Reg element) {
  Reg stored = toStorage(b, to.dtype, element);
  const int lanes = processor.lanes(storage_bytes(to.dtype));
  const int64_t n = to.elements(), whole = n / lanes * lanes;
  const llvm::Align align(static_cast<uint64_t>(storage_bytes(to.dtype)));
  llvm::Type* type = storageType(b.getContext(), to.dtype);
  if (!isDense(to)) {
    std::vector<Reg> at(to.shape.size(), index(0));
    std::function<void(size_t)> walk = [&](size_t d) {
      if (d == to.shape.size()) {
        b.CreateAlignedStore(stored, elementPointer(b, to, at), align);
        return;
      }
      loop(index(0), extent(b, to, d), index(1), [&](Reg i) {
        at[d] = i;
        walk(d + 1);
      });
    };
    walk(0);
    return;
  }
  loop(index(0), index(whole), index(lanes), [&](Reg i) {
    b.CreateAlignedStore(b.CreateVectorSplat(static_cast<unsigned>(lanes), stored), b.CreateGEP(type, to.base, i),
                         align);
  });
  loop(index(whole), index(n), index(1),
       [&](Reg i) { b.CreateAlignedStore(stored, b.CreateGEP(type, to.base, i), align); });
}

// ---- blocks

LowerResult Lowering::lowerBlock(mlir::Block& block) {
  for (mlir::Operation& op : block.without_terminator()) {
    const bool checksBounds = isLoad(op);
    if (llvm::isa<mlir::arith::ConstantOp>(op) || isSkipped(&op) || (liveness_.dead(&op) && !checksBounds)) {
      done_.insert(&op);
      continue;
    }
    if (auto ok = lowerOp(op); !ok) return ok;
    if (!failure_) return failure_;
    if (llvm::none_of(pending_, [&](const PendingOp& p) { return p.op == &op; })) done_.insert(&op);
    // Nests are planned by walking their ops again and again, and deeply: in pieces that are small enough.
    constexpr size_t kMostPending = 1000;
    if (pending_.size() >= kMostPending)
      if (auto ok = flush(); !ok) return ok;
    if (pending_.size() >= kMostPending / 2 && pending_.size() % 64 == 0)
      if (auto ok = flushBeforeWrites(); !ok) return ok;
    releaseUpTo(liveness_.end(&op));
  }
  if (auto ok = flushBeforeWrites(); !ok) return ok;
  return failure_;
}

int Lowering::lastNeed(mlir::Value v) const {
  int last = liveness_.lastUse(v);
  for (mlir::Operation* user : v.getUsers())
    if (!done_.contains(user) && user->getNumResults() == 1 && isRematerializable({.op = user}))
      last = std::max(last, lastNeed(user->getResult(0)));
  return last;
}

void Lowering::releaseUpTo(int position) {
  if (llvm::any_of(pending_, [](const PendingOp& p) { return !isRematerializable(p); })) return;
  llvm::SmallVector<mlir::Value> over;
  for (auto& [value, view] : views_)
    if (view.owner && lastNeed(value) <= position) over.push_back(value);
  for (mlir::Value v : over) views_.erase(v);
}

LowerResult Lowering::lowerOp(mlir::Operation& op) {
  LowerResult done = lowerHere(op);
  if (!done) recordUnsupportedOp(op);
  return done;
}

void Lowering::recordUnsupportedOp(mlir::Operation& op) {
  if (!report.unsupportedAt.known()) report.unsupportedAt = placeOf(op.getLoc());
}

LowerResult Lowering::lowerHere(mlir::Operation& op) {
  if (isCollected(op)) {
    addPending({.op = &op});
    return {};
  }
  if (LowerOp lower = findLowering(op)) {
    const MeasuredCode part(*this, worthMeasuring(op) ? std::vector{&op} : std::vector<mlir::Operation*>());
    return lower(*this, op);
  }
  const bool vectors = llvm::any_of(op.getResultTypes(), [](mlir::Type t) { return llvm::isa<mlir::VectorType>(t); });
  if (!vectors && op.getNumResults() == 1 && isElementwise(op) &&
      llvm::none_of(op.getOperandTypes(), [](mlir::Type t) { return llvm::isa<mlir::VectorType>(t); })) {
    std::vector<Reg> operands;
    for (mlir::Value v : op.getOperands()) operands.push_back(scalar(v));
    Reg r = findElementwise(op)(
        {b, op, operands, elementDType(op.getOperand(0).getType()), elementDType(op.getResult(0).getType())});
    if (!r) return unsupported("a scalar op is not native");
    setScalar(op.getResult(0), r);
    return {};
  }
  const MeasuredCode part(*this, {&op});
  return lowerInterpreted(*this, op);
}

// ---- pending ops

void Lowering::addPending(PendingOp p) { pending_.push_back(std::move(p)); }

bool Lowering::neededLater(mlir::Value v) const {
  return llvm::any_of(v.getUsers(), [&](mlir::Operation* user) { return !done_.contains(user); });
}

bool Lowering::isNeededBeyond(mlir::Value v, const llvm::DenseSet<mlir::Operation*>& here) const {
  return llvm::any_of(v.getUsers(), [&](mlir::Operation* user) {
    if (done_.contains(user) || here.contains(user)) return false;
    return !isRematerializable({.op = user}) || user->getNumResults() != 1 || isNeededBeyond(user->getResult(0), here);
  });
}

/// Pending free ops that must get a place now: a store comes between them and an op that needs them. `writesFollow`:
/// everything that something outside needs.
llvm::DenseSet<mlir::Operation*> Lowering::valuesToMaterialise(const std::vector<PendingOp>& ops,
                                                               bool writesFollow) const {
  llvm::DenseMap<mlir::Operation*, size_t> position;
  for (size_t i = 0; i < ops.size(); ++i) position[ops[i].op] = i;
  // Where a value is needed last: beyond the list when an op outside needs it. From the back: users come later.
  std::vector<size_t> lastNeeded(ops.size(), 0);
  for (size_t i = ops.size(); i-- > 0;) {
    if (ops[i].isStore()) continue;
    for (mlir::Operation* user : ops[i].op->getResult(0).getUsers()) {
      auto at = position.find(user);
      if (at != position.end())
        lastNeeded[i] =
            std::max(lastNeeded[i], isRematerializable(ops[at->second]) ? lastNeeded[at->second] : at->second);
      else if (!done_.contains(user))
        lastNeeded[i] = ops.size();
    }
  }
  llvm::DenseSet<mlir::Operation*> settle;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (!isRematerializable(ops[i])) continue;
    if (writesFollow && lastNeeded[i] == ops.size() &&
        llvm::any_of(ops[i].op->getResult(0).getUsers(),
                     [&](mlir::Operation* u) { return !position.contains(u) && !done_.contains(u); }))
      settle.insert(ops[i].op);
    if (!ops[i].isLoad()) continue;
    for (size_t s = i + 1; s < std::min(lastNeeded[i], ops.size()); ++s)
      if (ops[s].isStore() && mayOverlap(*ops[s].box, *ops[i].box)) settle.insert(ops[i].op);
  }
  return settle;
}

LowerResult Lowering::emit(const llvm::DenseSet<mlir::Operation*>& settle) {
  const Segment segment = planSegment(std::move(pending_), settle);
  pending_.clear();
  for (const Nest& nest : segment.nests) {
    if (auto ok = emitNest(*this, segment, nest); !ok) {
      if (!nest.ops.empty()) recordUnsupportedOp(*segment.ops[nest.ops.front()].op);
      return ok;
    }
    for (size_t i : nest.ops) done_.insert(segment.ops[i].op);
  }
  // From the back: a free op is needed when one is that reads it.
  std::vector<PendingOp> rest;
  for (size_t i = segment.ops.size(); i-- > 0;) {
    const PendingOp& p = segment.ops[i];
    if (done_.contains(p.op)) continue;
    if (neededLater(p.op->getResult(0)))
      rest.push_back(p);
    else
      done_.insert(p.op);
  }
  pending_.assign(rest.rbegin(), rest.rend());
  return {};
}

LowerResult Lowering::flush() { return pending_.empty() ? LowerResult{} : emit(valuesToMaterialise(pending_, false)); }

LowerResult Lowering::flushBeforeWrites() {
  if (pending_.empty()) return {};
  if (auto ok = emit(valuesToMaterialise(pending_, true)); !ok) return ok;
  for (const PendingOp& p : pending_) done_.insert(p.op);
  pending_.clear();
  return {};
}

LowerOp findLowering(mlir::Operation& op) {
  static const llvm::StringMap<LowerOp>& table = *[] {
    auto* all = new llvm::StringMap<LowerOp>;
    for (auto rows : {bitcastOps(), controlOps(), convOps(), iotaOps(), memoryOps(), shapeOps(), matmulOps(), pickOps(),
                      reduceOps(), searchOps(), syncOps()})
      for (const auto& [name, lower] : rows) (*all)[llvm::StringRef(name.data(), name.size())] = lower;
    return all;
  }();
  auto found = table.find(op.getName().getStringRef());
  return found == table.end() ? nullptr : found->second;
}

}  // namespace smalti::cpu
