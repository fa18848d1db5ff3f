// The code of functions for NVIDIA GPUs, with other functions instead of their instructions.
#include <bit>
#include <random>

#include "../cpu/math/MathTesting.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"

namespace smalti::gpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// What replaces an instruction of these GPUs here; null: it is none.
llvm::Value* inOtherWords(llvm::IRBuilderBase& code, llvm::IntrinsicInst& call) {
  llvm::Value* const x = call.getArgOperand(0);
  const auto one = [&] { return llvm::ConstantFP::get(x->getType(), 1.0); };
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::nvvm_ex2_approx_ftz:
      return cpu::emitMath(code, "math.exp2", std::span(&x, 1));
    case llvm::Intrinsic::nvvm_rcp_approx_ftz_f:
      return code.CreateFDiv(one(), x);
    case llvm::Intrinsic::nvvm_rsqrt_approx_f:
      return code.CreateFDiv(one(), code.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x));
    default:
      return nullptr;
  }
}

/// The code for GPUs, whose only instruction is replaced.
llvm::Value* codeOfNvidia(llvm::IRBuilderBase& code, std::string_view name, std::span<llvm::Value* const> operands,
                          Tolerance allowed = {}) {
  llvm::Function& function = *code.GetInsertBlock()->getParent();
  llvm::Module& module = *function.getParent();
  const llvm::Triple host = module.getTargetTriple();
  const llvm::Attribute features = function.getFnAttribute("target-features");
  module.setTargetTriple(llvm::Triple("nvptx64-nvidia-cuda"));
  function.removeFnAttr("target-features");
  llvm::Value* result = cpu::emitMath(code, name, operands, allowed);
  module.setTargetTriple(host);
  if (features.isValid()) function.addFnAttr(features);
  llvm::SmallVector<llvm::IntrinsicInst*> calls;
  for (llvm::Instruction& i : *code.GetInsertBlock())
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i)) calls.push_back(call);
  int replaced = 0;
  for (llvm::IntrinsicInst* call : calls) {
    const llvm::IRBuilderBase::InsertPointGuard guard(code);
    code.SetInsertPoint(call);
    llvm::Value* const other = inOtherWords(code, *call);
    if (!other) continue;
    ++replaced;
    if (call == result) result = other;
    call->replaceAllUsesWith(other);
    call->eraseFromParent();
  }
  EXPECT_EQ(replaced, 1) << name;
  return result;
}

llvm::Value* expOfNvidia(llvm::IRBuilderBase& code, std::span<llvm::Value* const> operands) {
  return codeOfNvidia(code, "math.exp", operands);
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

TEST(ExponentialOfNvidia, IsShorterWithATolerance) {
  constexpr Tolerance kAllowed{.atol = 0x1p-124, .rtol = 0x1p-17};
  const auto shortExp = [&](llvm::IRBuilderBase& code, std::span<llvm::Value* const> operands) {
    return codeOfNvidia(code, "math.exp", operands, kAllowed);
  };
  std::vector<float> x;
  for (float at = -150; at < 88.5f; at += 0x1p-10f) x.push_back(at);
  const std::vector<float> y = computed(shortExp, x);
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(static_cast<double>(x[i]));
    ASSERT_LE(std::abs(y[i] - exact), kAllowed.atol + kAllowed.rtol * exact) << x[i];
  }
  EXPECT_EQ(computed(shortExp, {kInfinity, -kInfinity, 3e38f, -3e38f}),
            (std::vector{kInfinity, 0.0f, kInfinity, 0.0f}));
}

/// The largest error of a function over numbers of all sizes. The instruction adds its own.
double worstError(std::string_view name, double (*exact)(double)) {
  std::vector<float> x;
  std::mt19937 bits(7);
  for (int i = 0; i < 1 << 20; ++i) x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits())));
  for (float at = -12; at < 12; at += 0x1p-14f) x.push_back(at);
  const std::vector<float> y =
      computed([&](llvm::IRBuilderBase& code,
                   std::span<llvm::Value* const> operands) { return codeOfNvidia(code, name, operands); },
               x);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, cpu::ulpError(y[i], exact(static_cast<double>(x[i]))));
  return worst;
}

TEST(FunctionsOfNvidia, AreAsExactAsElsewhere) {
  EXPECT_LE(worstError("math.tanh", std::tanh), 2);  // the reciprocal, which is at most 1/2, adds half of its 1 ulp
  EXPECT_LE(worstError("math.rsqrt", [](double x) { return 1 / std::sqrt(x); }), 1.5);
}

/// select(x < bound, other, x), and 2^ of that.
struct Floored {
  float bound, other;
  bool isOrdered = true;
  Tolerance allowed = {.atol = 0x1p-100};

  bool staysInTheCode() const {
    bool stays = false;
    computed(
        [&](llvm::IRBuilderBase& code, std::span<llvm::Value* const> operands) {
          llvm::Value* x = operands[0];
          const auto number = [&](float n) { return llvm::ConstantFP::get(x->getType(), n); };
          const auto less = isOrdered ? llvm::CmpInst::FCMP_OLT : llvm::CmpInst::FCMP_ULT;
          llvm::Value* floor = code.CreateSelect(code.CreateFCmp(less, x, number(bound)), number(other), x);
          llvm::Value* result = codeOfNvidia(code, "math.exp2", std::span(&floor, 1), allowed);
          stays = !floor->use_empty();
          return result;
        },
        {0});
    return stays;
  }
};

TEST(ExponentialOfNvidia, NegligibleArgumentsNeedNotBeReplaced) {
  EXPECT_FALSE((Floored{-100, -100}).staysInTheCode());
  EXPECT_FALSE((Floored{-100, -kInfinity}).staysInTheCode());
  EXPECT_FALSE((Floored{-120, -110}).staysInTheCode());
  EXPECT_TRUE((Floored{-99, -100}).staysInTheCode());
  EXPECT_TRUE((Floored{-100, -99}).staysInTheCode());
  EXPECT_TRUE((Floored{-100, -100, false}).staysInTheCode());  // replaces NaN
  EXPECT_TRUE((Floored{-100, -100, true, {.atol = 0x1p-101}}).staysInTheCode());
  EXPECT_TRUE((Floored{-100, -100, true, {.atol = 0x1p-101, .rtol = 1}}).staysInTheCode());
}

}  // namespace
}  // namespace smalti::gpu
