// The code of exp for NVIDIA GPUs, with 2^f by another function instead of their instruction.
#include <bit>
#include <random>

#include "../cpu/math/MathTesting.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"

namespace smalti::gpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The instruction is replaced by this processor's code for exp2.
llvm::Value* expOfNvidia(llvm::IRBuilderBase& code, std::span<llvm::Value* const> operands) {
  llvm::Module& module = *code.GetInsertBlock()->getModule();
  const llvm::Triple host = module.getTargetTriple();
  module.setTargetTriple(llvm::Triple("nvptx64-nvidia-cuda"));
  llvm::Value* result = cpu::emitMath(code, "math.exp", operands);
  module.setTargetTriple(host);
  llvm::SmallVector<llvm::IntrinsicInst*, 1> calls;
  for (llvm::Instruction& i : *code.GetInsertBlock())
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i))
      if (call->getIntrinsicID() == llvm::Intrinsic::nvvm_ex2_approx_ftz) calls.push_back(call);
  EXPECT_EQ(calls.size(), 1U);
  for (llvm::IntrinsicInst* call : calls) {
    const llvm::IRBuilderBase::InsertPointGuard guard(code);
    code.SetInsertPoint(call);
    llvm::Value* const operand = call->getArgOperand(0);
    call->replaceAllUsesWith(cpu::emitMath(code, "math.exp2", std::span(&operand, 1)));
    call->eraseFromParent();
  }
  return result;
}

/// 2^x by this processor's code.
llvm::Value* exp2OfThis(llvm::IRBuilderBase& code, std::span<llvm::Value* const> operands) {
  return cpu::emitMath(code, "math.exp2", operands);
}

std::vector<float> computed(const cpu::LaneFunction& function, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  auto loop = cpu::compileLoop(function, 1, 0);
  if (!loop) {
    ADD_FAILURE() << loop.error().str();
    return y;
  }
  loop->run(x.data(), x.data(), y.data(), static_cast<int64_t>(x.size()));
  return y;
}

std::vector<float> exponentials(const std::vector<float>& x) { return computed(expOfNvidia, x); }

TEST(ExponentialOfNvidia, IsAsExactAsTheInstruction) {
  std::vector<float> x;
  for (float at = -105; at < 90; at += 0x1p-12f) x.push_back(at);
  std::mt19937 bits(7);
  for (int i = 0; i < 1 << 20; ++i) x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits())));
  const std::vector<float> y = exponentials(x);
  std::vector<float> fractions;
  for (float at = -1; at < 1; at += 0x1p-18f) fractions.push_back(at);
  const std::vector<float> powers = computed(exp2OfThis, fractions);
  double ofExp2 = 0;
  for (size_t i = 0; i < fractions.size(); ++i)
    ofExp2 = std::max(ofExp2, cpu::ulpError(powers[i], std::exp2(static_cast<double>(fractions[i]))));
  double worst = 0;
  float where = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double exact = std::exp(static_cast<double>(x[i]));
    if (static_cast<float>(exact) == kInfinity) exact = kInfinity;
    if (const double error = cpu::ulpError(y[i], exact); error > worst) worst = error, where = x[i];
  }
  // The argument adds less than half a ulp.
  EXPECT_LT(worst, ofExp2 + 0.5) << "at " << where;
}

TEST(ExponentialOfNvidia, FollowsSpecialValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> y = exponentials({kInfinity, -kInfinity, 3e38f, -3e38f, 89, -104, 0.0f, -0.0f, 1e-40f, nan});
  const std::vector<float> expected{kInfinity, 0, kInfinity, 0, kInfinity, 0, 1, 1, 1};
  EXPECT_EQ(std::vector(y.begin(), y.end() - 1), expected);
  EXPECT_TRUE(std::isnan(y.back()));
}

}  // namespace
}  // namespace smalti::gpu
