// Loops and branches, which carry scalars in registers and vectors in memory.
#include <array>

#include "gpu/emit/GpuLowering.h"
#include "ir/facts/Branches.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace smalti::gpu {
namespace {

/// Values that control flow carries from one block to another: in memory per vector, in a stack slot per scalar, which
/// the optimiser promotes to a register.
class Carried {
 public:
  Carried(GpuLowering& l, mlir::TypeRange types) : l_(l) {
    for (mlir::Type t : types) {
      const DType dtype = elementDType(t);
      if (llvm::isa<mlir::VectorType>(t))
        places_.push_back({l.allocate(dtype, shapeOf(t)), nullptr});
      else
        places_.push_back({{}, l.slot(cpu::registerType(l.b.getContext(), dtype, 1))});
    }
  }

  /// Assigns all at once, since a value may depend on what another place holds.
  NativeResult assign(mlir::ValueRange values) {
    std::vector<std::pair<View, View>> copies;
    for (size_t i = 0; i < places_.size(); ++i) {
      const mlir::Value v = values[static_cast<unsigned>(i)];
      if (!isVector(v)) continue;
      const View& place = places_[i].view;
      bool direct = !l_.readsElsewhere(v, place.memory);
      for (size_t k = 0; k < places_.size(); ++k)
        if (k != i && isVector(values[static_cast<unsigned>(k)]))
          direct &= !l_.reads(values[static_cast<unsigned>(k)]).contains(place.memory);
      if (direct) {
        if (auto ok = l_.computeInto(v, place); !ok) return ok;
        continue;
      }
      const View aside = l_.allocate(place.dtype, place.shape);
      if (auto ok = l_.computeInto(v, aside); !ok) return ok;
      copies.emplace_back(aside, place);
    }
    for (const auto& [from, to] : copies) {
      l_.touch({from.memory}, {to.memory});
      l_.forElements(to.shape, [&](const ElementIndex& at) {
        cpu::storeElements(l_.b, to.dtype, cpu::loadElements(l_.b, from.dtype, cpu::elementPointer(l_.b, from, at), 1),
                           cpu::elementPointer(l_.b, to, at), 1);
      });
    }
    std::vector<Reg> scalars(places_.size());
    for (size_t i = 0; i < places_.size(); ++i)
      if (places_[i].slot && !(scalars[i] = l_.scalar(values[static_cast<unsigned>(i)])))
        return unsupported("control flow that carries something other than values");
    for (size_t i = 0; i < places_.size(); ++i)
      if (places_[i].slot) l_.b.CreateStore(scalars[i], places_[i].slot);
    return {};
  }

  void bind(mlir::ValueRange values) {
    for (size_t i = 0; i < places_.size(); ++i) {
      const mlir::Value v = values[static_cast<unsigned>(i)];
      if (places_[i].slot)
        l_.setScalar(
            v, l_.b.CreateLoad(cpu::registerType(l_.b.getContext(), elementDType(v.getType()), 1), places_[i].slot));
      else
        l_.setView(v, places_[i].view);
    }
  }

 private:
  struct Carrier {
    View view;
    Reg slot = nullptr;
  };
  GpuLowering& l_;
  std::vector<Carrier> places_;
};

llvm::BasicBlock* newBlock(GpuLowering& l, const char* name) {
  return llvm::BasicBlock::Create(l.b.getContext(), name, l.function);
}

NativeResult lowerFor(GpuLowering& l, mlir::Operation& op) {
  if (op.hasAttr("unsignedCmp")) return unsupported("a loop with an unsigned comparison");
  if (auto ok = l.beforeRegions(op, true); !ok) return ok;
  mlir::Block& body = op.getRegion(0).front();
  Carried carried(l, op.getResultTypes());
  if (auto ok = carried.assign(op.getOperands().drop_front(3)); !ok) return ok;
  Reg lower = l.scalar(op.getOperand(0)), upper = l.scalar(op.getOperand(1)), step = l.scalar(op.getOperand(2));
  if (!lower || !upper || !step) return unsupported("a loop bound that device code does not follow");
  llvm::Type* type = lower->getType();
  l.require(l.b.CreateICmpSGT(step, llvm::ConstantInt::get(type, 0)));
  l.barrierNow();  // each iteration begins and ends with all threads synchronised
  auto *header = newBlock(l, "for"), *inside = newBlock(l, "for.body"), *after = newBlock(l, "for.end");
  Builder& b = l.b;
  auto* before = b.GetInsertBlock();
  b.CreateBr(header);
  b.SetInsertPoint(header);
  auto* i = b.CreatePHI(type, 2);
  i->addIncoming(lower, before);
  b.CreateCondBr(b.CreateICmpSLT(i, upper), inside, after);
  b.SetInsertPoint(inside);
  auto ok = l.inRegion([&]() -> NativeResult {
    l.setScalar(body.getArgument(0), i);
    carried.bind(body.getArguments().drop_front());
    if (auto lowered = l.lowerBlock(body); !lowered) return lowered;
    return carried.assign(body.getTerminator()->getOperands());
  });
  if (!ok) return ok;
  l.countIteration();
  l.barrierNow();
  // Overflow of the induction variable ends the loop.
  Reg next = b.CreateAdd(i, step);
  Reg more = b.CreateICmpSGT(next, i);
  i->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(more, header, after);
  b.SetInsertPoint(after);
  carried.bind(op.getResults());
  return {};
}

/// Whether nothing but such branches and pure ops follow this branch of the kernel's body in a step. What it writes is
/// then only needed in later steps, so that a barrier at its end replaces one that all steps would execute.
bool endsStep(mlir::Operation& op) {
  if (!llvm::isa<mlir::func::FuncOp>(op.getParentOp()) || op.getNumResults() > 0) return false;
  for (mlir::Operation* next = op.getNextNode(); next; next = next->getNextNode())
    if (!llvm::isa<mlir::scf::IfOp>(next) && !mlir::isPure(next) && !next->hasTrait<mlir::OpTrait::IsTerminator>())
      return false;
  return true;
}

NativeResult lowerIf(GpuLowering& l, mlir::Operation& op) {
  if (l.plan.products.zeroInitBranches.contains(&op)) return {};  // the product clears the scratch
  if (auto ok = l.beforeRegions(op, false); !ok) return ok;
  Carried carried(l, op.getResultTypes());
  Reg condition = l.scalar(op.getOperand(0));
  if (!condition) return unsupported("a condition that device code does not follow");
  auto *yes = newBlock(l, "if"), *no = newBlock(l, "else"), *after = newBlock(l, "endif");
  l.b.CreateCondBr(condition, yes, no);
  const Hazards before = l.hazards;
  const bool leavesNoHazards = before.none() && endsStep(op);
  Hazards joined;
  for (const auto& [block, number] : {std::pair{yes, 0u}, std::pair{no, 1u}}) {
    l.b.SetInsertPoint(block);
    l.hazards = before;
    const Reg outside = l.threadOfElements;
    if (number < op.getNumRegions() && !op.getRegion(number).empty()) {
      // The copy also keeps the branch: if it only sets registers, LLVM would make selections of them, which all steps
      // execute.
      if (l.plan.products.kept > 0 && !doesNothing(op.getRegion(number)))
        l.threadOfElements = l.device.opaqueCopy(l.b, l.thread);
      mlir::Block& body = op.getRegion(number).front();
      auto ok = l.inRegion([&]() -> NativeResult {
        if (auto lowered = l.lowerBlock(body); !lowered) return lowered;
        return carried.assign(body.getTerminator()->getOperands());
      });
      if (!ok) return ok;
      if (leavesNoHazards) l.barrierNow();
    }
    l.threadOfElements = outside;
    joined.join(l.hazards);
    l.b.CreateBr(after);
  }
  l.hazards = joined;
  l.b.SetInsertPoint(after);
  carried.bind(op.getResults());
  return {};
}

NativeResult lowerWhile(GpuLowering& l, mlir::Operation& op) {
  if (auto ok = l.beforeRegions(op, true); !ok) return ok;
  mlir::Block &before = op.getRegion(0).front(), &body = op.getRegion(1).front();
  Carried in(l, before.getArgumentTypes()), out(l, op.getResultTypes());
  if (auto ok = in.assign(op.getOperands()); !ok) return ok;
  l.barrierNow();
  auto *header = newBlock(l, "while"), *inside = newBlock(l, "while.body"), *after = newBlock(l, "while.end");
  Builder& b = l.b;
  b.CreateBr(header);
  b.SetInsertPoint(header);
  auto ok = l.inRegion([&]() -> NativeResult {
    in.bind(before.getArguments());
    if (auto lowered = l.lowerBlock(before); !lowered) return lowered;
    mlir::Operation* condition = before.getTerminator();
    Reg more = l.scalar(condition->getOperand(0));
    if (!more) return unsupported("a condition that device code does not follow");
    if (auto assigned = out.assign(condition->getOperands().drop_front()); !assigned) return assigned;
    l.barrierNow();
    b.CreateCondBr(more, inside, after);
    b.SetInsertPoint(inside);
    out.bind(body.getArguments());
    if (auto lowered = l.lowerBlock(body); !lowered) return lowered;
    return in.assign(body.getTerminator()->getOperands());
  });
  if (!ok) return ok;
  l.countIteration();
  l.barrierNow();
  b.CreateBr(header);
  b.SetInsertPoint(after);
  out.bind(op.getResults());
  return {};
}

/// run_scoped, whose allocations are freed at its end.
NativeResult lowerRegion(GpuLowering& l, mlir::Operation& op) {
  if (auto ok = l.beforeRegions(op, false); !ok) return ok;
  Carried carried(l, op.getResultTypes());
  mlir::Block& body = op.getRegion(0).front();
  auto ok = l.inRegion([&]() -> NativeResult {
    if (auto lowered = l.lowerBlock(body); !lowered) return lowered;
    return carried.assign(body.getTerminator()->getOperands());
  });
  if (ok) carried.bind(op.getResults());
  return ok;
}

NativeResult lowerAssert(GpuLowering& l, mlir::Operation& op) {
  Reg ok = l.scalar(op.getOperand(0));
  if (!ok) return unsupported("a condition that device code does not follow");
  l.require(ok);
  return {};
}

NativeResult lowerToNothing(GpuLowering&, mlir::Operation&) { return {}; }

constexpr std::array<GpuOpRow, 9> kControlTable{{
    {"scf.for", lowerFor},
    {"scf.if", lowerIf},
    {"scf.while", lowerWhile},
    {"tpu.region", lowerRegion},
    {"cf.assert", lowerAssert},
    {"tpu.trace_start", lowerToNothing},
    {"tpu.trace_stop", lowerToNothing},
    {"tpu.trace_value", lowerToNothing},
    {"tpu.delay", lowerToNothing},
}};

}  // namespace

std::span<const GpuOpRow> controlOps() { return kControlTable; }

}  // namespace smalti::gpu
