#include "gpu/host/Fibres.h"

#include <vector>

#include <gtest/gtest.h>

namespace smalti::gpu {
namespace {

TEST(Fibres, AllThreadsOfABlockRunAndKnowTheirNumbers) {
  std::vector<int> seen(64, 0);
  const auto trouble = runBlock({.threads = 64, .block = 3, .blocks = 5}, [&] {
    EXPECT_EQ(hostBlock(), 3);
    EXPECT_EQ(hostBlocks(), 5);
    ++seen[static_cast<size_t>(hostThread())];
  });
  EXPECT_FALSE(trouble);
  EXPECT_EQ(seen, std::vector<int>(64, 1));
}

TEST(Fibres, NobodyPassesABarrierBeforeAllHaveCome) {
  for (const uint64_t seed : {0, 1, 2}) {
    int before = 0;
    const auto trouble = runBlock({.threads = 96, .seed = seed}, [&] {
      for (int round = 1; round <= 3; ++round) {
        ++before;
        hostBarrier(0);
        EXPECT_EQ(before, 96 * round);
        hostBarrier(1);
      }
    });
    EXPECT_FALSE(trouble);
  }
}

TEST(Fibres, SharedMemoryIsTheBlocks) {
  runBlock({.threads = 32, .sharedBytes = 32 * 4}, [] {
    auto* numbers = static_cast<int*>(hostShared());
    numbers[hostThread()] = hostThread();
    hostBarrier(0);
    EXPECT_EQ(numbers[31 - hostThread()], 31 - hostThread());
  });
}

TEST(Fibres, AShuffleGivesTheOtherLanesBits) {
  const auto trouble = runBlock({.threads = 64}, [] {
    int sum = hostThread();
    for (int mask = 16; mask > 0; mask /= 2) sum += hostShuffle(sum, mask);
    EXPECT_EQ(sum, hostThread() < 32 ? 31 * 32 / 2 : 31 * 32 / 2 + 32 * 32);
  });
  EXPECT_FALSE(trouble);
}

TEST(Fibres, ABarrierThatNotAllThreadsComeToIsFound) {
  const auto trouble = runBlock({.threads = 64}, [] {
    if (hostThread() != 7) hostBarrier(0);
  });
  EXPECT_EQ(trouble, "of 64 threads 63 wait at a barrier, 0 in a shuffle, and 1 have ended");
}

TEST(Fibres, ThreadsAtDifferentBarriersAreFound) {
  const auto trouble = runBlock({.threads = 64}, [] { hostBarrier(hostThread() < 32 ? 0 : 1); });
  EXPECT_EQ(trouble, "of 64 threads 64 wait at a barrier, 0 in a shuffle, and 0 have ended");
}

TEST(Fibres, AShuffleThatALaneMissesIsFound) {
  const auto trouble = runBlock({.threads = 32}, [] {
    if (hostThread() > 0) hostShuffle(1, 1);
  });
  EXPECT_EQ(trouble, "of 32 threads 0 wait at a barrier, 31 in a shuffle, and 1 have ended");
}

TEST(Fibres, TheSeedDecidesInWhichOrderThreadsRunAfterABarrier) {
  const auto orderOf = [](uint64_t seed) {
    std::vector<int> order;
    runBlock({.threads = 64, .seed = seed}, [&] {
      hostBarrier(0);
      order.push_back(hostThread());
    });
    return order;
  };
  EXPECT_EQ(orderOf(0)[0], 0);
  EXPECT_EQ(orderOf(5), orderOf(5));
  EXPECT_NE(orderOf(5), orderOf(6));
}

TEST(Fibres, AllThreadsSeeTheFlagAtTheSameRound) {
  std::atomic<bool> stop{true};
  std::vector<int> rounds(64, 0);
  const auto trouble = runBlock({.threads = 64, .stop = &stop}, [&] {
    while (!hostStopped()) ++rounds[static_cast<size_t>(hostThread())];
  });
  EXPECT_FALSE(trouble);
  EXPECT_EQ(rounds, std::vector<int>(64, rounds[0]));
}

}  // namespace
}  // namespace smalti::gpu
