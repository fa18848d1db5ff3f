// Loops and branches. They carry scalars in registers and vectors in memory.
#include <array>

#include "cpu/emit/IterationLimit.h"
#include "cpu/emit/ops/OpTables.h"

namespace smalti::cpu {
namespace {

/// Values that control flow carries from one block to another: a place in memory per vector, a stack slot per scalar
/// (which the optimiser makes registers).
class Carried {
 public:
  Carried(NativeLowering& l, mlir::TypeRange types) : l_(l) {
    auto& entry = l.function->getEntryBlock();
    Builder at(&entry, entry.begin());
    for (mlir::Type t : types) {
      const DType dtype = elementDType(t);
      if (llvm::isa<mlir::VectorType>(t)) {
        const View view = l.allocate(dtype, shapeOf(t));
        places_.push_back({view, nullptr});
      } else {
        places_.push_back({{}, at.CreateAlloca(registerType(l.b.getContext(), dtype, 1))});
      }
    }
  }

  /// Assigns all values at once, since the assignment may be a permutation.
  NativeResult assign(mlir::ValueRange values) {
    std::vector<View> views(values.size());
    std::vector<Reg> scalars(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const mlir::Value v = values[static_cast<unsigned>(i)];
      if (isVector(v)) {
        views[i] = l_.view(v);
      } else if (!(scalars[i] = l_.scalar(v))) {
        return unsupported("control flow that carries something other than values");
      }
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (scalars[i]) continue;
      for (size_t k = 0; k < i; ++k)  // copied first, since place k is written before it is read
        if (!scalars[k] && places_[k].view.owner == views[i].owner && views[i].owner) {
          View aside = l_.allocate(views[i].dtype, views[i].shape);
          pendingCopies_.push_back({views[i], aside});
          views[i] = aside;
          break;
        }
    }
    for (auto& [from, to] : pendingCopies_) l_.copy(from, to);
    pendingCopies_.clear();
    for (size_t i = 0; i < values.size(); ++i) {
      if (scalars[i])
        l_.b.CreateStore(scalars[i], places_[i].slot);
      else if (views[i].base != places_[i].view.base)
        l_.copy(views[i], places_[i].view);
    }
    return {};
  }

  void bind(mlir::ValueRange values) {
    for (size_t i = 0; i < values.size(); ++i) {
      const mlir::Value v = values[static_cast<unsigned>(i)];
      if (isVector(v))
        l_.setView(v, places_[i].view);
      else
        l_.setScalar(v,
                     l_.b.CreateLoad(registerType(l_.b.getContext(), elementDType(v.getType()), 1), places_[i].slot));
    }
  }

 private:
  struct Place {
    View view;
    Reg slot = nullptr;
  };
  NativeLowering& l_;
  std::vector<Place> places_;
  std::vector<std::pair<View, View>> pendingCopies_;
};

llvm::BasicBlock* newBlock(NativeLowering& l, const char* name) {
  return llvm::BasicBlock::Create(l.b.getContext(), name, l.function);
}

NativeResult lowerFor(NativeLowering& l, mlir::Operation& op) {
  mlir::Block& body = op.getRegion(0).front();
  Carried carried(l, op.getResultTypes());
  if (auto ok = carried.assign(op.getOperands().drop_front(3)); !ok) return ok;
  Reg lower = l.scalar(op.getOperand(0)), upper = l.scalar(op.getOperand(1)), step = l.scalar(op.getOperand(2));
  if (!lower || !upper || !step) return unsupported("a loop bound that native code does not follow");
  llvm::Type* type = lower->getType();
  l.require(l.b.CreateICmpSGT(step, llvm::ConstantInt::get(type, 0)));

  auto *header = newBlock(l, "for"), *inside = newBlock(l, "for.body"), *after = newBlock(l, "for.end");
  Builder& b = l.b;
  auto* before = b.GetInsertBlock();
  b.CreateBr(header);
  b.SetInsertPoint(header);
  auto* i = b.CreatePHI(type, 2);
  i->addIncoming(lower, before);
  b.CreateCondBr(b.CreateICmpSLT(i, upper), inside, after);
  b.SetInsertPoint(inside);
  l.setScalar(body.getArgument(0), i);
  carried.bind(body.getArguments().drop_front());
  if (auto ok = l.lowerBlock(body); !ok) return ok;
  if (auto ok = carried.assign(body.getTerminator()->getOperands()); !ok) return ok;
  countIteration(l, op);
  // Overflow of the induction variable ends the loop.
  Reg next = b.CreateAdd(i, step);
  Reg more = b.CreateICmpSGT(next, i);
  i->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(more, header, after);
  b.SetInsertPoint(after);
  carried.bind(op.getResults());
  return {};
}

NativeResult lowerIf(NativeLowering& l, mlir::Operation& op) {
  Carried carried(l, op.getResultTypes());
  Reg condition = l.scalar(op.getOperand(0));
  if (!condition) return unsupported("a condition that native code does not follow");
  NativeResult lowered;
  const auto branch = [&](unsigned r) {
    if (!lowered || op.getNumRegions() <= r || op.getRegion(r).empty()) return;
    mlir::Block& block = op.getRegion(r).front();
    lowered = l.lowerBlock(block);
    if (lowered) lowered = carried.assign(block.getTerminator()->getOperands());
  };
  l.ifElse(condition, [&] { branch(0); }, [&] { branch(1); });
  if (!lowered) return lowered;
  carried.bind(op.getResults());
  return {};
}

NativeResult lowerWhile(NativeLowering& l, mlir::Operation& op) {
  mlir::Block &before = op.getRegion(0).front(), &body = op.getRegion(1).front();
  Carried in(l, before.getArgumentTypes()), out(l, op.getResultTypes());
  if (auto ok = in.assign(op.getOperands()); !ok) return ok;
  auto *header = newBlock(l, "while"), *inside = newBlock(l, "while.body"), *after = newBlock(l, "while.end");
  Builder& b = l.b;
  b.CreateBr(header);
  b.SetInsertPoint(header);
  in.bind(before.getArguments());
  if (auto ok = l.lowerBlock(before); !ok) return ok;
  mlir::Operation* condition = before.getTerminator();
  Reg more = l.scalar(condition->getOperand(0));
  if (!more) return unsupported("a condition that native code does not follow");
  if (auto ok = out.assign(condition->getOperands().drop_front()); !ok) return ok;
  b.CreateCondBr(more, inside, after);
  b.SetInsertPoint(inside);
  out.bind(body.getArguments());
  if (auto ok = l.lowerBlock(body); !ok) return ok;
  if (auto ok = in.assign(body.getTerminator()->getOperands()); !ok) return ok;
  countIteration(l, op);
  b.CreateBr(header);
  b.SetInsertPoint(after);
  out.bind(op.getResults());
  return {};
}

/// run_scoped: its allocations are freed at its end.
NativeResult lowerRegion(NativeLowering& l, mlir::Operation& op) {
  Carried carried(l, op.getResultTypes());
  mlir::Block& body = op.getRegion(0).front();
  if (auto ok = l.lowerBlock(body); !ok) return ok;
  if (auto ok = carried.assign(body.getTerminator()->getOperands()); !ok) return ok;
  carried.bind(op.getResults());
  return {};
}

NativeResult lowerAssert(NativeLowering& l, mlir::Operation& op) {
  Reg ok = l.scalar(op.getOperand(0));
  if (!ok) return unsupported("a condition that native code does not follow");
  l.require(ok);
  return {};
}

NativeResult lowerToNothing(NativeLowering&, mlir::Operation&) { return {}; }

constexpr std::array<NativeOpRow, 9> kControlOps{{
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

std::span<const NativeOpRow> controlOps() { return kControlOps; }

}  // namespace smalti::cpu
