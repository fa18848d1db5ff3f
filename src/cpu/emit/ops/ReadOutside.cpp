#include "cpu/emit/ops/ReadOutside.h"

#include <utility>

#include "cpu/runtime/OutsideReads.h"
#include "ir/KernelPackage.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace smalti::cpu {
namespace {

/// Of a loop's body: with more loads whose bounds may be checked, each calls a function. With a branch of its own per
/// load, LLVM's register allocator takes time that grows with the square of their number: 700 loads took 5.9 s to
/// compile, and 2.2 s as calls.
constexpr int64_t kMaxInlineLoads = 64;
constexpr llvm::StringLiteral kPrefix = "smalti.load.", kOutsideSuffix = ".outside";

bool isLoadFunction(const llvm::Function& f) {
  return f.getName().starts_with(kPrefix) && !f.getName().ends_with(kOutsideSuffix);
}

struct Dimension {
  Reg start, size, step, stride, extent;
  llvm::SmallVector<Reg, 4> allButStart() const { return {size, step, stride, extent}; }
};

llvm::SmallVector<Dimension, 4> dimensionsOf(NativeLowering& l, const View& ref, const LoadBounds& load) {
  llvm::SmallVector<Dimension, 4> dims;
  for (size_t d = 0; d < load.starts.size(); ++d)
    dims.push_back({load.starts[d], l.index(load.sizes[d]), l.index(load.steps.empty() ? 1 : load.steps[d]),
                    ref.strides[d], extent(l.b, ref, d)});
  return dims;
}

Reg number(Builder& b, auto n) { return b.getInt32(static_cast<uint32_t>(n)); }

/// The address of ReadDimensions. `first`: where memory on the stack is allocated.
Reg storeDimensions(Builder& b, Builder&& first, llvm::ArrayRef<Dimension> dims) {
  constexpr size_t kNumbers = sizeof(ReadDimension) / sizeof(int64_t);
  Reg memory = first.CreateAlloca(llvm::ArrayType::get(b.getInt64Ty(), kNumbers * dims.size()));
  uint64_t at = 0;
  for (const Dimension& d : dims)
    for (Reg number : {d.start, d.size, d.step, d.stride, d.extent})
      b.CreateStore(number, b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), memory, at++));
  return memory;
}

/// The run-time function's result, where `b` inserts. `first`: where memory on the stack is allocated.
Reg callReadOutside(Builder& b, Builder first, llvm::Module& module, Reg context, Reg place, Reg ref,
                    llvm::ArrayRef<Dimension> dims, DType dtype) {
  Reg memory = storeDimensions(b, std::move(first), dims);
  auto* pointer = b.getPtrTy();
  auto callee = module.getOrInsertFunction(
      kReadOutsideSymbol,
      llvm::FunctionType::get(pointer, {pointer, pointer, pointer, pointer, b.getInt32Ty(), b.getInt32Ty()}, false));
  return b.CreateCall(callee, {context, place, ref, memory, number(b, dims.size()), number(b, dtype)});
}

Builder atEntry(llvm::Function& f) { return {&f.getEntryBlock(), f.getEntryBlock().begin()}; }

bool mayBeChecked(mlir::Operation& op) {
  const bool loads = op.getNumResults() == 1 && !llvm::isa<mlir::MemRefType>(op.getResult(0).getType()) &&
                     op.getNumOperands() > 1 && llvm::isa<mlir::MemRefType>(op.getOperand(0).getType());
  return loads && llvm::any_of(op.getOperands().drop_front(),
                               [](mlir::Value v) { return !mlir::matchPattern(v, mlir::m_Constant()); });
}

bool isBody(mlir::Operation& op) {
  return llvm::isa<mlir::scf::ForOp, mlir::scf::WhileOp, mlir::FunctionOpInterface>(op);
}

/// Whether the innermost loop around the op, or else the kernel, has too many loads for a branch each.
bool isAmongManyLoads(NativeLowering& l, mlir::Operation& op) {
  mlir::Operation* body = op.getParentOp();
  while (body && !isBody(*body)) body = body->getParentOp();
  if (!body) return false;
  const auto [known, isNew] = l.checkedLoads.try_emplace(body, 0);
  if (isNew)
    for (mlir::Region& region : body->getRegions())
      region.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* inner) {
        if (isBody(*inner)) return mlir::WalkResult::skip();
        known->second += mayBeChecked(*inner);
        return mlir::WalkResult::advance();
      });
  return known->second > kMaxInlineLoads;
}

/// What a function for such loads knows when it is compiled: the numbers that are constants. The others, and the
/// starts, are its arguments.
struct Signature {
  DType dtype;
  llvm::SmallVector<Dimension, 4> dims;

  std::string name() const {
    std::string name = (kPrefix + smalti::name(dtype)).str();
    for (const Dimension& d : dims) {
      for (Reg number : d.allButStart()) {
        auto* known = llvm::dyn_cast<llvm::ConstantInt>(number);
        name += "." + (known ? std::to_string(known->getSExtValue()) : "x");
      }
    }
    return name;
  }
  llvm::SmallVector<Reg, 8> arguments() const {
    llvm::SmallVector<Reg, 8> arguments;
    for (const Dimension& d : dims) {
      arguments.push_back(d.start);
      for (Reg number : d.allButStart())
        if (!llvm::isa<llvm::ConstantInt>(number)) arguments.push_back(number);
    }
    return arguments;
  }
  /// The same dimensions, their numbers from the function's arguments.
  llvm::SmallVector<Dimension, 4> within(llvm::Function& f, unsigned argument) const {
    llvm::SmallVector<Dimension, 4> all;
    const auto from = [&](Reg number) -> Reg {
      return llvm::isa<llvm::ConstantInt>(number) ? number : f.getArg(argument++);
    };
    for (const Dimension& d : dims) {
      Dimension in{.start = f.getArg(argument++)};
      in.size = from(d.size), in.step = from(d.step), in.stride = from(d.stride), in.extent = from(d.extent);
      all.push_back(in);
    }
    return all;
  }
};

/// ptr (ptr context, ptr place, ptr ref, i64 numbers…, ptr base, i1 inside): `base` if it is `inside`.
llvm::Function* loadFunction(NativeLowering& l, const Signature& signature) {
  const std::string name = signature.name();
  if (llvm::Function* known = l.module.getFunction(name)) return known;
  Builder b(l.b.getContext());
  llvm::SmallVector<llvm::Type*, 12> types(3, b.getPtrTy());
  types.append(signature.arguments().size(), b.getInt64Ty());
  // A function of its own for the rare case, so that only this one saves registers; its arguments are the first ones.
  llvm::Function* outside =
      l.newFunctionForRareCases(name + kOutsideSuffix.str(), llvm::FunctionType::get(b.getPtrTy(), types, false));
  outside->addFnAttr(llvm::Attribute::Cold);
  b.SetInsertPoint(&outside->getEntryBlock());
  b.CreateRet(callReadOutside(b, atEntry(*outside), l.module, outside->getArg(0), outside->getArg(1),
                              outside->getArg(2), signature.within(*outside, 3), signature.dtype));
  types.append({b.getPtrTy(), b.getInt1Ty()});
  llvm::Function* function = l.newFunctionForRareCases(name, llvm::FunctionType::get(b.getPtrTy(), types, false));
  auto* isInside = llvm::BasicBlock::Create(b.getContext(), "inside", function);
  auto* isOutside = llvm::BasicBlock::Create(b.getContext(), "outside", function);
  llvm::SmallVector<Reg, 12> arguments;
  for (llvm::Argument& argument : function->args()) arguments.push_back(&argument);
  Reg inside = arguments.pop_back_val(), base = arguments.pop_back_val();
  b.SetInsertPoint(&function->getEntryBlock());
  b.CreateCondBr(inside, isInside, isOutside, llvm::MDBuilder(b.getContext()).createBranchWeights(1 << 20, 1));
  b.SetInsertPoint(isInside);
  b.CreateRet(base);
  b.SetInsertPoint(isOutside);
  auto* call = b.CreateCall(outside, arguments);
  call->setCallingConv(outside->getCallingConv());
  b.CreateRet(call);
  return function;
}

/// `base` if it is `inside`, else the address from `call`, or the call ends `otherwise` if that is null.
Reg unlessOutside(NativeLowering& l, Reg inside, Reg base, KernelStatus otherwise, llvm::function_ref<Reg()> call) {
  Builder& b = l.b;
  auto* before = b.GetInsertBlock();
  auto* outside = llvm::BasicBlock::Create(b.getContext(), "outside", l.function);
  auto* on = llvm::BasicBlock::Create(b.getContext(), "inside", l.function);
  b.CreateCondBr(inside, on, outside, llvm::MDBuilder(b.getContext()).createBranchWeights(1 << 20, 1));
  b.SetInsertPoint(outside);
  Reg elsewhere = call();
  l.require(b.CreateIsNotNull(elsewhere), otherwise);
  auto* after = b.GetInsertBlock();
  b.CreateBr(on);
  b.SetInsertPoint(on);
  auto* from = b.CreatePHI(b.getPtrTy(), 2);
  from->addIncoming(base, before);
  from->addIncoming(elsewhere, after);
  return from;
}

}  // namespace

Reg loadedFrom(NativeLowering& l, mlir::Operation& op, const View& ref, const LoadBounds& load, Reg inside, Reg base) {
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(inside); known && known->isOne()) return base;
  Builder& b = l.b;
  const auto dims = dimensionsOf(l, ref, load);
  Reg place = b.CreateGlobalString(placeOf(op.getLoc()).str());
  if (isAmongManyLoads(l, op)) {
    const Signature signature{ref.dtype, dims};
    llvm::SmallVector<Reg, 12> arguments{l.context, place, ref.base};
    arguments.append(signature.arguments());
    arguments.append({base, inside});
    llvm::Function* function = loadFunction(l, signature);
    auto* from = b.CreateCall(function, arguments);
    from->setCallingConv(function->getCallingConv());
    l.require(b.CreateIsNotNull(from));
    return from;
  }
  return unlessOutside(l, inside, base, KernelStatus::fault, [&] {
    return callReadOutside(b, atEntry(*l.function), l.module, l.context, place, ref.base, dims, ref.dtype);
  });
}

bool inlineInsideLoads(llvm::Module& module) {
  bool changed = false;
  for (llvm::Function& function : module) {
    if (!isLoadFunction(function)) continue;
    for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
      auto* call = llvm::cast<llvm::CallInst>(user);
      const unsigned last = call->arg_size() - 1;
      if (auto* inside = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(last)); !inside || inside->isZero())
        continue;
      for (llvm::User* use : llvm::make_early_inc_range(call->users()))
        if (auto* isNull = llvm::dyn_cast<llvm::ICmpInst>(use)) {
          isNull->replaceAllUsesWith(
              llvm::ConstantInt::getBool(isNull->getContext(), isNull->getPredicate() == llvm::CmpInst::ICMP_NE));
          isNull->eraseFromParent();
        }
      call->replaceAllUsesWith(call->getArgOperand(last - 1));
      call->eraseFromParent();
      changed = true;
    }
  }
  return changed;
}

Reg inputBlockFrom(NativeLowering& l, int operand, const View& block, DType undefined, Reg inside, bool hasBuffer) {
  Builder& b = l.b;
  llvm::SmallVector<Dimension, 4> dims;
  for (size_t d = 0; d < block.shape.size() && !hasBuffer; ++d)
    dims.push_back({l.index(0), l.index(block.shape[d]), l.index(1), block.strides[d], l.index(0)});
  Reg elsewhere = unlessOutside(l, inside, block.base, KernelStatus::outside, [&] {
    Reg memory = storeDimensions(b, atEntry(*l.function), dims);
    auto* pointer = b.getPtrTy();
    auto callee = l.module.getOrInsertFunction(
        kBlockOutsideSymbol,
        llvm::FunctionType::get(pointer, {pointer, b.getInt32Ty(), pointer, b.getInt32Ty(), b.getInt32Ty()}, false));
    return b.CreateCall(callee, {l.context, number(b, operand), memory, number(b, dims.size()), number(b, undefined)});
  });
  return hasBuffer ? block.base : elsewhere;
}

void endAtOutsideReads(llvm::Module& module) {
  for (const char* symbol : {kReadOutsideSymbol, kBlockOutsideSymbol}) {
    llvm::Function* function = module.getFunction(symbol);
    if (!function) continue;
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    Builder b(llvm::BasicBlock::Create(module.getContext(), "", function));
    b.CreateRet(llvm::ConstantPointerNull::get(b.getPtrTy()));
  }
}

}  // namespace smalti::cpu
