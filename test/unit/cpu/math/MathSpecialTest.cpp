// Zeros, infinities, NaN, denormals and the ends of each function's domain, one by one; and which names there are.
#include <bit>
#include <cfenv>
#include <tuple>

#include "../SpecialFloats.h"
#include "MathTesting.h"
#include "eval/Elementwise.h"

namespace smalti::cpu {
namespace {

constexpr float kTiny = 0x1p-149f, kMax = 0x1.fffffep127f;

void expectSame(float got, float want, const std::string& what) {
  if (std::isnan(want))
    EXPECT_TRUE(std::isnan(got)) << what << " gave " << got;
  else
    EXPECT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(want)) << what << " gave " << got;
}

using Pairs = std::vector<std::pair<float, float>>;  // operand, value

void expectUnary(const std::string& name, const Pairs& pairs) {
  std::vector<float> x;
  for (const auto& pair : pairs) x.push_back(pair.first);
  for (const int lanes : {0, 16}) {
    const std::vector<float> y = native(name, x, lanes);
    for (size_t i = 0; i < x.size(); ++i) expectSame(y[i], pairs[i].second, name + "(" + std::to_string(x[i]) + ")");
  }
}

/// exp2 of arguments below -100 that kernels have replaced takes fewer instructions, and computes the same.
TEST(MathSpecial, Exp2OfReplacedArguments) {
  std::vector<float> x{0.0f,  -0.0f, kInf, -kInf,  kNan, kTiny, -kTiny, kMax,
                       -kMax, 127,   128,  -99.5f, -100, -101,  -151,   0.3f};
  for (int i = 0; i < 240; ++i) x.push_back(static_cast<float>(i) * 1.37f - 200.0f);
  for (const float other : {-100.0f, 0.0f, -kInf, -140.0f})
    for (const float bound : {-100.0f, -140.0f})
      for (const int lanes : {0, 8, 16}) {
        const auto replaced = compileLoop(
            [=](llvm::IRBuilderBase& code, std::span<llvm::Value* const> operands) {
              auto* type = operands[0]->getType();
              llvm::Value* isLess = code.CreateFCmpOLT(operands[0], llvm::ConstantFP::get(type, bound));
              llvm::Value* const now = code.CreateSelect(isLess, llvm::ConstantFP::get(type, other), operands[0]);
              return emitMath(code, "math.exp2", {&now, 1});
            },
            1, lanes);
        ASSERT_TRUE(replaced) << replaced.error().str();
        std::vector<float> got(x.size()), arguments = x;
        replaced->run(arguments.data(), arguments.data(), got.data(), static_cast<int64_t>(x.size()));
        for (float& v : arguments) v = v < bound ? other : v;
        const std::vector<float> want = native("math.exp2", arguments, lanes);
        for (size_t i = 0; i < x.size(); ++i) expectSame(got[i], want[i], "exp2 of " + std::to_string(x[i]));
      }
}

TEST(MathSpecial, Exponentials) {
  expectUnary("math.exp", {{0.0f, 1},
                           {-0.0f, 1},
                           {kInf, kInf},
                           {-kInf, 0},
                           {kNan, kNan},
                           {kTiny, 1},
                           {-kTiny, 1},
                           {kMax, kInf},
                           {-kMax, 0},
                           {88.72283f, 0x1.ffff08p127f},
                           {88.722839f, kInf},
                           {-103.97208f, kTiny},
                           {-103.98f, 0}});
  expectUnary("math.exp2", {{0.0f, 1},
                            {-0.0f, 1},
                            {kInf, kInf},
                            {-kInf, 0},
                            {kNan, kNan},
                            {127, 0x1p127f},
                            {128, kInf},
                            {10, 1024},
                            {-1, 0.5f},
                            {-126, 0x1p-126f},
                            {-127, 0x1p-127f},
                            {-149, kTiny},
                            {-150, 0},
                            {-149.9f, kTiny},
                            {kMax, kInf},
                            {-kMax, 0}});
  expectUnary("math.expm1", {{0.0f, 0.0f},
                             {-0.0f, -0.0f},
                             {kInf, kInf},
                             {-kInf, -1},
                             {kNan, kNan},
                             {kTiny, kTiny},
                             {-kTiny, -kTiny},
                             {-100, -1},
                             {kMax, kInf},
                             {-kMax, -1},
                             {89, kInf}});
  expectUnary("math.tanh", {{0.0f, 0.0f},
                            {-0.0f, -0.0f},
                            {kInf, 1},
                            {-kInf, -1},
                            {kNan, kNan},
                            {kTiny, kTiny},
                            {-kTiny, -kTiny},
                            {kMax, 1},
                            {-kMax, -1},
                            {10, 1}});
}

TEST(MathSpecial, PowersThatAreZeroUnderflowNowhere) {
  // Some processors stop for hundreds of cycles where a result is too small, as it is for most masked scores.
  const auto haswell = processorNamed("haswell");
  ASSERT_TRUE(haswell) << haswell.error().str();
  const std::vector<float> x = {-1e4f, -151.5f, -1e30f, -0.7f * kMax, -kInf, -kMax, -80, -60, -50, -30, -1, 0, 1,
                                2,     3,       4};
  for (const Processor& processor : {hostProcessor(), *haswell})
    for (const char* name : {"math.exp", "math.exp2"}) {
      const auto loop = compileLoop(nativeFunction(name), 1, 16, processor);
      ASSERT_TRUE(loop) << loop.error().str();
      std::vector<float> y(x.size());
      std::feclearexcept(FE_UNDERFLOW);
      loop->run(x.data(), nullptr, y.data(), static_cast<int64_t>(x.size()));
      EXPECT_FALSE(std::fetestexcept(FE_UNDERFLOW)) << name;
      for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i] == 0, x[i] < -100) << name << " of " << x[i];
    }
}

TEST(MathSpecial, Logarithms) {
  for (const char* name : {"math.log", "math.log2", "math.log10"})
    expectUnary(name, {{0.0f, -kInf},
                       {-0.0f, -kInf},
                       {1, 0.0f},
                       {kInf, kInf},
                       {-kInf, kNan},
                       {-1, kNan},
                       {-kTiny, kNan},
                       {-kMax, kNan},
                       {kNan, kNan}});
  expectUnary("math.log2", {{kTiny, -149}, {0x1p-127f, -127}, {0x1p-126f, -126}, {8, 3}, {0x1p127f, 127}, {0.5f, -1}});
  expectUnary("math.log10", {{10, 1}, {100, 2}, {1e10f, 10}});
  expectUnary("math.log1p", {{0.0f, 0.0f},
                             {-0.0f, -0.0f},
                             {-1, -kInf},
                             {kInf, kInf},
                             {-kInf, kNan},
                             {-1.0000001f, kNan},
                             {-kMax, kNan},
                             {kNan, kNan},
                             {kTiny, kTiny},
                             {-kTiny, -kTiny}});
}

TEST(MathSpecial, Circular) {
  expectUnary("math.sin", {{0.0f, 0.0f},
                           {-0.0f, -0.0f},
                           {kTiny, kTiny},
                           {-kTiny, -kTiny},
                           {kInf, kNan},
                           {-kInf, kNan},
                           {kNan, kNan},
                           {1e22f, static_cast<float>(std::sin(double{1e22f}))}});
  expectUnary("math.cos", {{0.0f, 1}, {-0.0f, 1}, {kTiny, 1}, {-kTiny, 1}, {kInf, kNan}, {-kInf, kNan}, {kNan, kNan}});
  expectUnary(
      "math.tan",
      {{0.0f, 0.0f}, {-0.0f, -0.0f}, {kTiny, kTiny}, {-kTiny, -kTiny}, {kInf, kNan}, {-kInf, kNan}, {kNan, kNan}});
}

TEST(MathSpecial, InverseCircular) {
  const float half = 1.57079633f, pi = 3.14159265f;
  expectUnary("math.asin", {{0.0f, 0.0f},
                            {-0.0f, -0.0f},
                            {1, half},
                            {-1, -half},
                            {1.0000001f, kNan},
                            {-2, kNan},
                            {kInf, kNan},
                            {-kInf, kNan},
                            {kNan, kNan},
                            {kTiny, kTiny}});
  expectUnary("math.acos", {{0.0f, half},
                            {-0.0f, half},
                            {1, 0.0f},
                            {-1, pi},
                            {1.0000001f, kNan},
                            {-2, kNan},
                            {kInf, kNan},
                            {-kInf, kNan},
                            {kNan, kNan}});
  expectUnary("math.atan", {{0.0f, 0.0f},
                            {-0.0f, -0.0f},
                            {kInf, half},
                            {-kInf, -half},
                            {kMax, half},
                            {kNan, kNan},
                            {kTiny, kTiny},
                            {-kTiny, -kTiny}});
}

TEST(MathSpecial, Hyperbolic) {
  expectUnary("math.sinh", {{0.0f, 0.0f},
                            {-0.0f, -0.0f},
                            {kInf, kInf},
                            {-kInf, -kInf},
                            {kNan, kNan},
                            {kTiny, kTiny},
                            {-kTiny, -kTiny},
                            {kMax, kInf},
                            {-kMax, -kInf},
                            {90, kInf}});
  expectUnary(
      "math.cosh",
      {{0.0f, 1}, {-0.0f, 1}, {kInf, kInf}, {-kInf, kInf}, {kNan, kNan}, {kTiny, 1}, {kMax, kInf}, {-90, kInf}});
  expectUnary(
      "math.asinh",
      {{0.0f, 0.0f}, {-0.0f, -0.0f}, {kInf, kInf}, {-kInf, -kInf}, {kNan, kNan}, {kTiny, kTiny}, {-kTiny, -kTiny}});
  expectUnary("math.acosh",
              {{1, 0.0f}, {kInf, kInf}, {0.99999994f, kNan}, {0.0f, kNan}, {-kInf, kNan}, {-1, kNan}, {kNan, kNan}});
  expectUnary("math.atanh", {{0.0f, 0.0f},
                             {-0.0f, -0.0f},
                             {1, kInf},
                             {-1, -kInf},
                             {1.0000001f, kNan},
                             {kInf, kNan},
                             {-kInf, kNan},
                             {kNan, kNan},
                             {kTiny, kTiny},
                             {-kTiny, -kTiny}});
}

TEST(MathSpecial, ErrorFunctions) {
  expectUnary("math.erf", {{0.0f, 0.0f},
                           {-0.0f, -0.0f},
                           {kInf, 1},
                           {-kInf, -1},
                           {kNan, kNan},
                           {kTiny, kTiny},
                           {4, 1},
                           {kMax, 1},
                           {-kMax, -1}});
  expectUnary("math.erfc", {{0.0f, 1},
                            {-0.0f, 1},
                            {kInf, 0.0f},
                            {-kInf, 2},
                            {kNan, kNan},
                            {kTiny, 1},
                            {10.06f, 0.0f},
                            {-10, 2},
                            {kMax, 0.0f},
                            {-kMax, 2}});
  expectUnary("chlo.erf_inv", {{0.0f, 0.0f},
                               {-0.0f, -0.0f},
                               {1, kInf},
                               {-1, -kInf},
                               {1.0000001f, kNan},
                               {kInf, kNan},
                               {-kInf, kNan},
                               {kNan, kNan}});
}

TEST(MathSpecial, Roots) {
  expectUnary("math.rsqrt", {{0.0f, kInf},
                             {-0.0f, -kInf},
                             {kInf, 0.0f},
                             {-1, kNan},
                             {-kInf, kNan},
                             {kNan, kNan},
                             {4, 0.5f},
                             {0x1p-148f, 0x1p74f}});
  expectUnary("math.cbrt", {{0.0f, 0.0f},
                            {-0.0f, -0.0f},
                            {kInf, kInf},
                            {-kInf, -kInf},
                            {kNan, kNan},
                            {27, 3},
                            {-8, -2},
                            {0x1p-147f, 0x1p-49f},
                            {-0x1p-147f, -0x1p-49f}});
}

TEST(MathSpecial, Atan2GoesAllAround) {
  const float half = 1.57079633f, pi = 3.14159265f, quarter = 0.785398163f, three = 2.35619449f;
  const std::vector<std::tuple<float, float, float>> cases = {
      {0.0f, 0.0f, 0.0f},   {-0.0f, 0.0f, -0.0f},    {0.0f, -0.0f, pi},      {-0.0f, -0.0f, -pi},
      {0.0f, 1, 0.0f},      {-0.0f, 1, -0.0f},       {0.0f, -1, pi},         {-0.0f, -1, -pi},
      {1, 0.0f, half},      {1, -0.0f, half},        {-1, 0.0f, -half},      {kInf, kInf, quarter},
      {kInf, -kInf, three}, {-kInf, kInf, -quarter}, {-kInf, -kInf, -three}, {1, kInf, 0.0f},
      {-1, kInf, -0.0f},    {1, -kInf, pi},          {-1, -kInf, -pi},       {kInf, 1, half},
      {-kInf, -1, -half},   {kNan, 1, kNan},         {1, kNan, kNan},        {kNan, kNan, kNan},
      {kTiny, kMax, 0.0f},  {kTiny, kTiny, quarter}, {kMax, kTiny, half},    {kTiny, 1, kTiny},
      {kNan, kInf, kNan},   {kMax, kMax, quarter}};
  for (const auto& [y, x, want] : cases)
    EXPECT_LE(ulpError(native("math.atan2", y, x), want), 1) << "atan2(" << y << ", " << x << ")";
}

TEST(MathSpecial, PowIsThatOfC) {
  const float values[] = {0.0f,        0.5f,       1,      2,     3,          0x1p23f, 0x1p24f, 16777218,
                          0x1p31f,     1.5f,       2.5f,   kTiny, 0x1p-126f,  kMax,    kInf,    kNan,
                          0.99999994f, 1.0000001f, 1e-20f, 1e20f, 8388607.5f, 8388607};
  std::vector<float> x, y;
  for (const float a : values)
    for (const float b : values)
      for (const float sa : {1.0f, -1.0f})
        for (const float sb : {1.0f, -1.0f}) {
          x.push_back(sa * a);
          y.push_back(sb * b);
        }
  const std::vector<float> z = native("math.powf", x, y);
  for (size_t i = 0; i < z.size(); ++i) {
    const double exact = std::pow(double{x[i]}, double{y[i]});
    EXPECT_LE(ulpError(z[i], exact), 2.0) << x[i] << " ** " << y[i] << " gave " << z[i];
  }
}

TEST(MathSpecial, EveryFunctionEvalKnowsIsHere) {
  // Exact ops are lowered elsewhere.
  const char* unary[] = {"chlo.erf_inv", "math.acos",  "math.acosh", "math.asin", "math.asinh", "math.atan",
                         "math.atanh",   "math.cbrt",  "math.cos",   "math.cosh", "math.erf",   "math.erfc",
                         "math.exp",     "math.exp2",  "math.expm1", "math.log",  "math.log10", "math.log1p",
                         "math.log2",    "math.rsqrt", "math.sin",   "math.sinh", "math.tan",   "math.tanh"};
  for (const char* name : unary) {
    EXPECT_TRUE(eval::findUnary(name, DType::f32)) << name;
    EXPECT_NE(nativeLoop(name, 1, 16), nullptr) << name;
  }
  for (const char* name : {"math.atan2", "math.powf"}) {
    EXPECT_TRUE(eval::findBinary(name, DType::f32)) << name;
    EXPECT_NE(nativeLoop(name, 2, 16), nullptr) << name;
  }
}

TEST(MathSpecial, OtherNamesAreNotHere) {
  ModuleBuilder built(hostProcessor(), "none");
  llvm::IRBuilder<> code(*built.context);
  llvm::Value* one = llvm::ConstantFP::get(code.getFloatTy(), 1.0);
  EXPECT_EQ(emitMath(code, "math.gamma", std::span<llvm::Value* const>(&one, 1)), nullptr);
  EXPECT_EQ(emitMath(code, "math.powf", std::span<llvm::Value* const>(&one, 1)), nullptr);
  EXPECT_EQ(emitMath(code, "math.exp", {}), nullptr);
}

TEST(MathSpecial, OtherProcessorsNeedNoLibrary) {
  for (const char* processor : {"haswell", "znver4", "aarch64-linux-gnu/neoverse-n1"}) {
    const auto machine = processorNamed(processor);
    ASSERT_TRUE(machine) << machine.error().str();
    for (const char* name :
         {"math.exp", "math.tanh", "math.erfc", "math.sin", "math.cbrt", "math.asinh", "chlo.erf_inv"})
      for (const int lanes : {0, 16}) {
        const auto assembly = loopAssembly(nativeFunction(name), 1, lanes, *machine);
        ASSERT_TRUE(assembly) << assembly.error().str();
        for (const char* call : {"fmaf", "roundeven", "exp", "ldexp", "trunc"})
          EXPECT_EQ(assembly->find(call), std::string::npos) << name << " calls " << call << " on " << processor;
      }
  }
}

TEST(MathSpecial, SineInTheMiddleOfABlock) {
  // The block is split where the code goes in; what stands behind it stays behind.
  const LaneFunction f = [](llvm::IRBuilderBase& code, std::span<llvm::Value* const> operands) -> llvm::Value* {
    llvm::Value* doubled = code.CreateFAdd(operands[0], operands[0]);
    auto* last = llvm::cast<llvm::Instruction>(code.CreateFAdd(doubled, operands[0]));
    code.SetInsertPoint(last);
    llvm::Value* sine = emitMath(code, "math.sin", operands);
    last->setOperand(0, sine);
    code.SetInsertPoint(last->getParent());
    return last;
  };
  for (const int lanes : {0, 8}) {
    const auto loop = compileLoop(f, 1, lanes);
    ASSERT_TRUE(loop) << loop.error().str();
    std::vector<float> x(16, 1e9f), y(16);
    loop->run(x.data(), x.data(), y.data(), 16);
    EXPECT_FLOAT_EQ(y[3], static_cast<float>(std::sin(1e9)) + 1e9f);
  }
}

}  // namespace
}  // namespace smalti::cpu
