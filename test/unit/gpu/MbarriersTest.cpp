// Barriers of some threads, mbarriers, and copies of boxes, as threads in this process have them.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/host/Fibres.h"

namespace smalti::gpu {
namespace {

/// Waits as generated code does.
void await(void* mbarrier, int32_t parity) {
  while (!hostMbarrierTest(mbarrier, parity)) {
  }
}

TEST(Mbarriers, ABarrierOfSomeThreadsDoesNotWaitForOthers) {
  int before = 0;
  const auto trouble = runBlock({.threads = 96}, [&] {
    if (hostThread() >= 64) return;
    ++before;
    hostNamedBarrier(0, 64);
    EXPECT_EQ(before, 64);
  });
  EXPECT_FALSE(trouble);
}

TEST(Mbarriers, APhaseEndsWhenAllWarpsHaveCome) {
  for (const uint64_t seed : {0, 1, 2}) {
    int written = 0;
    const auto trouble = runBlock({.threads = 96, .sharedBytes = 8, .seed = seed}, [&] {
      void* mbarrier = hostShared();
      if (hostThread() == 0) hostMbarrierInit(mbarrier, 2);
      hostBarrier(0);
      for (int32_t round = 0; round < 3; ++round) {
        if (hostThread() < 64) {
          ++written;
          hostMbarrierArrive(mbarrier);
        } else {
          await(mbarrier, round % 2);
          EXPECT_EQ(written, 64 * (round + 1));
        }
        hostBarrier(1);
      }
    });
    EXPECT_FALSE(trouble);
  }
}

TEST(Mbarriers, BeforeTheFirstPhaseEndsTheOneBeforeHasEnded) {
  runBlock({.threads = 1, .sharedBytes = 8}, [] {
    hostMbarrierInit(hostShared(), 1);
    EXPECT_EQ(hostMbarrierTest(hostShared(), 1), 1);
  });
}

TEST(Mbarriers, AMissingSignalIsFound) {
  const auto trouble = runBlock({.threads = 32, .sharedBytes = 8}, [] {
    if (hostThread() == 0) hostMbarrierInit(hostShared(), 1);
    hostBarrier(0);
    await(hostShared(), 0);
  });
  EXPECT_EQ(trouble, "of 32 threads 0 wait at a barrier, 0 in a shuffle, 32 for a signal, and 0 have ended");
}

TEST(Mbarriers, ASignalIsMadeBeforeItIsUsed) {
  EXPECT_EQ(runBlock({.threads = 1, .sharedBytes = 8}, [] { hostMbarrierExpect(hostShared(), 16); }),
            "a signal is used before it is initialised");
}

/// A box of 16 × 64 elements of an array of 20 × 72; its last rows are beyond the end of the array.
TEST(Mbarriers, ABoxComesLateSwizzledAndWithZerosOutside) {
  constexpr int64_t kRows = 20, kColumns = 72, kBox = 16;
  std::vector<uint16_t> array(kRows * kColumns);
  for (size_t i = 0; i < array.size(); ++i) array[i] = static_cast<uint16_t>(i + 1);
  const HostTensorMap map{.base = reinterpret_cast<const std::byte*>(array.data()),
                          .rank = 2,
                          .elementBytes = 2,
                          .extents = {kColumns, kRows},
                          .box = {64, kBox}};
  for (const uint64_t seed : {0, 3, 4, 5}) {
    const auto trouble = runBlock({.threads = 1, .sharedBytes = kBox * 128 + 8, .seed = seed}, [&] {
      auto* shared = static_cast<uint16_t*>(hostShared());
      void* mbarrier = shared + kBox * 64;
      std::fill_n(shared, kBox * 64, uint16_t{0xffff});
      hostMbarrierInit(mbarrier, 1);
      hostMbarrierExpect(mbarrier, kBox * 128);
      hostCopyBox(shared, map, mbarrier, {32, 10, 0, 0, 0});
      if (seed == 0) {
        EXPECT_EQ(shared[0], 0xffff) << "nobody has waited yet";
      }
      await(mbarrier, 0);
      for (int64_t r = 0; r < kBox; ++r)
        for (int64_t c = 0; c < 64; ++c) {
          const int64_t row = 10 + r, column = 32 + c;
          const int expected = row < kRows && column < kColumns ? static_cast<int>(row * kColumns + column + 1) : 0;
          EXPECT_EQ(shared[r * 64 + ((c / 8) ^ (r % 8)) * 8 + c % 8], expected) << r << " " << c;
        }
    });
    EXPECT_FALSE(trouble);
  }
}

TEST(Mbarriers, ProductsOfAGroupEndInTheWaitForIt) {
  runBlock({.threads = 128, .sharedBytes = 2 * 64 * 128}, [] {
    auto* shared = static_cast<uint16_t*>(hostShared());
    for (int i = hostThread(); i < 2 * 64 * 64; i += 128) shared[i] = 0x3f80;  // 1
    hostBarrier(0);
    float first[4] = {}, second[4] = {5, 5, 5, 5};
    const GroupProduct product{.columns = 8};
    hostGroupMma(first, shared, shared + 64 * 64, true, product);
    hostGroupCommit();
    hostGroupMma(second, shared, shared + 64 * 64, false, product);
    hostGroupCommit();
    EXPECT_EQ(first[0], 0);
    hostGroupWait(1);
    EXPECT_EQ(first[0], 16);
    EXPECT_EQ(second[0], 5);
    hostGroupWait(0);
    EXPECT_EQ(second[0], 16);
  });
}

}  // namespace
}  // namespace smalti::gpu
