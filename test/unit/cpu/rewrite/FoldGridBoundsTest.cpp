#include "cpu/rewrite/grid/FoldGridBounds.h"

#include <gtest/gtest.h>

#include "../native/Native.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu::testing {
namespace {

size_t boundsAskedFor(const KernelPackage& package) {
  size_t found = 0;
  package.kernelFunction().walk(
      [&](mlir::Operation* op) { found += op->getName().getStringRef() == "tpu.iteration_bound" ? 1 : 0; });
  return found;
}

/// x + num_programs(0), in blocks that are divided or merged.
TextKernel addsBound(int64_t steps, const Shape& block) {
  TextKernel k({steps}, "parallel");
  const Spec rows{.array = {steps * block[0], block[1]}, .block = block, .map = "%i, %c0"};
  const Val x = k.input(rows), o = k.output(rows);
  const Val bound = k.toFloat(k.iterationBound(0));
  k.store(k.binary("arith.addf", k.load(x), k.splat(bound, block)), o);
  return k;
}

TEST(FoldGridBounds, BoundsBecomeConstants) {
  const TextKernel k = addsBound(6, {64, 256});
  EXPECT_EQ(boundsAskedFor(k.package()), 1U);
  const auto made = foldGridBounds(k.package());
  ASSERT_TRUE(made);
  EXPECT_EQ(boundsAskedFor(*made), 0U);
  EXPECT_FALSE(foldGridBounds(*made));
}

/// The bounds that a kernel is told are those of its own grid, however native code divides or merges blocks.
TEST(FoldGridBounds, RewritesOfTheGridDoNotChangeThem) {
  for (const Shape& block : {Shape{8, 128}, Shape{64, 512}, Shape{1, 128}}) {
    const TextKernel k = addsBound(4, block);
    const Array x = counting({4 * block[0], block[1]});
    EXPECT_EQ(floats(same(k, {x})[0])[0], floats(x)[0] + 4);
  }
}

}  // namespace
}  // namespace smalti::cpu::testing
