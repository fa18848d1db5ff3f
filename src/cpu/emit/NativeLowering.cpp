#include "cpu/emit/NativeLowering.h"

#include <algorithm>

#include "cpu/emit/Measured.h"
#include "cpu/emit/PackedView.h"
#include "cpu/emit/elements/Elementwise.h"
#include "cpu/emit/ops/Columns.h"
#include "cpu/emit/ops/OpTables.h"
#include "cpu/nest/NestEmitter.h"
#include "cpu/ops/NativeOps.h"
#include "ir/KernelPackage.h"
#include "ir/facts/Constants.h"
#include "ir/facts/OpFamilies.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace smalti::cpu {
Reg splatConstant(Builder& b, mlir::Value v) {
  auto dense = llvm::cast<mlir::DenseElementsAttr>(v.getDefiningOp()->getAttr("value"));
  const uint64_t bits = constantBits(dense.getSplatValue<mlir::Attribute>());
  return constantElement(b, elementDType(v.getType()), &bits);
}

NativeLowering::NativeLowering(llvm::Module& m, llvm::Function* f, const Processor& p, const BodyPlan& body,
                               NativeReport& r, FallbackOps& i, LowerOptions o)
    : b(m.getContext()), module(m), function(f), processor(p), plan(body), report(r), interpreted(i), options(o) {}
NativeLowering::~NativeLowering() = default;

// ---- values

Reg NativeLowering::scalar(mlir::Value v) {
  if (auto known = scalars_.find(v); known != scalars_.end()) return known->second;
  if (auto op = v.getDefiningOp<mlir::arith::ConstantOp>()) {
    const uint64_t bits = constantBits(op->getAttr("value"));
    return constantElement(b, elementDType(v.getType()), &bits);
  }
  return nullptr;
}

int64_t NativeLowering::placeBytes(DType t, std::span<const int64_t> shape) {
  constexpr int64_t kMaxBytes = int64_t{1} << 44;
  const int64_t elements = checkedElements(shape);
  if (status_ && (elements < 0 || arena.peakBytes() > kMaxBytes))
    status_ = unsupported("its values take more memory than any machine has");
  return status_ ? elements * storage_bytes(t) : 0;
}

View NativeLowering::allocate(DType t, std::span<const int64_t> shape) {
  return at(t, shape, arena.allocate(placeBytes(t, shape)));
}

View NativeLowering::allocateScoped(DType t, std::span<const int64_t> shape) {
  View v;
  if (options.devices) {
    v = at(t, shape, arena.allocateUnused(placeBytes(t, shape)));
    forPeers.push_back({v.owner, {t, v.shape}});
  } else {
    v = allocate(t, shape);
    // Poisoned to expose reads of undefined memory: the arena's memory is reused.
    fill(v, is_semaphore(t) ? index(0) : undefinedElement(b, t, options.poison));
  }
  v.memory = newMemory();
  return v;
}

View NativeLowering::at(DType t, std::span<const int64_t> shape, std::shared_ptr<const Arena::Block> place) {
  View v;
  v.dtype = t;
  v.shape.assign(shape.begin(), shape.end());
  v.owner = std::move(place);
  // In the function's entry block, so that it dominates all uses.
  v.base = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), arenaBase, static_cast<uint64_t>(v.owner->offset));
  v.strides = denseStrides(b, shape);
  return v;
}

const PackedView* NativeLowering::packedRef(mlir::Value v) const {
  auto at = packedRefs_.find(v);
  return at == packedRefs_.end() ? nullptr : at->second.get();
}

void NativeLowering::setPackedRef(mlir::Value v, PackedView view) {
  packedRefs_[v] = std::make_shared<const PackedView>(std::move(view));
}

void NativeLowering::setView(mlir::Value v, View view) { views_[v] = std::move(view); }

View NativeLowering::view(mlir::Value v) {
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
      const uint64_t bits = constantBits(a);
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
  // A deferred load, perhaps reshaped: it is read in place.
  if (op && boxes_.contains(op)) return boxOf(op);
  if (op && llvm::isa<mlir::vector::ShapeCastOp>(op) && isVector(op->getOperand(0))) {
    View source = view(op->getOperand(0));
    if (auto reshaped = reshape(b, source, shape)) return *reshaped;
  }
  if (status_) status_ = unsupported(kOtherPlan);
  return allocate(elementDType(v.getType()), shape);
}

// ---- control

llvm::Function* NativeLowering::newFunctionForRareCases(llvm::StringRef name, llvm::FunctionType* type) {
  auto* made = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module);
  const llvm::Triple triple(processor.triple);
  if (triple.isX86() || triple.isAArch64()) made->setCallingConv(llvm::CallingConv::PreserveAll);
  made->addFnAttr(llvm::Attribute::NoInline);
  llvm::BasicBlock::Create(b.getContext(), "", made);
  return made;
}

void NativeLowering::require(Reg ok, KernelStatus otherwise) {
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

void NativeLowering::loop(Reg begin, Reg end, Reg step, const std::function<void(Reg)>& body) {
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

void NativeLowering::when(Reg condition, const std::function<void()>& body) {
  auto& c = b.getContext();
  auto* inside = llvm::BasicBlock::Create(c, "then", function);
  auto* after = llvm::BasicBlock::Create(c, "endif", function);
  b.CreateCondBr(condition, inside, after);
  b.SetInsertPoint(inside);
  body();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void NativeLowering::ifElse(Reg condition, const std::function<void()>& body, const std::function<void()>& otherwise) {
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

void NativeLowering::copy(const View& from, const View& to) {
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

View NativeLowering::denseCopy(const View& from) {
  View to = allocate(from.dtype, from.shape);
  copy(from, to);
  return to;
}

void NativeLowering::fill(const View& to, Reg element) {
  Reg stored = toStorage(b, to.dtype, element);
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
  const int lanes = processor.lanes(storage_bytes(to.dtype));
  const int64_t n = to.elements(), whole = n / lanes * lanes;
  loop(index(0), index(whole), index(lanes), [&](Reg i) {
    b.CreateAlignedStore(b.CreateVectorSplat(static_cast<unsigned>(lanes), stored), b.CreateGEP(type, to.base, i),
                         align);
  });
  loop(index(whole), index(n), index(1),
       [&](Reg i) { b.CreateAlignedStore(stored, b.CreateGEP(type, to.base, i), align); });
}

// ---- blocks

NativeResult NativeLowering::lowerBlock(mlir::Block& block) {
  for (mlir::Operation& op : block.without_terminator()) {
    const auto planned = plan.ops.find(&op);
    if (planned == plan.ops.end()) continue;
    if (auto ok = lowerOp(op); !ok) return ok;
    if (!status_) return atOp(status_, op);
    for (const PlannedNests& nests : planned->second.after)
      if (auto ok = emitNests(nests); !ok) return ok;
    for (const mlir::Value v : planned->second.released) views_.erase(v);
  }
  if (auto ok = emitBefore(*block.getTerminator()); !ok) return ok;
  return status_;
}

NativeResult NativeLowering::lowerOp(mlir::Operation& op) {
  if (auto ok = emitBefore(op); !ok) return atOp(std::move(ok), op);
  return atOp(lowerHere(op), op);
}

NativeResult NativeLowering::atOp(NativeResult done, mlir::Operation& op) {
  if (!done && done.error().op.empty()) {
    done.error().op = op.getName().getStringRef().str();
    done.error().place = placeOf(op.getLoc());
  }
  return done;
}

NativeResult NativeLowering::lowerHere(mlir::Operation& op) {
  switch (plan.ops.find(&op)->second.code) {
    case OpCode::deferred:
      return {};
    case OpCode::own: {
      const MeasuredCode part(*this, worthMeasuring(op) ? std::vector{&op} : std::vector<mlir::Operation*>());
      return findLowering(op)(*this, op);
    }
    case OpCode::scalar:
      return lowerScalar(op);
    case OpCode::interpreted: {
      const MeasuredCode part(*this, {&op});
      return lowerByInterpreter(*this, op);
    }
  }
  return {};
}

NativeResult NativeLowering::lowerScalar(mlir::Operation& op) {
  std::vector<Reg> operands;
  for (mlir::Value v : op.getOperands()) operands.push_back(scalar(v));
  Reg r = findElementwise(op)(
      {b, op, operands, elementDType(op.getOperand(0).getType()), elementDType(op.getResult(0).getType())});
  if (!r) return unsupported("a scalar op is not native");
  setScalar(op.getResult(0), r);
  return {};
}

// ---- deferred vector ops

NativeResult NativeLowering::emitBefore(mlir::Operation& op) {
  const auto planned = plan.ops.find(&op);
  if (planned == plan.ops.end()) return {};
  for (const auto& step : planned->second.before) {
    const auto* nests = std::get_if<PlannedNests>(&step);
    if (auto ok = nests ? emitNests(*nests) : locate(std::get<LocatedStore>(step)); !ok) return ok;
  }
  return {};
}

NativeResult NativeLowering::locate(const LocatedStore& planned) {
  auto box = storeBox(*this, *planned.store);
  if (!box) return tl::unexpected(box.error());
  const Shape stored = shapeOf(planned.stored.getType());
  addAccess(*planned.store, stored == box->shape ? *box : *reshape(b, *box, stored));
  located_[planned.store] = std::move(*box);
  return {};
}

NativeResult NativeLowering::emitNests(const PlannedNests& planned) {
  const Segment& segment = planned.segment.segment;
  for (size_t i = 0; i < segment.nests.size(); ++i) {
    const Nest& nest = segment.nests[i];
    if (auto ok = emitNest(*this, segment, nest, planned.segment.details[i]); !ok)
      return atOp(std::move(ok), *segment.ops[nest.ops.front()].op);
  }
  for (mlir::Operation* op : planned.finished) boxes_.erase(op);
  return {};
}

}  // namespace smalti::cpu
