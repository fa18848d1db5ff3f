// What keeps modules from elsewhere from TPUs and what pallas_call refuses itself: whole messages. The rest is in
// test/unit/lang/LegalityTest.cpp.
#include "../ir/FinishTesting.h"
#include "tpu/Legality.h"

namespace smalti::testing {
namespace {

std::string legalOf(const Case& c) {
  return messageOf(c, [](KernelPackage& package) {
    if (Status ok = finish(package); !ok) return ok;
    return tpu::checkLegal(package);
  });
}

TEST(Legality, AGoodKernel) { EXPECT_EQ(legalOf({"AGoodKernel", {}, {}, ""}), ""); }

TEST(Legality, SM6603_ABlockWithoutAxes) {
  const Case scalar{"",
                    {{"%x: memref<8x128xf32, #tpu.memory_space<vmem>>", "%x: memref<f32, #tpu.memory_space<any>>"},
                     {"@in, window_bounds = array<i64: 8, 128>", "@in, window_bounds = array<i64>"},
                     {R"( -> (i32, i32) {
    return %i, %i : i32, i32)",
                      R"( {
    return)"}},
                    [](KernelPackage& p) { p.operands[1].shape = {}; },
                    ""};
  EXPECT_EQ(legalOf(scalar), R"(error[SM6603]: The Pallas TPU lowering currently supports only blocks of rank >= 1
  --> k.mlir:11:3
   in kernel 'add_one'
   in every chip
   in input 0
  need: a block with axes
  have: block () of f32[]
  help: put the scalar in SMEM, or make it an array of shape (1, 1)
)");
}

TEST(Legality, SM6604_AWindowOfAnArrayInHbm) {
  const Case part{"",
                  {{"%x: memref<8x128xf32, #tpu.memory_space<vmem>>", "%x: memref<8x128xf32, #tpu.memory_space<any>>"}},
                  {},
                  ""};
  EXPECT_EQ(
      legalOf(part),
      R"(error[SM6604]: The Pallas TPU lowering currently supports in memory space ANY only blocks having the same block shape as the array shape and a trivial index_map (returning all 0s)
  --> k.mlir:11:3
   in kernel 'add_one'
   in every chip
   in input 0
  need: block (16, 128) and an index map of zeros
  have: block (8, 128) of f32[16,128]
  help: pass the whole array, and copy parts of it with make_async_copy
)");
}

TEST(Legality, SM6608_ACopyOfBools) {
  const Case copy{
      "",
      {{"%s: memref<8x128xf32, #tpu", "%s: memref<8x128xi1, #tpu"},
       {"// body", R"(%sem = "tpu.sem_alloc"() : () -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
    "tpu.enqueue_dma"(%s, %s, %sem) <{operandSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0, 0>, priority = 0 : i32,
        strict_ordering = false}> : (memref<8x128xi1, #tpu.memory_space<vmem>>,
        memref<8x128xi1, #tpu.memory_space<vmem>>, memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) -> ())"}},
      {},
      ""};
  EXPECT_EQ(legalOf(copy), R"(error[SM6608]: DMAs with bool dtypes are not supported
  --> k.mlir:9:5
   in kernel 'add_one'
   in every chip
  need: elements of at least 4 bits
  have: pred[8,128]
  help: keep the array as i8 or i32
)");
}

}  // namespace
}  // namespace smalti::testing
