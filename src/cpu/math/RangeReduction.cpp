#include "cpu/math/RangeReduction.h"

#include "eval/MathCoefficients.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace smalti::cpu {

using namespace coefficients;
namespace {

/// Below it three f32 of π/2 leave a remainder as good as f32 can hold.
constexpr double kLarge = 32768.0;

/// Subtracts n times π/2 in three parts; the first step is exact.
QuarterTurns reduceSmall(Lanes x) {
  constexpr double kRound = 12582912.0;  // 1.5 · 2^23: adding it leaves a whole number in the low bits
  const Lanes rounded = fma(x, 0x1.45f306p-1, kRound);
  const Lanes n = rounded - kRound;
  const Lanes first = fma(n, -kHalfPi[0], x);
  const Lanes r = fma(n, -kHalfPi[2], fma(n, -kHalfPi[1], first));
  constexpr double kBeyondFirst = double{kHalfPi[1]} + double{kHalfPi[2]};
  const Lanes exact = fma(widened(n), -kBeyondFirst, widened(first));
  return {bitsOf(rounded), r, narrowed(exact - widened(r))};
}

/// x · 2/π modulo 4 in double, part by part of 2/π: each product is exact, and so is its remainder modulo 4. The sum is
/// kept in two doubles, for it may be within 2^-30 of a whole number.
QuarterTurns reduceLarge(Lanes operand) {
  const Lanes x = widened(operand);
  Lanes sum = x.constant(0.0), lost = sum;
  for (const double part : kTwoOverPi) {
    const Lanes product = x * part;
    const Lanes turns = product - 4.0 * roundedToEven(product * 0.25);
    const Lanes next = sum + turns;
    const Lanes taken = next - sum;
    lost = lost + ((sum - (next - taken)) + (turns - taken));
    sum = next;
  }
  constexpr double kRound = 6755399441055744.0;  // 1.5 · 2^52
  const Lanes rounded = sum + kRound;
  const Lanes angle = ((sum - (rounded - kRound)) + lost) * 1.5707963267948966;
  llvm::IRBuilderBase& code = x.code();
  const Lanes n(code, code.CreateTrunc(bitsOf(rounded).value(), bitsOf(operand).type()));
  const Lanes r = narrowed(angle);
  return {n, r, narrowed(angle - widened(r))};
}

llvm::Function* largeFunction(Lanes like) {
  llvm::IRBuilderBase& code = like.code();
  llvm::Module& module = *code.GetInsertBlock()->getModule();
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like.type());
  const std::string name = "smalti.quarter.turns." + std::to_string(vector ? vector->getNumElements() : 0);
  if (llvm::Function* f = module.getFunction(name)) return f;
  llvm::Type* result = llvm::StructType::get(bitsOf(like).type(), like.type(), like.type());
  auto* type = llvm::FunctionType::get(result, {like.type()}, false);
  auto* f = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  f->addFnAttr(llvm::Attribute::NoInline);
  f->addFnAttr(llvm::Attribute::Cold);
  f->setDoesNotThrow();
  llvm::IRBuilder<> body(llvm::BasicBlock::Create(module.getContext(), "", f));
  const QuarterTurns turns = reduceLarge({body, f->getArg(0)});
  llvm::Value* all = llvm::PoisonValue::get(result);
  all = body.CreateInsertValue(all, turns.n.value(), 0);
  all = body.CreateInsertValue(all, turns.remainder.value(), 1);
  body.CreateRet(body.CreateInsertValue(all, turns.rest.value(), 2));
  return f;
}

/// The block from here on, after whatever stands in `then` has been run or not.
struct Detour {
  llvm::BasicBlock *before, *then, *after;
};

Detour detour(llvm::IRBuilderBase& code, llvm::Value* condition) {
  llvm::BasicBlock* before = code.GetInsertBlock();
  llvm::Function* function = before->getParent();
  llvm::LLVMContext& context = code.getContext();
  llvm::BasicBlock* after;
  if (code.GetInsertPoint() != before->end()) {
    after = llvm::SplitBlock(before, code.GetInsertPoint());
    before->getTerminator()->eraseFromParent();
  } else {
    after = llvm::BasicBlock::Create(context, "", function, before->getNextNode());
  }
  llvm::BasicBlock* then = llvm::BasicBlock::Create(context, "", function, after);
  code.SetInsertPoint(before);
  code.CreateCondBr(condition, then, after, llvm::MDBuilder(context).createUnlikelyBranchWeights());
  return {before, then, after};
}

}  // namespace

QuarterTurns reduceByQuarterTurns(Lanes x) {
  llvm::IRBuilderBase& code = x.code();
  const QuarterTurns small = reduceSmall(x);
  // As integers, so that NaN is large.
  const Mask isLarge = bitsOf(x) > bitsOf(x.constant(kLarge));
  llvm::Value* any = x.type()->isVectorTy() ? code.CreateOrReduce(isLarge.value()) : isLarge.value();
  const Detour blocks = detour(code, any);

  code.SetInsertPoint(blocks.then);
  llvm::Value* large = code.CreateCall(largeFunction(x), {x.value()});
  const auto chosen = [&](unsigned i, Lanes ofSmall) {
    return select(isLarge, Lanes(code, code.CreateExtractValue(large, i)), ofSmall);
  };
  const QuarterTurns mixed = {chosen(0, small.n), chosen(1, small.remainder), chosen(2, small.rest)};
  code.CreateBr(blocks.after);

  code.SetInsertPoint(blocks.after, blocks.after->begin());
  const auto joined = [&](Lanes ofSmall, Lanes ofMixed) {
    llvm::PHINode* phi = code.CreatePHI(ofSmall.type(), 2);
    phi->addIncoming(ofSmall.value(), blocks.before);
    phi->addIncoming(ofMixed.value(), blocks.then);
    return Lanes(code, phi);
  };
  const Lanes n = joined(small.n, mixed.n), remainder = joined(small.remainder, mixed.remainder);
  return {n, remainder, joined(small.rest, mixed.rest)};
}

}  // namespace smalti::cpu
