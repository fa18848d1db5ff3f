// What the compiler's words mean.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "pjrt/Refusals.h"

namespace smalti::pjrt {
namespace {

std::string reasonOf(const std::string& words) { return classify({13, words}, "v5e").reason; }

// Every row is reached by its own words: none is hidden behind one above it.
TEST(Refusals, EveryRowIsReached) {
  for (const RefusalRow& row : refusalRows()) {
    const std::string words = std::string(row.words) + " … " + std::string(row.also);
    EXPECT_EQ(reasonOf(words), row.reason) << words;
  }
}

// Messages as libtpu 0.0.50 and 0.0.52 wrote them.
TEST(Refusals, RecordedMessagesHaveTheirReason) {
  const std::vector<std::pair<std::string, std::string>> kMessages{
      {"unaligned-index",
       "E2003: CompileTimeMosaicUnprovenMemoryAccessAlignment: cannot statically prove that index in "
       "dimension 0 is a multiple of 8"},
      {"block-shape",
       "E2002: … Failed to set window params for input 0: Operand of shape (*, 64, 256) has tiling (8, "
       "128), but its block shape (*, 3, 256) is not divisible by tiling evenly nor matches the full "
       "shape"},
      {"narrow-arithmetic",
       "Not implemented: Only vector<i16> and vector<i32> are supported, but got 'i8'. Please cast your input."},
      {"scalar-type",
       "Not implemented: Only i32 arith.addi is supported, but got 'i8'. Please cast your input to i32."},
      {"element-type", "failed to legalize operation 'math.ctpop': %3 = \"math.ctpop\"(%2)"},
      {"bool-carry", "failed to legalize operation 'scf.for': %5 = \"scf.for\"(%1, %2, %3, %4)"},
      {"matmul-type", "E2001: … Unsupported matmul RHS type on target: vector<128x128xi8>"},
      {"matmul-type", "float acc with int lhs. Expected float lhs."},
      {"shape-cast", "infer-vector-layout: unsupported shape cast"},
      {"shape-cast", "infer-vector-layout: non-noop i1 reshape is unsupported"},
      {"vmem", "E1001: CompileTimeScopedVmemOom:\nRan out of memory in memory space vmem while allocating on stack"},
      {"vmem",
       "Allocation (size=33554432) would exceed memory (size=16777216) :: [shape = 'u8[1]{0}', space=vmem, size"},
      {"hbm", "E1000: CompileTimeHbmOom: Ran out of memory on HBM"},
      {"unsupported-op", "Target platform does not support BF16 ReciprocalOp."},
      {"unsupported-op", "INTERNAL: Regular semaphores in EnqueueDMA are not supported on this target."},
      {"unsupported-op", "INTERNAL: Not implemented: Non-DMA semaphores in transfers that require unrolling."},
      {"unsupported-op", "MatmulLhsFifoOp not supported on TPU generations >= 7."},
      {"matrix-queue",
       "Cannot schedule FIFO push instruction when the FIFO is full.  FIFO name: kMrf0. (element count 48 vs 48)."},
      {"unsupported-op", "LLO_CHECK failure (platforms/xla/service/jellyfish/llo/llo_region_builder.cc:1) x"},
      {"other", "something that nobody has seen"},
  };
  for (const auto& [reason, message] : kMessages) EXPECT_EQ(reasonOf(message), reason) << message;
}

TEST(Refusals, OutOfMemoryIsDistinguished) {
  EXPECT_TRUE(classify({8, "Ran out of memory in memory space vmem."}, "v4").memory);
  EXPECT_FALSE(classify({13, "unsupported shape cast"}, "v4").memory);
}

constexpr std::string_view kMosaic =
    "Mosaic failed to compile TPU kernel with MLIR module name `<no name>` HLO name `f.1`: Not implemented: Only "
    "vector<i16> and vector<i32> are supported, but got 'i8'. Please cast your input.\n\nat location: "
    "loc(\"add:\"(\"add/add\"(callsite(\"kernel\"(\"/home/me/k.py\":6:13 to :18) at "
    "\"f\"(\"/usr/lib/python3/dist-packages/jax/_src/api.py\":9:1 to :18)))))\n\nThe MLIR operation involved:\n  %4 = "
    "\"arith.addi\"(%3, %3) : (vector<64x128xi8>) -> vector<64x128xi8>\n\nPlease report a bug at: "
    "https://github.com/jax-ml/jax/issues/new/choose\n";

TEST(Refusals, TheDiagnosticHasTheUsersLineAndTheCompilersWords) {
  EXPECT_EQ(classify({13, std::string(kMosaic)}, "v5e").diagnostic.str(),
            "error[SM6806]: the compiler for v5e refuses this: integers of this width are not added, subtracted or "
            "multiplied on TPUs\n"
            "  --> /home/me/k.py:6:14\n"
            "   in instruction 'f.1' of the compiled program\n"
            "   in op 'arith.addi' : (vector<64x128xi8>) -> vector<64x128xi8>\n"
            "  have: INTERNAL: Not implemented: Only vector<i16> and vector<i32> are supported, but got 'i8'. Please "
            "cast your input.\n"
            "  help: cast to i32 or i16 first\n");
}

TEST(Refusals, TheKernelsOwnNameIsThereWhereItIsTheOnlyOne) {
  const auto where = [](std::string_view module) {
    return classify({13, std::string(kMosaic)}, "v5e", module).diagnostic.where[0];
  };
  EXPECT_EQ(where("… kernel_name = \"add\", …"), "kernel 'add'");
  EXPECT_EQ(where("… kernel_name = \"add\", … kernel_name = \"mul\""), "instruction 'f.1' of the compiled program");
  EXPECT_EQ(where("… kernel_name = \"add"), "instruction 'f.1' of the compiled program");
}

TEST(Refusals, WordsWithoutAPlaceHaveNone) {
  const Refusal refusal = classify({2, "no idea"}, "v6e");
  EXPECT_EQ(refusal.diagnostic.str(),
            "error[SM6806]: the compiler for v6e refuses this: for a reason of its own\n  have: UNKNOWN: no idea\n");
}

TEST(Refusals, LocationsThatAreNoneAreUnknown) {
  for (const std::string text : {"", "loc(", "loc(unknown)", "loc(\"a\":1:)", "nothing", "loc(\"only a name\")"})
    EXPECT_FALSE(placeOfLocation(text).known()) << text;
  EXPECT_EQ(placeOfLocation("loc(\"add.cpp\":12:3)").str(), "add.cpp:12:3");
}

}  // namespace
}  // namespace smalti::pjrt
