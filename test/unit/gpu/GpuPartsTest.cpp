#include <gtest/gtest.h>

#include "gpu/Architecture.h"
#include "gpu/device/Primitives.h"
#include "gpu/driver/CudaDriver.h"
#include "gpu/emit/Hazards.h"
#include "gpu/ptx/CachedPtx.h"
#include "gpu/ptx/Tools.h"

namespace smalti::gpu {
namespace {

TEST(Architectures, AreFoundByTheirNamesAndDevices) {
  EXPECT_EQ(architectureNamed("sm_80")->version, 80);
  EXPECT_EQ(architectureNamed("H200")->name, "sm_90a");
  EXPECT_EQ(architectureNamed("l40s")->name, "sm_89");
}

TEST(Architectures, SM7203_UnknownArchitecturesAreNamed) {
  EXPECT_EQ(architectureNamed("sm_35").error().str(),
            "error[SM7203]: there is no code for a GPU named 'sm_35'\n"
            "  need: sm_80 (a100 a30), sm_86 (a10 a40 rtx3090 rtxa6000), sm_89 (l4 l40 l40s rtx4090), sm_90, "
            "sm_90a (h100 h200 gh200)\n"
            "  help: name one of these; code for an older one runs on newer ones, except that for sm_90a\n");
}

TEST(Hazards, ABarrierStandsBetweenAWriteAndAnythingElse) {
  Hazards h;
  EXPECT_FALSE(h.needsBarrier({1}, {2}));
  h.note({1}, {2});
  EXPECT_FALSE(h.needsBarrier({1}, {3}));
  EXPECT_TRUE(h.needsBarrier({2}, {}));
  EXPECT_TRUE(h.needsBarrier({}, {2}));
  EXPECT_TRUE(h.needsBarrier({}, {1}));
  h.clear();
  EXPECT_FALSE(h.needsBarrier({2}, {1, 2}));
}

TEST(Hazards, MemoryThatIsStillReadIsMarkedBeforeItIsReused) {
  Hazards h;
  h.markReusable(1);
  EXPECT_FALSE(h.reused());
  h.note({1}, {});
  h.markReusable(1);
  EXPECT_TRUE(h.reused());
}

TEST(Tools, ResourcesAreReadFromWhatPtxasPrints) {
  const Resources r = parseResources(
      "ptxas info    : Function properties for smalti_kernel\n"
      "    16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size, 512 bytes smem\n");
  EXPECT_EQ(r.registers, 40);
  EXPECT_EQ(r.spillBytes, 8);
  EXPECT_EQ(r.stackBytes, 16);
  EXPECT_EQ(r.sharedBytes, 512);
}

TEST(Primitives, RegisterLimitsAreReadFromTheirNames) {
  for (const bool raises : {false, true}) {
    const RegisterLimit read = registerLimitNamed(registerLimitName({.raises = raises, .count = 232}));
    EXPECT_EQ(read.raises, raises);
    EXPECT_EQ(read.count, 232);
  }
}

DeviceKernel launchWithMaps() {
  DeviceKernel k;
  k.threads = 128;
  k.copyThreads = 32;
  k.maps = {{.array = 0, .elementBytes = 2, .extents = {256, 128}, .box = {64, 128}},
            {.array = 1, .elementBytes = 1, .extents = {64, 32, 16}, .box = {128, 8, 1}}};
  k.sharedBytes = 1 << 16;
  k.workspaceBytes = 4096;
  k.sharedBounds = {4, kDynamicBound};
  k.written = {true, false};
  k.sequentialReason = "scratch 0 may hold what an earlier point has left in it";
  return k;
}

TEST(CachedPtx, ALaunchWithTensorMapsIsReadBack) {
  const DeviceKernel k = launchWithMaps();
  const auto read = readLaunchReport(launchReport(k));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->threads, 128);
  EXPECT_EQ(read->allThreads(), 160);
  EXPECT_EQ(read->maps, k.maps);
  EXPECT_EQ(read->sharedBytes, k.sharedBytes);
  EXPECT_EQ(read->workspaceBytes, k.workspaceBytes);
  EXPECT_EQ(read->sharedBounds, k.sharedBounds);
  EXPECT_EQ(read->written, k.written);
  EXPECT_EQ(read->sequentialReason, k.sequentialReason);
}

TEST(CachedPtx, ReportsThatAreIncompleteOrImpossibleAreNotRead) {
  const std::string whole = launchReport(launchWithMaps());
  for (size_t n = 0; n < whole.size() - launchWithMaps().sequentialReason.size(); ++n)
    EXPECT_FALSE(readLaunchReport(whole.substr(0, n))) << whole.substr(0, n);
  DeviceKernel k = launchWithMaps();
  k.maps[0].elementBytes = 8;
  EXPECT_FALSE(readLaunchReport(launchReport(k)));
  k = launchWithMaps();
  k.maps[0].box.pop_back();
  EXPECT_FALSE(readLaunchReport(launchReport(k)));
  k.maps[0].box = k.maps[0].extents = {1, 1, 1, 1, 1, 1};
  EXPECT_FALSE(readLaunchReport(launchReport(k)));
}

TEST(CudaDriver, SM7205_ADriverThatIsNotThere) {
  const auto driver = CudaDriver::load("libcuda-of-nobody.so");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().str(),
            "error[SM7205]: there is no NVIDIA driver: libcuda-of-nobody.so cannot be loaded\n"
            "  help: --target cuda-host runs the same code without a GPU; smalti show --target cuda:GPU shows it\n");
}

TEST(CudaDriver, SM7205_ALibraryThatIsNoDriver) {
  const auto driver = CudaDriver::load("libc.so.6");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().message, "libc.so.6 is not a CUDA driver: it has no cuDriverGetVersion");
}

}  // namespace
}  // namespace smalti::gpu
