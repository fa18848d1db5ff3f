// Copies that signal regular semaphores: which chips support them, and when one copy is several transfers.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "RuleTesting.h"

namespace smalti::testing {
namespace {

/// A copy of the first elements of an array in HBM to VMEM, and back to the output.
std::string copyOf(const Shape& array, const Shape& part, const std::string& semaphore = "semaphore") {
  const auto ref = [](const Shape& shape, const std::string& space) {
    return fmt::format("memref<{}xf32, #tpu.memory_space<{}>>", fmt::join(shape, "x"), space);
  };
  const std::string all = ref(array, "any"), some = ref(part, "any"), buffer = ref(part, "vmem"),
                    sem = fmt::format("memref<!tpu.{}, #tpu.memory_space<semaphore_mem>>", semaphore);
  std::string zeros;
  for (size_t i = 0; i < array.size(); ++i) zeros += i ? ", %z" : "%z";
  return fmt::format(
      R"MLIR(module {{
  func.func @kernel(%n: memref<4xi32, #tpu.memory_space<smem>>, %x: {0}, %o: {0}, %b: {1}, %s: {2})
      attributes {{dimension_semantics = [], iteration_bounds = array<i64>, scalar_prefetch = 1 : i64,
                  scratch_operands = 2 : i64, tpu.core_type = #tpu.core_type<tc>}} {{
    %z = arith.constant 0 : i32
    %part = tpu.memref_slice %x[{3}] : {0} -> {4}
    "tpu.enqueue_dma"(%part, %b, %s) <{{operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0, 0>, priority = 0 : i32, strict_ordering = false}}> : ({4}, {1}, {2}) -> ()
    return
  }}
}}
)MLIR",
      all, buffer, sem, zeros, some);
}

TEST(TpuRules, SM6634_RegularSemaphoresOfCopies) {
  const Shape array{3, 8, 128}, part{2, 8, 128};
  for (const char* chip : {"v4", "v5e"})
    EXPECT_EQ(refusalOf(chip, array, copyOf(array, part)),
              fmt::format(R"(error[SM6634]: a copy signals a regular semaphore
  --> k.mlir:7:5
   in kernel 'kernel'
   in chip {}
  need: another generation
  help: use a DMA semaphore
)",
                          chip));
  for (const char* chip : {"v5p", "v6e", "v7x"}) EXPECT_EQ(refusalOf(chip, array, copyOf(array, part)), "");
  EXPECT_EQ(refusalOf("v5e", array, copyOf(array, part, "dma_semaphore")), "");
}

/// The compiler for v6e gave each of these verdicts.
TEST(TpuRules, SM6634_RegularSemaphoresOfCopiesWithManyStrides) {
  const Shape array{2, 3, 3, 3, 3, 128}, part{2, 2, 2, 2, 2, 128};
  EXPECT_EQ(refusalOf("v6e", array, copyOf(array, part)),
            R"(error[SM6634]: Non-DMA semaphores in transfers that require unrolling.
  --> k.mlir:7:5
   in kernel 'kernel'
   in chip v6e
  need: at most 3 strides outside contiguous memory
  have: 4 strides
  help: use a DMA semaphore, or copy fewer dimensions at a time
)");
  const auto isAccepted = [](const Shape& array, const Shape& part) {
    return refusalOf("v6e", array, copyOf(array, part)).empty();
  };
  EXPECT_TRUE(isAccepted({3, 3, 3, 3, 128}, {2, 2, 2, 2, 128}));
  EXPECT_TRUE(isAccepted({3, 3, 3, 3, 8, 128}, {2, 2, 2, 2, 8, 128})) << "the inner two are contiguous";
  EXPECT_FALSE(isAccepted({3, 3, 3, 3, 3, 8, 128}, {2, 2, 2, 2, 2, 8, 128}));
  EXPECT_FALSE(isAccepted({3, 3, 3, 3, 16, 128}, {2, 2, 2, 2, 8, 128}));
  EXPECT_TRUE(isAccepted({3, 3, 3, 16, 256}, {2, 2, 2, 8, 128}));
  EXPECT_TRUE(isAccepted({3, 2, 3, 2, 3, 8, 128}, {2, 2, 2, 2, 2, 8, 128}))
      << "whole dimensions are contiguous with the next ones";
  EXPECT_TRUE(isAccepted({3, 3, 3, 16, 512}, {2, 2, 2, 8, 256}));
  EXPECT_FALSE(isAccepted({3, 3, 3, 32, 512}, {2, 2, 2, 16, 256}));
  EXPECT_FALSE(isAccepted({3, 3, 3, 3, 8, 512}, {2, 2, 2, 2, 8, 256}));
}

}  // namespace
}  // namespace smalti::testing
