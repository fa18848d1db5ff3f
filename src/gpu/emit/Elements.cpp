// Computes elements of vector values where they are needed, and materialises values.
#include "cpu/emit/elements/Elementwise.h"
#include "gpu/emit/GpuLowering.h"
#include "gpu/emit/SameValue.h"
#include "gpu/emit/ops/ReduceInRegisters.h"
#include "ir/TpuOpsMemory.h"
#include "ir/TpuOpsShape.h"
#include "ir/facts/Constants.h"
#include "llvm/IR/Module.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace smalti::gpu {
namespace {

mlir::DenseElementsAttr denseConstant(mlir::Value v) {
  auto op = v.getDefiningOp<mlir::arith::ConstantOp>();
  return op ? llvm::dyn_cast_or_null<mlir::DenseElementsAttr>(op->getAttr("value")) : mlir::DenseElementsAttr();
}

/// The approximate cost of the op per element, in additions.
int costOf(mlir::Operation& op) {
  // Rough estimates, not measured.
  constexpr int kFunction = 20, kDivision = 8;
  if (op.getName().getDialectNamespace() == "math") return kFunction;
  if (llvm::isa<mlir::arith::DivFOp, mlir::arith::RemFOp, mlir::arith::DivSIOp, mlir::arith::DivUIOp,
                mlir::arith::RemSIOp, mlir::arith::RemUIOp>(op))
    return kDivision;
  return 1;
}

/// Costs saturate here, so that their sums do not overflow.
constexpr int kMaxCost = 1 << 20;
/// The longest chain of ops that are fused into one expression, which is emitted recursively. Chosen, not measured.
constexpr int kMaxDepth = 200;
/// Values of at most this cost per element, in additions, are recomputed wherever they are needed. Chosen, not
/// measured.
constexpr int kCheapElement = 4;
/// A broadcast operand that costs more is computed only once if each element is used at least this often. Chosen, not
/// measured.
constexpr int64_t kManyTimes = 4;

}  // namespace

// ---- deferred ops

void GpuLowering::defer(mlir::Operation& op, std::optional<View> box) {
  Deferred d{&op, std::move(box), costOf(op), 1};
  const bool moves = movesElementsHere(op);
  for (mlir::Value operand : op.getOperands()) {
    const auto found = deferred_.find(operand);
    if (d.box || found == deferred_.end()) continue;
    const bool isLoad = found->second.box.has_value();
    bool expensive = found->second.depth >= kMaxDepth;
    if (llvm::isa<mlir::vector::BroadcastOp>(op)) {
      const int64_t times = num_elements(shapeOf(op.getResult(0).getType())) /
                            std::max<int64_t>(num_elements(shapeOf(operand.getType())), 1);
      expensive |= times >= kManyTimes && found->second.cost > kCheapElement;
    } else if (moves) {
      expensive |= found->second.cost > kCheapElement;
    }
    if (expensive && !isLoad) {
      if (auto ok = materialise(operand); !ok && status) status = ok;
      continue;
    }
    d.cost = std::min(d.cost + found->second.cost, kMaxCost);
    d.depth = std::max(d.depth, found->second.depth + 1);
  }
  const mlir::Value result = op.getResult(0);
  const bool isLoad = d.box.has_value();
  const int cost = d.cost;
  deferred_[result] = std::move(d);
  // If its only user is computed with it, several ops can only need that user's result.
  if (isLoad || cost < kExpensiveElement || (result.hasOneUse() && isComputedWith(result, **result.user_begin())))
    return;
  llvm::DenseSet<mlir::Operation*> seen;
  if (consumers(result, seen) <= 1) return;
  const ElementShare share = shareElements(shapeOf(result.getType()), plan.threads, plan.longestRun);
  seen.clear();
  if (share.inRegisters && !distributionUnder(result) && staysInRegisters(result, seen)) {
    // Each thread computes its elements once and keeps them in registers.
    touch(reads(result), {});
    for (const ElementIndex& at : elementsInRegisters(share, shapeOf(result.getType())))
      if (!element(result, at)) return;
    return;
  }
  if (auto ok = materialise(result); !ok && status) status = ok;
}

/// Whether each thread needs, for all users of the value, only the elements that it has in registers.
bool GpuLowering::staysInRegisters(mlir::Value v, llvm::DenseSet<mlir::Operation*>& seen) const {
  return llvm::all_of(v.getUsers(), [&](mlir::Operation* user) {
    if (!seen.insert(user).second) return true;
    if (user->getBlock() != v.getParentBlock() || movesElementsHere(*user)) return false;
    if (user->getNumResults() == 1 && isVector(user->getResult(0)) && cpu::findElementwise(*user))
      return staysInRegisters(user->getResult(0), seen);
    if (llvm::isa<tpu::VectorStoreOp, mlir::vector::StoreOp>(user)) {
      const bool masked = user->getNumOperands() > 2 + shapeOf(user->getOperand(1).getType()).size();
      return user->getOperand(0) == v && !masked && !boolAttribute(*user, "add");
    }
    return reductionInRegisters(*this, *user).has_value();
  });
}

/// Whether the user is computed element by element together with the value.
bool GpuLowering::isComputedWith(mlir::Value v, mlir::Operation& user) {
  return user.getNumResults() == 1 && isVector(user.getResult(0)) && user.getBlock() == v.getParentBlock() &&
         (cpu::findElementwise(user) || movesElementsHere(user));
}

/// The number of nests that need elements of the value.
int GpuLowering::consumers(mlir::Value v, llvm::DenseSet<mlir::Operation*>& seen) const {
  constexpr size_t kMaxLookedAt = 64;
  int count = 0;
  for (mlir::Operation* user : v.getUsers()) {
    if (seen.size() > kMaxLookedAt) return 2;
    if (!seen.insert(user).second) continue;
    count += isComputedWith(v, *user) ? consumers(user->getResult(0), seen) : 1;
  }
  return count;
}

bool GpuLowering::isNeeded(mlir::Value v, mlir::Operation* besides) const {
  llvm::SmallVector<mlir::Value, 8> open{v};
  llvm::DenseSet<mlir::Operation*> seen;
  while (!open.empty()) {
    for (mlir::Operation* user : open.pop_back_val().getUsers()) {
      if (user == besides || !seen.insert(user).second) continue;
      if (!done_.contains(user)) return true;
      if (user->getNumResults() == 1 && deferred_.contains(user->getResult(0))) open.push_back(user->getResult(0));
    }
  }
  return false;
}

MemorySet GpuLowering::reads(mlir::Value v) const {
  MemorySet all;
  llvm::SmallVector<mlir::Value, 8> open{v};
  llvm::DenseSet<mlir::Value> seen;
  while (!open.empty()) {
    const mlir::Value at = open.pop_back_val();
    if (!isVector(at) || known_.contains(at) || !seen.insert(at).second) continue;
    if (auto view = views_.find(at); view != views_.end()) {
      all.insert(view->second.memory);
    } else if (auto d = deferred_.find(at); d != deferred_.end()) {
      if (d->second.box) {
        all.insert(d->second.box->memory);
        continue;
      }
      open.append(d->second.op->operand_begin(), d->second.op->operand_end());
    }
  }
  return all;
}

bool GpuLowering::readsElsewhere(mlir::Value v, int memory) const {
  llvm::SmallVector<mlir::Value, 8> open{v};
  llvm::DenseSet<mlir::Value> seen;
  while (!open.empty()) {
    const mlir::Value at = open.pop_back_val();
    auto d = deferred_.find(at);
    if (d == deferred_.end() || views_.contains(at) || d->second.box || !seen.insert(at).second) continue;
    if (movesElementsHere(*d->second.op)) {
      if (reads(at).contains(memory)) return true;
      continue;
    }
    open.append(d->second.op->operand_begin(), d->second.op->operand_end());
  }
  return false;
}

NativeResult GpuLowering::keepLoads(int memory, mlir::Operation* store, const View* box, mlir::Value stored) {
  llvm::SmallVector<mlir::Value, 4> kept;
  for (const auto& [value, d] : deferred_) {
    if (!d.box || d.box->memory != memory || views_.contains(value) || !isNeeded(value)) continue;
    const bool inPlace = store && stored && !isNeeded(value, store) && sameBox(*d.box, *box) &&
                         shapeOf(value.getType()) == shapeOf(stored.getType()) && !readsElsewhere(stored, memory);
    if (!inPlace) kept.push_back(value);
  }
  llvm::sort(kept, [&](mlir::Value x, mlir::Value y) {
    return liveness_.begin(x.getDefiningOp()) < liveness_.begin(y.getDefiningOp());
  });
  for (mlir::Value v : kept)
    if (auto ok = materialise(v); !ok) return ok;
  return {};
}

// ---- values in memory

NativeResult GpuLowering::computeInto(mlir::Value v, const View& to) {
  touch(reads(v), {to.memory});
  forRuns(to.shape, [&](std::span<const ElementIndex> run) { storeRun(v, to, run); });
  return status;
}

mlir::Value GpuLowering::unrounded(mlir::Value v) const {
  auto rounded = v.getDefiningOp<mlir::arith::TruncFOp>();
  const bool isHere = rounded && isDeferred(v) && !known_.contains(v);
  const DType to = elementDType(v.getType());
  return isHere && (to == DType::bf16 || to == DType::f16) && elementDType(rounded.getIn().getType()) == DType::f32
             ? rounded.getIn()
             : mlir::Value();
}

void GpuLowering::storeRun(mlir::Value v, const View& to, std::span<const ElementIndex> run) {
  // One instruction rounds two neighbours to bf16.
  size_t last = to.shape.size();
  while (last > 0 && to.shape[last - 1] == 1) --last;
  const mlir::Value f32 = to.dtype == DType::bf16 ? unrounded(v) : mlir::Value();
  const bool inPairs = f32 && last > 0 && constantOf(to.strides[last - 1]) == 1 &&
                       shareElements(to.shape, plan.threads, plan.longestRun).run > 1;
  llvm::SmallVector<Reg, kBatchElements> elements;
  for (const ElementIndex& at : run) {
    elements.push_back(element(inPairs ? f32 : v, at));
    if (!elements.back()) return;
  }
  if (inPairs) {
    llvm::SmallVector<Reg, kBatchElements / 2> pairs;
    for (size_t i = 0; i < run.size(); i += 2)
      pairs.push_back(device.packed(b, elements[i], elements[i + 1], DType::bf16));
    for (size_t i = 0; i < pairs.size(); ++i)
      b.CreateAlignedStore(pairs[i], cpu::elementPointer(b, to, run[2 * i]), llvm::Align(2));
    return;
  }
  for (size_t i = 0; i < run.size(); ++i)
    cpu::storeElements(b, to.dtype, elements[i], cpu::elementPointer(b, to, run[i]), 1);
}

NativeResult GpuLowering::materialise(mlir::Value v) {
  const Shape shape = shapeOf(v.getType());
  const int64_t n = num_elements(shape);
  if (known_.contains(v)) return {};
  if (n < 1 || n > kKnownElements || views_.contains(v) || distributionUnder(v)) return computeOnce(v);
  touch(reads(v), {});
  std::vector<Reg> elements;
  for (int64_t i = 0; i < n; ++i) {
    elements.push_back(element(v, placeOf(index(i), shape)));
    if (!elements.back()) return status;
  }
  setKnown(v, std::move(elements));
  deferred_.erase(v);
  return {};
}

NativeResult GpuLowering::computeOnce(mlir::Value v) {
  if (views_.contains(v) || fragments_.contains(v)) return {};
  if (const auto under = distributionUnder(v)) {
    const Fragment made = newFragment(*under, v.getType());
    touch(reads(v), {});
    forDistributed(*under, shapeOf(v.getType()), RowsBeyond::repeatLast, [&](const ElementIndex& at) {
      if (Reg r = element(v, at)) setElement(made, r);
    });
    setFragment(v, made);
    deferred_.erase(v);
    return status;
  }
  View made = allocate(elementDType(v.getType()), shapeOf(v.getType()));
  if (auto ok = computeInto(v, made); !ok) return ok;
  views_[v] = std::move(made);
  deferred_.erase(v);
  return {};
}

tl::expected<View, cpu::Unsupported> GpuLowering::view(mlir::Value v) {
  if (auto ok = computeOnce(v); !ok) return tl::unexpected(ok.error());
  return views_[v];
}

tl::expected<View, cpu::Unsupported> GpuLowering::readable(mlir::Value v) {
  if (auto d = deferred_.find(v); d != deferred_.end()) {
    if (d->second.box) return *d->second.box;
    // A reshape does not move elements.
    if (llvm::isa<mlir::vector::ShapeCastOp>(d->second.op)) {
      const mlir::Value from = d->second.op->getOperand(0);
      const auto under = deferred_.find(from);
      if (under != deferred_.end() && under->second.box && !views_.contains(from) && !views_.contains(v))
        if (auto shaped = cpu::reshape(b, *under->second.box, shapeOf(v.getType()))) return *shaped;
    }
  }
  return view(v);
}

// ---- elements

Reg GpuLowering::scalar(mlir::Value v) {
  if (auto known = scalars_.find(v); known != scalars_.end()) return known->second;
  if (auto op = v.getDefiningOp<mlir::arith::ConstantOp>(); op && !isVector(v)) {
    const uint64_t bits = constantBits(op->getAttr("value"));
    return cpu::constantElement(b, elementDType(v.getType()), &bits);
  }
  return nullptr;
}

Reg GpuLowering::scalarFrom(mlir::Value v, llvm::DenseMap<mlir::Value, Reg>& known) {
  if (const auto found = known.find(v); found != known.end()) return found->second;
  mlir::Operation* op = v.getDefiningOp();
  if (!op) return nullptr;
  if (llvm::isa<mlir::arith::ConstantOp>(op)) return scalar(v);
  if (llvm::isa<mlir::memref::LoadOp>(op)) return known[v] = scalarLoadedFrom(*op, known);
  const auto compute = cpu::findElementwise(*op);
  if (!compute) return nullptr;
  std::vector<Reg> operands;
  for (mlir::Value operand : op->getOperands()) {
    operands.push_back(scalarFrom(operand, known));
    if (!operands.back()) return nullptr;
  }
  const DType in = op->getNumOperands() > 0 ? elementDType(op->getOperand(0).getType()) : DType::i32;
  return known[v] = compute({b, *op, operands, in, elementDType(v.getType())});
}

/// Clamps the indices to the ref. The step that they belong to checks them and ends the call.
Reg GpuLowering::scalarLoadedFrom(mlir::Operation& load, llvm::DenseMap<mlir::Value, Reg>& known) {
  if (!hasRef(load.getOperand(0))) return nullptr;
  const View& from = ref(load.getOperand(0));
  ElementIndex at;
  for (size_t d = 0; d < from.shape.size(); ++d) {
    Reg index = scalarFrom(load.getOperand(static_cast<unsigned>(d) + 1), known);
    if (!index || from.shape[d] == 0) return nullptr;
    at.push_back(b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, index, this->index(from.shape[d] - 1)));
  }
  return cpu::loadElements(b, from.dtype, cpu::elementPointer(b, from, at), 1);
}

Reg GpuLowering::constantAt(mlir::Value v, const ElementIndex& at) {
  const auto dense = denseConstant(v);
  const DType t = elementDType(v.getType());
  if (dense.isSplat()) {
    const uint64_t bits = constantBits(dense.getSplatValue<mlir::Attribute>());
    return cpu::constantElement(b, t, &bits);
  }
  llvm::GlobalVariable*& global = constants_[v];
  if (!global) {
    std::string bytes;
    for (mlir::Attribute a : dense.getValues<mlir::Attribute>()) {
      const uint64_t bits = constantBits(a);
      bytes.append(reinterpret_cast<const char*>(&bits), static_cast<size_t>(storage_bytes(t)));
    }
    auto* data = llvm::ConstantDataArray::getString(b.getContext(), bytes, false);
    global = new llvm::GlobalVariable(module, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data,
                                      "constant", nullptr, llvm::GlobalValue::NotThreadLocal, plan.globalSpace);
    global->setAlignment(llvm::Align(64));
  }
  View view;
  view.dtype = t;
  view.shape = shapeOf(v.getType());
  view.strides = cpu::denseStrides(b, view.shape);
  view.base = b.CreateAddrSpaceCast(global, b.getPtrTy());
  return cpu::loadElements(b, t, cpu::elementPointer(b, view, at), 1);
}

Reg GpuLowering::element(mlir::Value v, const ElementIndex& at) {
  if (!isVector(v)) {
    Reg r = scalar(v);
    return r ? r : refuse("a scalar that device code does not follow");
  }
  if (denseConstant(v)) return constantAt(v, at);
  if (const Fragment* f = fragment(v)) return currentElement(*f);
  if (const auto known = known_.find(v); known != known_.end()) {
    // Selects one of the few elements; the comparisons are folded if the index is a constant.
    Reg number = linearOf(at, shapeOf(v.getType()));
    Reg r = known->second.front();
    for (size_t i = 1; i < known->second.size(); ++i)
      r = b.CreateSelect(b.CreateICmpEQ(number, index(static_cast<int64_t>(i))), known->second[i], r);
    return r;
  }
  for (auto& level : memo_)
    if (auto known = level.find(v); known != level.end())
      for (const auto& [place, r] : known->second)
        if (place == at) return r;
  Reg r = nullptr;
  if (auto view = views_.find(v); view != views_.end()) {
    r = cpu::loadElements(b, view->second.dtype, cpu::elementPointer(b, view->second, at), 1);
  } else if (auto d = deferred_.find(v); d != deferred_.end()) {
    r = compute(v, Deferred(d->second), at);
  } else {
    return refuse("a value that device code does not follow");
  }
  if (r && !memo_.empty()) memo_.back()[v].emplace_back(at, r);
  return r;
}

Reg GpuLowering::compute(mlir::Value, const Deferred& d, const ElementIndex& at) {
  if (d.box) return cpu::loadElements(b, d.box->dtype, cpu::elementPointer(b, *d.box, at), 1);
  if (movesElementsHere(*d.op)) return movedElement(*this, *d.op, at);
  return computeElementwise(*d.op, at);
}

Reg GpuLowering::computeElementwise(mlir::Operation& op, const ElementIndex& at) {
  std::vector<Reg> operands;
  for (mlir::Value operand : op.getOperands()) {
    operands.push_back(element(operand, at));
    if (!operands.back()) return nullptr;
  }
  const DType in = op.getNumOperands() > 0 ? elementDType(op.getOperand(0).getType()) : DType::f32;
  Reg r = cpu::findElementwise(op)({b, op, operands, in, elementDType(op.getResult(0).getType())});
  return r ? r : refuse(op.getName().getStringRef().str() + " of this dtype");
}

}  // namespace smalti::gpu
