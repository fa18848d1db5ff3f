// Which products between kernels are compiled; test_program_products.py compares their values with JAX.
#include "driver/program/ProgramProducts.h"

#include <fmt/format.h>

#include "RunText.h"
#include "driver/program/ProgramRunner.h"
#include "machine/observers/Registry.h"

namespace smalti::driver {
namespace {

/// Native products among the steps of x·y, of tensors of these types.
int64_t compiledProducts(const std::string& x, const std::string& y, const std::string& result,
                         const CompileOptions& options = {.target = "cpu"}) {
  auto program = interop::importStableHlo(
      testing::moduleOf(fmt::format("(%x: {}, %y: {}) -> {}", x, y, result),
                        fmt::format("%0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({}, {}) -> {}\n"
                                    "return %0 : {}",
                                    x, y, result, result)),
      "test.mlir");
  EXPECT_TRUE(program) << program.error().str();
  const auto compiled = compileProgram(std::make_shared<Program>(std::move(*program)), options);
  EXPECT_TRUE(compiled) << compiled.error().str();
  const Program& made = *(*compiled)->program;
  int64_t count = 0;
  const ProgramSteps& steps = (*compiled)->steps;
  for (const Step& step : steps.of(made.functions[static_cast<size_t>(made.main)].ops))
    count += step.product != nullptr;
  return count;
}

int64_t squares(const std::string& operands, const std::string& result, int64_t n = 256,
                const CompileOptions& options = {.target = "cpu"}) {
  const auto type = [n](const std::string& element) { return fmt::format("tensor<{}x{}x{}>", n, n, element); };
  return compiledProducts(type(operands), type(operands), type(result), options);
}

TEST(ProgramProducts, OfLargeMatricesAreCompiled) {
  EXPECT_EQ(squares("f32", "f32"), 1);
  EXPECT_EQ(squares("bf16", "f32"), 1);
  EXPECT_EQ(squares("bf16", "bf16"), 1);
  EXPECT_EQ(squares("i8", "i32"), 1);
  EXPECT_EQ(squares("f32", "f32", 64), 0) << "too small";
}

TEST(ProgramProducts, OfOtherTypesRemainOps) {
  EXPECT_EQ(squares("f64", "f64"), 0);
  EXPECT_EQ(squares("i32", "i32"), 0);
  EXPECT_EQ(squares("ui8", "i32"), 0);
  EXPECT_EQ(squares("complex<f32>", "complex<f32>"), 0);
  EXPECT_EQ(compiledProducts("tensor<256x256xbf16>", "tensor<256x256xf32>", "tensor<256x256xf32>"), 0);
}

TEST(ProgramProducts, RemainOpsWhereKernelsWouldDiffer) {
  CompileOptions asTpu{.target = "cpu"}, checked{.target = "cpu"};
  asTpu.contract.numerics = Numerics::tpu;
  checked.contract.checks = machine::allChecks();
  EXPECT_EQ(squares("f32", "f32", 256, asTpu), 0) << "parts of bf16";
  EXPECT_EQ(squares("f32", "f32", 256, checked), 0) << "checks are of the program's own kernels";
  EXPECT_EQ(squares("f32", "f32", 256, {.target = "interpret"}), 0);
}

}  // namespace
}  // namespace smalti::driver
