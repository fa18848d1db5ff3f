// Semaphores, DMA, debug prints, checks and traces: what goes to the core, and what blocks.
#include <gmock/gmock.h>

#include "Harness.h"

namespace smalti::machine::test {
namespace {

using Sync = Kernel;

TEST_F(Sync, AWaitBlocksUntilItIsSignalledAndIsTriedAgain) {
  buffer(DType::semaphore, {2}, {0, 0}, MemoryKind::semaphore);
  buffer(DType::i32, {1}, {0}, MemoryKind::smem);
  ASSERT_TRUE(compileText(wrap(R"(
    %c = arith.constant 0 : index
    %i1 = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %s = "tpu.memref_slice"(%0, %i1) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (memref<2x!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> memref<1x!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    %q = "tpu.memref_squeeze"(%s) : (memref<1x!tpu.semaphore, #tpu.memory_space<semaphore_mem>>) -> memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
    "tpu.sem_wait"(%q, %two) : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
    %n = "tpu.sem_read"(%q) : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>) -> i32
    memref.store %n, %1[%c] : memref<1xi32, #tpu.memory_space<smem>>
  )")));
  EXPECT_EQ(*go(), RunState::blocked);
  EXPECT_EQ(*go(), RunState::blocked);
  reinterpret_cast<int64_t*>(buffers[0]->data())[1] = 5;
  EXPECT_EQ(*go(), RunState::finished);
  EXPECT_EQ(out(1), (std::vector<double>{3}));
}

TEST_F(Sync, SignalsCountUp) {
  buffer(DType::semaphore, {}, {1}, MemoryKind::semaphore);
  run(R"(
    %three = arith.constant 3 : i32
    "tpu.sem_signal"(%0, %three) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>}> : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
  )");
  EXPECT_EQ(reinterpret_cast<int64_t*>(buffers[0]->data())[0], 4);
}

TEST_F(Sync, AnUndefinedAmountIsReportedToTheObserver) {
  buffer(DType::semaphore, {}, {1}, MemoryKind::semaphore);
  buffer(DType::i32, {1}, {}, MemoryKind::smem);
  run(R"(
    %c = arith.constant 0 : index
    %n = memref.load %1[%c] : memref<1xi32, #tpu.memory_space<smem>>
    "tpu.sem_signal"(%0, %n) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>}> : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
  )");
  ASSERT_EQ(core.recorder.undefinedUses.size(), 1u);
  EXPECT_EQ(core.recorder.undefinedUses[0].first, UndefinedUse::semaphore);
}

TEST_F(Sync, CopiesOfDynamicSizeMoveBytesAndWaitForThem) {
  scalars = {2};
  buffer(DType::f32, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, MemoryKind::any);
  buffer(DType::f32, {4, 2}, {0});
  buffer(DType::dma_semaphore, {}, {0}, MemoryKind::semaphore);
  run(R"(
    %z = arith.constant 0 : i32
    %o = arith.constant 1 : i32
    %s = "tpu.memref_slice"(%0, %o, %z, %i0) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (memref<4x2xf32, #tpu.memory_space<any>>, i32, i32, i32) -> memref<?x2xf32, #tpu.memory_space<any>>
    %t = "tpu.memref_slice"(%1, %z, %z, %i0) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (memref<4x2xf32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<?x2xf32, #tpu.memory_space<vmem>>
    "tpu.enqueue_dma"(%s, %t, %2) <{operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0, 0>, priority = 1 : i32, strict_ordering = false}> : (memref<?x2xf32, #tpu.memory_space<any>>, memref<?x2xf32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
    "tpu.wait_dma"(%s, %t, %2) <{operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0, 0>, priority = 0 : i32, strict_ordering = false, wait_target = true}> : (memref<?x2xf32, #tpu.memory_space<any>>, memref<?x2xf32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  )");
  EXPECT_EQ(out(1), (std::vector<double>{3, 4, 5, 6, 0, 0, 0, 0}));
  ASSERT_EQ(core.dmas.size(), 1u);
  EXPECT_EQ(core.dmas[0].priority, 1);
  EXPECT_EQ(core.dmas[0].source.dmaBytes(), 16);
  EXPECT_EQ(reinterpret_cast<int64_t*>(buffers[2]->data())[0], 0);
}

TEST_F(Sync, SM4017_CopiesHaveTheSizeOfTheirTargets) {
  scalars = {2, 1};
  buffer(DType::f32, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, MemoryKind::any);
  buffer(DType::f32, {4, 2}, {0});
  buffer(DType::dma_semaphore, {}, {0}, MemoryKind::semaphore);
  ASSERT_TRUE(compileText(wrap(R"(
    %z = arith.constant 0 : i32
    %s = "tpu.memref_slice"(%0, %z, %z, %i0) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (memref<4x2xf32, #tpu.memory_space<any>>, i32, i32, i32) -> memref<?x2xf32, #tpu.memory_space<any>>
    %t = "tpu.memref_slice"(%1, %z, %z, %i1) <{operandSegmentSizes = array<i32: 1, 2, 1>}> : (memref<4x2xf32, #tpu.memory_space<vmem>>, i32, i32, i32) -> memref<?x2xf32, #tpu.memory_space<vmem>>
    "tpu.enqueue_dma"(%s, %t, %2) <{operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0, 0>, priority = 1 : i32, strict_ordering = false}> : (memref<?x2xf32, #tpu.memory_space<any>>, memref<?x2xf32, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ()
  )")));
  const auto state = go();
  ASSERT_FALSE(state);
  EXPECT_THAT(state.error().str(),
              testing::AllOf(testing::StartsWith("error[SM4017]: a copy from [2, 2] to [1, 2] elements\n"),
                             testing::HasSubstr("  need: a target of 4 elements\n"
                                                "  have: 2\n"
                                                "  help: slice both refs with the same sizes\n")));
  EXPECT_TRUE(core.dmas.empty());
}

TEST_F(Sync, RemoteCopiesNameTheirDeviceAndBothSemaphores) {
  scalars = {3};
  buffer(DType::f32, {2}, {1, 2}, MemoryKind::any);
  buffer(DType::f32, {2}, {0}, MemoryKind::any);
  buffer(DType::dma_semaphore, {}, {0}, MemoryKind::semaphore);
  buffer(DType::dma_semaphore, {}, {0}, MemoryKind::semaphore);
  const std::string operands =
      R"((%0, %2, %1, %3, %i0) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0>, priority = 0 : i32, strict_ordering = false)";
  const std::string types =
      R"(}> : (memref<2xf32, #tpu.memory_space<any>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, memref<2xf32, #tpu.memory_space<any>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
)";
  run("\"tpu.enqueue_dma\"" + operands + types + "\"tpu.wait_dma\"" + operands + ", wait_target = false" + types +
      "\"tpu.wait_dma\"" + operands + ", wait_target = true" + types);
  ASSERT_EQ(core.dmas.size(), 1u);
  EXPECT_EQ(core.dmas[0].device, 3);
  EXPECT_TRUE(core.dmas[0].sourceSemaphore.has_value());
  EXPECT_EQ(reinterpret_cast<int64_t*>(buffers[2]->data())[0], 0);
  EXPECT_EQ(reinterpret_cast<int64_t*>(buffers[3]->data())[0], 0);
}

TEST_F(Sync, QueriesComeFromTheCore) {
  core.device = 2;
  buffer(DType::i32, {2}, {0}, MemoryKind::smem);
  run(R"(
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %d = "tpu.device_id"() : () -> i32
    %b = "tpu.iteration_bound"() <{dim = 1 : i32}> : () -> i32
    memref.store %d, %0[%c0] : memref<2xi32, #tpu.memory_space<smem>>
    memref.store %b, %0[%c1] : memref<2xi32, #tpu.memory_space<smem>>
    %n = arith.constant 100 : i32
    "tpu.delay"(%n) : (i32) -> ()
  )");
  EXPECT_EQ(out(0), (std::vector<double>{2, 8}));
  EXPECT_EQ(core.delayed, 100);
}

TEST_F(Sync, DebugPrintsFillTheirPlaceholders) {
  scalars = {-1};
  buffer(DType::f32, {2, 2}, {1, 2.5, 3, 4});
  run(R"(
    %f = arith.constant 2.0 : f32
    "tpu.log"(%i0, %i0, %f) <{formatted = true, tag = "x: $s0 $u1 $f2 $s9 $"}> : (i32, i32, f32) -> ()
    "tpu.log"(%i0) <{formatted = false, tag = "y"}> : (i32) -> ()
    "tpu.log_buffer"(%0) <{shape = array<i64: 2, 2>, tag = "vec "}> : (memref<2x2xf32, #tpu.memory_space<vmem>>) -> ()
  )");
  EXPECT_EQ(core.logs, (std::vector<std::string>{"x: -1 4294967295 2.0 $s9 $", "y -1", "vec [[1.0 2.5]\n [3.0 4.0]]"}));
}

TEST_F(Sync, SL4_AFailedCheckStopsTheKernelWithItsMessage) {
  scalars = {1};
  const std::string body = R"(
    %zero = arith.constant 0 : i32
    %p = arith.cmpi eq, %i0, %zero : i32
    cf.assert %p, "x must be zero"
  )";
  EXPECT_EQ(failure(body), "SM4011");
  EXPECT_NE(diagnostic.message.find("x must be zero"), std::string::npos);
  scalars = {0};
  run(body);
}

TEST_F(Sync, TraceRegionsAndValuesReachTheCore) {
  run(R"(
    "tpu.trace_start"() <{level = 10 : i32, message = "copy"}> : () -> ()
    "tpu.trace_stop"() : () -> ()
    %x = arith.constant 7 : i32
    "tpu.trace_value"(%x) <{label = "n"}> : (i32) -> ()
  )");
  EXPECT_EQ(core.traces, (std::vector<std::string>{"+copy", "-", "+n = 7", "-n = 7"}));
}

}  // namespace
}  // namespace smalti::machine::test
