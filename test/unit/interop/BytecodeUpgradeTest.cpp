// Bodies of older versions, made by older JAX releases and by jaxlib's own serializer (test/data/bytecode/README.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "BytecodeSupport.h"

namespace smalti::interop::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string read(const std::string& file) {
  auto context = makeContext();
  auto module = readBytecode(slurp(dataFolder() / file), *context, file);
  if (!module) return module.error().str();
  (**module)->removeAttr("stable_mosaic.version");
  return genericText(**module);
}

/// What jaxlib makes of the same body.
std::string jaxlibReads(const std::string& file) {
  auto context = makeContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(slurp(dataFolder() / file), context.get());
  if (!module) return file + " does not parse";
  (*module)->removeAttr("stable_mosaic.version");
  return genericText(*module);
}

class BytecodeUpgradeAsJaxlib : public testing::TestWithParam<std::string> {};

TEST_P(BytecodeUpgradeAsJaxlib, GivesTheSameModule) {
  EXPECT_EQ(read(GetParam() + ".bc"), jaxlibReads(GetParam() + ".mlir"));
}

INSTANTIATE_TEST_SUITE_P(Recorded, BytecodeUpgradeAsJaxlib,
                         testing::Values("jax-0.4.26/add_grid", "jax-0.4.26/iota", "jax-0.4.26/reduce",
                                         "jax-0.4.26/repeat", "jax-0.4.26/sem", "jax-0.4.31/iota", "jax-0.4.31/reduce",
                                         "jax-0.4.31/repeat", "jax-0.4.31/sem", "jax-0.7.0/gather", "jax-0.7.0/iota",
                                         "jax-0.7.0/repeat", "steps/steps.v4", "steps/steps.v5", "steps/steps.v6",
                                         "steps/steps.v18", "steps/steps.v18.splat01"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

TEST(BytecodeUpgrade, CopiesOfVersion1GetSegments) {
  EXPECT_THAT(
      read("jax-0.4.26/dma.bc"),
      HasSubstr("\"tpu.enqueue_dma\"(%arg0, %arg2, %arg3) <{operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0, 0>"));
  EXPECT_THAT(read("jax-0.4.26/remote.bc"), HasSubstr("operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0>"));
  EXPECT_THAT(read("jax-0.4.31/remote.bc"), HasSubstr("operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0>"));
}

TEST(BytecodeUpgrade, TheWaitOfTwoOperandsWaitsForTheBytesOfItsRef) {
  for (const char* file : {"jax-0.4.26/dma.bc", "jax-0.4.31/dma.bc"})
    EXPECT_THAT(read(file),
                HasSubstr("\"tpu.wait_dma\"(%arg2, %arg2, %arg3) <{operandSegmentSizes = array<i32: 1, 0, "
                          "1, 1, 0, 0, 0>, priority = 0 : i32, strict_ordering = false, wait_target = true}>"))
        << file;
}

TEST(BytecodeUpgrade, WaitDma2TakesTheFormOfToday) {
  for (const char* file : {"jax-0.7.0/dma.bc", "jax-0.7.0/remote.bc", "steps/waits.v4.bc", "steps/waits.v7.bc",
                           "steps/waits.v18.bc", "steps/waits_remote.v7.bc", "steps/waits_remote.v18.bc"}) {
    const std::string text = read(file);
    EXPECT_THAT(text, HasSubstr("wait_target = true")) << file;
    EXPECT_THAT(text, Not(HasSubstr("wait_dma2"))) << file;
  }
  // (semaphore, source, target) becomes source, target, semaphore.
  EXPECT_THAT(read("steps/waits.v4.bc"), HasSubstr("\"tpu.wait_dma\"(%arg1, %arg0, %arg2)"));
  // The device of a remote copy's wait says nothing about which semaphore is waited for.
  EXPECT_EQ(read("steps/waits_remote.v7.bc"), read("steps/waits_remote.v18.bc"));
  EXPECT_THAT(read("steps/waits_remote.v7.bc"), HasSubstr("\"tpu.wait_dma\"(%arg0, %arg1, %arg3)"));
}

TEST(BytecodeUpgrade, MatmulWithoutDimensionNumbersGetsThem) {
  EXPECT_THAT(read("jax-0.4.26/matmul.bc"),
              HasSubstr("#tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>"));
  const std::string transposed = read("jax-0.4.26/matmul_t.bc");
  EXPECT_THAT(transposed, HasSubstr("#tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>"));
  EXPECT_THAT(transposed, HasSubstr("transpose_rhs = false"));
}

TEST(BytecodeUpgrade, ARotationByAConstantTakesItAsOperand) {
  const std::string text = read("jax-0.4.26/roll.bc");
  EXPECT_THAT(text, HasSubstr("\"tpu.dynamic_rotate\""));
  EXPECT_THAT(text, HasSubstr("dimension = 1 : si32"));
  EXPECT_THAT(text, HasSubstr("value = 3 : i32"));
}

TEST(BytecodeUpgrade, TheUpstreamTransposeBecomesTpuTranspose) {
  EXPECT_THAT(read("jax-0.7.0/transpose.bc"), HasSubstr("\"tpu.transpose\"(%2) <{permutation = array<i64: 1, 0>}>"));
}

TEST(BytecodeUpgrade, LocationsAreKept) {
  auto context = makeContext();
  auto module = readBytecode(slurp(dataFolder() / "seed/add_grid_2d.bc"), *context, "x.bc");
  ASSERT_TRUE(module) << module.error().str();
  bool found = false;
  (**module)->walk([&](mlir::Operation* op) {
    if (op->getName().getStringRef() != "arith.addf") return;
    EXPECT_EQ(placeOf(op->getLoc()).file, "seed1.py");
    EXPECT_GT(placeOf(op->getLoc()).line, 0);
    found = true;
  });
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace smalti::interop::test
