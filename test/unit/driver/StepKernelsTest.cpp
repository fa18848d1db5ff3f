// Which steps between kernels are compiled; test_program_products.py compares their values with JAX.
#include "driver/program/StepKernels.h"

#include <fmt/format.h>

#include "RunText.h"
#include "driver/program/ProgramRunner.h"
#include "machine/observers/Registry.h"

namespace smalti::driver {
namespace {

/// Steps of main that are native code.
int64_t compiledSteps(const std::string& signature, const std::string& body,
                      const CompileOptions& options = {.target = "cpu"}) {
  auto program = interop::importStableHlo(testing::moduleOf(signature, body), "test.mlir");
  EXPECT_TRUE(program) << program.error().str();
  const auto compiled = compileProgram(std::make_shared<Program>(std::move(*program)), options);
  EXPECT_TRUE(compiled) << compiled.error().str();
  int64_t count = 0;
  const ProgramSteps& steps = (*compiled)->steps;
  for (const Step& step : steps.of((*compiled)->main().ops)) count += step.kernel != nullptr;
  return count;
}

int64_t compiledProducts(const std::string& x, const std::string& y, const std::string& result,
                         const CompileOptions& options = {.target = "cpu"}) {
  return compiledSteps(fmt::format("(%x: {}, %y: {}) -> {}", x, y, result),
                       fmt::format("%0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({}, {}) -> {}\n"
                                   "return %0 : {}",
                                   x, y, result, result),
                       options);
}

int64_t squares(const std::string& operands, const std::string& result, int64_t n = 256,
                const CompileOptions& options = {.target = "cpu"}) {
  const auto type = [n](const std::string& element) { return fmt::format("tensor<{}x{}x{}>", n, n, element); };
  return compiledProducts(type(operands), type(operands), type(result), options);
}

TEST(StepKernels, OfLargeMatricesAreCompiled) {
  EXPECT_EQ(squares("f32", "f32"), 1);
  EXPECT_EQ(squares("bf16", "f32"), 1);
  EXPECT_EQ(squares("bf16", "bf16"), 1);
  EXPECT_EQ(squares("i8", "i32"), 1);
  EXPECT_EQ(squares("f32", "f32", 64), 0) << "too small";
}

TEST(StepKernels, OfOtherTypesRemainOps) {
  EXPECT_EQ(squares("f64", "f64"), 0);
  EXPECT_EQ(squares("i32", "i32"), 0);
  EXPECT_EQ(squares("ui8", "i32"), 0);
  EXPECT_EQ(squares("complex<f32>", "complex<f32>"), 0);
  EXPECT_EQ(compiledProducts("tensor<256x256xbf16>", "tensor<256x256xf32>", "tensor<256x256xf32>"), 0);
}

TEST(StepKernels, RemainOpsWhereKernelsWouldDiffer) {
  CompileOptions asTpu{.target = "cpu"}, checked{.target = "cpu"};
  asTpu.contract.numerics = Numerics::tpu;
  checked.contract.checks = machine::allChecks();
  EXPECT_EQ(squares("f32", "f32", 256, asTpu), 0) << "parts of bf16";
  EXPECT_EQ(squares("f32", "f32", 256, checked), 0) << "checks are of the program's own kernels";
  EXPECT_EQ(squares("f32", "f32", 256, {.target = "interpret"}), 0);
}

/// x² + y of n elements, where y is of another type.
int64_t squarePlus(int64_t n, const std::string& type, const std::string& y, const std::string& asX,
                   const CompileOptions& options = {.target = "cpu"}) {
  const std::string all = fmt::format("tensor<{}x{}>", n, type);
  return compiledSteps(fmt::format("(%x: {}, %y: {}) -> {}", all, y, all),
                       fmt::format("%0 = {}\n%1 = stablehlo.multiply %x, %x : {}\n%2 = stablehlo.add %1, %0 : {}\n"
                                   "return %2 : {}",
                                   asX, all, all, all),
                       options);
}

TEST(StepKernels, OfLongGroupsAreCompiled) {
  const auto scalar = [](int64_t n, const std::string& type, const CompileOptions& options = {.target = "cpu"}) {
    const std::string one = fmt::format("tensor<{}>", type);
    return squarePlus(n, type, one,
                      fmt::format("stablehlo.broadcast_in_dim %y, dims = [] : ({}) -> tensor<{}x{}>", one, n, type),
                      options);
  };
  constexpr int64_t kLong = 1 << 20;
  for (const char* type : {"f32", "bf16", "f16", "i8", "i16", "i32", "ui8", "ui16", "ui32"})
    EXPECT_EQ(scalar(kLong, type), 1) << type;
  for (const char* type : {"f64", "i64", "i4", "complex<f32>"})
    EXPECT_EQ(scalar(kLong, type), 0) << type << ", which kernels do not have";
  EXPECT_EQ(scalar(kLong + 1, "f32"), 1) << "any number of elements";
  EXPECT_EQ(scalar(4096, "f32"), 0) << "too small";
  CompileOptions asTpu{.target = "cpu"}, checked{.target = "cpu"};
  asTpu.contract.numerics = Numerics::tpu;
  checked.contract.checks = machine::allChecks();
  EXPECT_EQ(scalar(kLong, "f32", asTpu), 0);
  EXPECT_EQ(scalar(kLong, "f32", checked), 0);
  EXPECT_EQ(scalar(kLong, "f32", {.target = "interpret"}), 0);
}

/// Elements that repeat along rows or columns; not along the middle of three axes.
TEST(StepKernels, OfGroupsWithBroadcasts) {
  const auto broadcast = [](const std::string& from, const std::string& dims) {
    const std::string all = "tensor<64x128x256xf32>";
    return compiledSteps(
        fmt::format("(%x: {}, %y: {}) -> {}", all, from, all),
        fmt::format("%0 = stablehlo.broadcast_in_dim %y, dims = [{}] : ({}) -> {}\n%1 = stablehlo.add %x, %0 : {}\n"
                    "return %1 : {}",
                    dims, from, all, all, all));
  };
  EXPECT_EQ(broadcast("tensor<256xf32>", "2"), 1);
  EXPECT_EQ(broadcast("tensor<128x256xf32>", "1, 2"), 1);
  EXPECT_EQ(broadcast("tensor<64xf32>", "0"), 1);
  EXPECT_EQ(broadcast("tensor<64x128x1xf32>", "0, 1, 2"), 1);
  EXPECT_EQ(broadcast("tensor<128xf32>", "1"), 0);
}

}  // namespace
}  // namespace smalti::driver
