#include "gpu/ptx/Occupancy.h"

#include <gtest/gtest.h>

namespace smalti::gpu {
namespace {

/// Blocks, warps and what limits them, as NVIDIA's occupancy calculator gives them.
std::tuple<int, int, std::string_view> occupancy(const char* gpu, int threads, int registers, int64_t sharedBytes,
                                                 int copyThreads = 0) {
  DeviceKernel k;
  k.threads = threads;
  k.copyThreads = copyThreads;
  k.sharedBytes = sharedBytes;
  const Occupancy o = occupancyOf(k, registers, *architectureNamed(gpu));
  return {o.blocks, o.warps, o.limit};
}

TEST(Occupancy, IsLimitedByWhatRunsOutFirst) {
  EXPECT_EQ(occupancy("h100", 256, 48, 128), std::tuple(5, 40, "registers"));
  EXPECT_EQ(occupancy("h100", 256, 32, 0), std::tuple(8, 64, "warps"));
  EXPECT_EQ(occupancy("h100", 256, 168, 214016, 128), std::tuple(1, 12, "registers"));
  EXPECT_EQ(occupancy("h100", 128, 128, 107520), std::tuple(2, 8, "shared memory"));
  EXPECT_EQ(occupancy("h100", 64, 32, 0), std::tuple(32, 64, "warps"));
  EXPECT_EQ(occupancy("rtx3090", 64, 32, 0), std::tuple(16, 32, "blocks"));
  EXPECT_EQ(occupancy("l4", 512, 40, 0), std::tuple(3, 48, "warps"));
  EXPECT_EQ(occupancy("a100", 512, 128, 147456), std::tuple(1, 16, "registers"));
}

TEST(Occupancy, NotEvenOneBlock) { EXPECT_EQ(occupancy("a100", 1024, 168, 0), std::tuple(0, 0, "registers")); }

}  // namespace
}  // namespace smalti::gpu
