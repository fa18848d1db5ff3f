// What takes VMEM: scratch that is removed, and values that the compiler spills.
#include "tpu/Vmem.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "RuleTesting.h"
#include "tpu/MaxBlocks.h"
#include "tpu/OtherMemory.h"

namespace smalti::testing {
namespace {

/// One step per `steps`, a window (256, 1024) of f32 in and out, scratch of the same shape.
std::string text(int64_t steps, const std::string& body) {
  return fmt::format(R"MLIR(module {{
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<256x1024xf32, #tpu.memory_space<vmem>>,
                    %o: memref<256x1024xf32, #tpu.memory_space<vmem>>, %s: memref<256x1024xf32, #tpu.memory_space<vmem>>)
      attributes {{dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: {}>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{{transform_indices = @map, window_bounds = array<i64: 256, 1024>}},
                                   {{transform_indices = @map, window_bounds = array<i64: 256, 1024>}}]}} {{
    %zero = arith.constant 0 : index
    %first = arith.constant 0 : i32
    %v = vector.load %x[%zero, %zero] : memref<256x1024xf32, #tpu.memory_space<vmem>>, vector<256x1024xf32>
    {}
    return
  }}
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {{
    %zero = arith.constant 0 : i32
    return %i, %zero : i32, i32
  }}
}}
)MLIR",
                     steps, body);
}

const std::string kStoreScratch =
    "vector.store %v, %s[%zero, %zero] : memref<256x1024xf32, #tpu.memory_space<vmem>>, vector<256x1024xf32>\n";
const std::string kCopyScratch =
    "%l = vector.load %s[%zero, %zero] : memref<256x1024xf32, #tpu.memory_space<vmem>>, vector<256x1024xf32>\n"
    "vector.store %l, %o[%zero, %zero] : memref<256x1024xf32, #tpu.memory_space<vmem>>, vector<256x1024xf32>\n";

tpu::VmemMap mapOf(const std::string& chip, int64_t steps, const std::string& body) {
  const auto found = tpu::findChip(chip);
  EXPECT_TRUE(found);
  return tpu::vmemOf(kernelOf({steps * 256, 1024}, text(steps, body)), *found);
}

TEST(Vmem, ScratchThatNothingReadsTakesNothing) {
  EXPECT_THAT(mapOf("v5e", 2, kStoreScratch).removed, ::testing::ElementsAre("scratch 0"));
  EXPECT_THAT(mapOf("v5e", 2, kCopyScratch).removed, ::testing::IsEmpty());
}

TEST(Vmem, ScratchThatEachStepStoresBeforeItLoadsTakesNothing) {
  EXPECT_THAT(mapOf("v5e", 2, kStoreScratch + kCopyScratch).removed, ::testing::ElementsAre("scratch 0"));
  const std::string inFirstStep =
      "%is = arith.cmpi eq, %i, %first : i32\n scf.if %is {\n" + kStoreScratch + "}\n" + kCopyScratch;
  EXPECT_THAT(mapOf("v5e", 1, inFirstStep).removed, ::testing::ElementsAre("scratch 0"));
  EXPECT_THAT(mapOf("v5e", 2, inFirstStep).removed, ::testing::IsEmpty());
}

TEST(Vmem, WindowsHaveTwoBuffersUnlessTheirBlockNeverChanges) {
  EXPECT_EQ(mapOf("v5e", 2, kStoreScratch).declaredBytes(), 4 << 20);
  EXPECT_EQ(mapOf("v5e", 1, kStoreScratch).declaredBytes(), 2 << 20);
}

TEST(Vmem, WhatAReductionNeedsAgainIsKept) {
  const tpu::VmemMap map = mapOf("v5e", 2, kSoftmax);
  ASSERT_EQ(map.temporaries.kept.size(), 1U);
  EXPECT_EQ(map.temporaries.kept.front().what, "result of math.exp, needed again later");
  EXPECT_EQ(map.temporaries.kept.front().bytes, 1 << 20);
  EXPECT_EQ(map.temporaries.likely, (256 - 40) * 4096);  // v5e: 40 registers need no memory
  EXPECT_LT(map.temporaries.low, map.temporaries.likely);
  EXPECT_LT(map.temporaries.likely, map.temporaries.high);
  const std::string chain = "%e = math.exp %v : vector<256x1024xf32>\n" + kStoreScratch;
  EXPECT_EQ(mapOf("v5e", 2, chain).temporaries.likely, 0);
}

TEST(Vmem, AllocationsOfRegionsOneAfterTheOtherShareMemory) {
  const auto region = [](const std::string& name, const std::string& shape, const std::string& inner) {
    return "\"tpu.region\"() ({\n " + name + " = memref.alloca() : memref<" + shape +
           "xf32, #tpu.memory_space<vmem>>\n" + inner + "\"tpu.yield\"() : () -> ()\n}) : () -> ()\n";
  };
  const std::string one = region("%a", "256x1024", ""), two = region("%b", "512x1024", "");
  constexpr int64_t kWindows = 4 << 20, kMib = 1 << 20;
  EXPECT_EQ(mapOf("v5e", 2, one).declaredBytes(), kWindows + kMib);
  EXPECT_EQ(mapOf("v5e", 2, one + two + one).declaredBytes(), kWindows + 2 * kMib);
  EXPECT_EQ(mapOf("v5e", 2, region("%c", "256x1024", one + two)).declaredBytes(), kWindows + 3 * kMib);
}

TEST(Vmem, TheLargestBlockThatFits) {
  const auto chip = tpu::findChip("v5e");
  ASSERT_TRUE(chip);
  const KernelPackage kernel = kernelOf({8 * 256, 1024}, text(8, kCopyScratch));
  const auto rooms = tpu::bytesOf(kernel, *chip, tpu::vmemOf(kernel, *chip));
  ASSERT_EQ(rooms.size(), 1U);
  // 16 MiB hold two buffers in, two out, and the scratch: 5 × 4 KiB a row, and whole tiles.
  EXPECT_EQ(rooms.front().largest, (16 << 20) / (5 * 4096) / 8 * 8);
  EXPECT_THAT(rooms.front().follow,
              ::testing::ElementsAre("input 0 dimension 0", "output 0 dimension 0", "scratch 0 dimension 0"));
}

TEST(Vmem, ScalarsLieInSmemAndArraysInHbm) {
  const auto chip = tpu::findChip("v5e");
  ASSERT_TRUE(chip);
  const tpu::OtherMemory other = tpu::otherMemoryOf(kernelOf({512, 1024}, text(2, kCopyScratch)), *chip);
  EXPECT_EQ(other.smemBytes, 16);
  EXPECT_EQ(other.semaphores, 0);
  EXPECT_EQ(other.hbmBytes, 16 + 2 * 512 * 1024 * 4);
}

}  // namespace
}  // namespace smalti::testing
