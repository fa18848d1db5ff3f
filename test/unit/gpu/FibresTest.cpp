#include "gpu/host/Fibres.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "eval/FloatFormats.h"

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

TEST(Fibres, NoThreadPassesABarrierBeforeAllHaveArrived) {
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

TEST(Fibres, HaveRoomForTheFramesOfTheCode) {
  for (const int64_t frameBytes : {1 << 10, 3 << 20, 1 << 20}) {
    int64_t sum = 0;
    const auto trouble = runBlock({.threads = 32, .frameBytes = frameBytes}, [&] {
      auto* frame = static_cast<volatile std::byte*>(__builtin_alloca(static_cast<size_t>(frameBytes)));
      for (int64_t i = 0; i < frameBytes; i += 512) frame[i] = std::byte{1};
      hostBarrier(0);
      for (int64_t i = 0; i < frameBytes; i += 512) sum += static_cast<int64_t>(frame[i]);
    });
    EXPECT_FALSE(trouble);
    EXPECT_EQ(sum, 32 * frameBytes / 512);
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

TEST(Fibres, FourNeighboursSeeTheBitsOfOneOfThem) {
  const auto trouble = runBlock({.threads = 64}, [] {
    for (const int lane : {2, 0, 3, 1})
      EXPECT_EQ(hostQuad(100 + hostThread(), lane), 100 + hostThread() / 4 * 4 + lane);
  });
  EXPECT_FALSE(trouble);
}

/// Fragments as the PTX ISA lists them ("Matrix Fragments for mma.m16n8k16 with floating point type"): element i of A,
/// B and C in a lane.
std::pair<int, int> placeInA(int lane, int i) {
  return {lane / 4 + (i < 2 || (i >= 4 && i < 6) ? 0 : 8), lane % 4 * 2 + i % 2 + (i < 4 ? 0 : 8)};
}
std::pair<int, int> placeInB(int lane, int i) { return {lane % 4 * 2 + i % 2 + (i < 2 ? 0 : 8), lane / 4}; }
std::pair<int, int> placeInC(int lane, int i) { return {lane / 4 + (i < 2 ? 0 : 8), lane % 4 * 2 + i % 2}; }

TEST(Fibres, AWarpMultipliesMatrices) {
  const auto a = [](int row, int k) { return static_cast<float>((row * 5 + k * 3) % 7 - 3); };
  const auto c = [](int k, int column) { return static_cast<float>((k * 2 + column) % 5 - 2); };
  const auto pair = [](float low, float high) {
    return static_cast<int32_t>(eval::f32ToBf16(low) | static_cast<uint32_t>(eval::f32ToBf16(high)) << 16);
  };
  const auto trouble = runBlock({.threads = 64}, [&] {
    const int lane = hostThread() % 32;
    int32_t left[4], right[2];
    for (int word = 0; word < 4; ++word) {
      const auto [r0, k0] = placeInA(lane, 2 * word);
      const auto [r1, k1] = placeInA(lane, 2 * word + 1);
      left[word] = pair(a(r0, k0), a(r1, k1));
    }
    for (int word = 0; word < 2; ++word) {
      const auto [k0, n0] = placeInB(lane, 2 * word);
      const auto [k1, n1] = placeInB(lane, 2 * word + 1);
      right[word] = pair(c(k0, n0), c(k1, n1));
    }
    float sums[4] = {1, 2, 3, 4};
    hostMma(sums, DType::bf16, left, right);
    for (int i = 0; i < 4; ++i) {
      const auto [row, column] = placeInC(lane, i);
      float expected = static_cast<float>(i + 1);
      for (int k = 0; k < 16; ++k) expected += a(row, k) * c(k, column);
      EXPECT_EQ(sums[i], expected) << lane << " " << i;
    }
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

/// 32 lanes name the rows of four 8 × 8 matrices of numbers; element (r, c) of matrix m is 64 m + 8 r + c.
TEST(Fibres, AWarpLoadsMatricesOutOfSharedMemory) {
  for (const bool transposed : {false, true}) {
    const auto trouble = runBlock({.threads = 32, .sharedBytes = 4 * 64 * 2}, [&] {
      auto* shared = static_cast<uint16_t*>(hostShared());
      const int lane = hostThread();
      for (int i = 0; i < 8; ++i) shared[8 * lane + i] = static_cast<uint16_t>(8 * lane + i);
      hostBarrier(0);
      int32_t words[4];
      hostLoadMatrices(words, shared + 8 * lane, transposed ? 1 : 0);
      for (int m = 0; m < 4; ++m)
        for (int half = 0; half < 2; ++half) {
          const int r = lane / 4, c = lane % 4 * 2 + half;
          const int expected = 64 * m + (transposed ? 8 * c + r : 8 * r + c);
          EXPECT_EQ(static_cast<uint32_t>(words[m]) >> (16 * half) & 0xffff, expected) << lane << " " << m;
        }
    });
    EXPECT_FALSE(trouble);
  }
}

TEST(Fibres, CopiesEndInTheWaitForTheirGroup) {
  alignas(16) char from[48], to[48];
  for (int i = 0; i < 48; ++i) from[i] = static_cast<char>(i + 1);
  runBlock({.threads = 1, .seed = 0}, [&] {
    std::fill(std::begin(to), std::end(to), char(99));
    hostCopy(to, from, 16);
    hostCommitCopies();
    hostCopy(to + 16, from + 16, 4);  // the other bytes of the 16 become 0
    hostCommitCopies();
    hostCopy(to + 32, from + 32, 16);
    EXPECT_EQ(to[0], 99) << "a copy that nobody has waited for";
    hostWaitForCopies(1);
    EXPECT_EQ(to[0], 1);
    EXPECT_EQ(to[16], 99);
    hostWaitForCopies(0);
    EXPECT_EQ(to[19], 20);
    EXPECT_EQ(to[20], 0);
    EXPECT_EQ(to[32], 99) << "a copy that is in no group";
    hostCommitCopies();
    hostWaitForCopies(0);
    EXPECT_EQ(to[47], 48);
  });
}

TEST(Fibres, SomeSeedsEndCopiesAtOnce) {
  alignas(16) char from[16] = {1}, to[16];
  int early = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed)
    runBlock({.threads = 1, .seed = seed}, [&] {
      to[0] = 0;
      hostCopy(to, from, 16);
      early += to[0];
    });
  EXPECT_GT(early, 0);
  EXPECT_LT(early, 20);
}

/// The offset of an element in a swizzled matrix of rows of 128 bytes: the 16 bytes at column c of row r are at column
/// c xor r mod 8.
int64_t swizzledElement(int64_t row, int64_t column) { return row * 64 + ((column / 8) ^ (row % 8)) * 8 + column % 8; }

TEST(Fibres, AWarpGroupMultipliesSwizzledMatrices) {
  constexpr int kColumns = 72, kWords = 64 * 64;  // of a matrix of 64 rows
  const auto left = [](int64_t row, int64_t k) { return static_cast<float>((row * 5 + k * 3) % 7 - 3); };
  const auto right = [](int64_t k, int64_t column) { return static_cast<float>((k * 2 + column) % 5 - 2); };
  for (const bool lhsInner : {true, false})
    for (const bool rhsInner : {true, false}) {
      const auto trouble = runBlock({.threads = 128, .sharedBytes = 4 * kWords * 2}, [&] {
        auto* a = static_cast<uint16_t*>(hostShared());
        uint16_t* c = a + kWords;
        if (hostThread() == 0) {
          for (int64_t row = 0; row < 64; ++row)
            for (int64_t k = 0; k < 16; ++k)
              a[lhsInner ? swizzledElement(row, k) : swizzledElement(k, row)] = eval::f32ToBf16(left(row, k));
          for (int64_t column = 0; column < kColumns; ++column)
            for (int64_t k = 0; k < 16; ++k)
              c[rhsInner ? swizzledElement(column, k) : column / 64 * kWords + swizzledElement(k, column % 64)] =
                  eval::f32ToBf16(right(k, column));
        }
        hostBarrier(0);
        float sums[kColumns / 2];
        std::fill(std::begin(sums), std::end(sums), 1.0f);
        const GroupProduct product{.columns = kColumns,
                                   .lhsDepthInner = lhsInner,
                                   .rhsDepthInner = rhsInner,
                                   .lhsStride = 2 * kWords,
                                   .rhsStride = 2 * kWords};
        hostGroupBegin();
        hostGroupMma(sums, a, c, true, product);
        EXPECT_EQ(sums[0], 1) << "a product whose end nobody has waited for";
        hostGroupCommit();
        hostGroupWait(0);
        const int lane = hostThread() % 32, warp = hostThread() / 32;
        for (int i = 0; i < kColumns / 2; ++i) {
          const auto [row, column] = placeInC(lane, i % 4);
          float expected = 1;
          for (int k = 0; k < 16; ++k) expected += left(16 * warp + row, k) * right(k, i / 4 * 8 + column);
          EXPECT_EQ(sums[i], expected) << lhsInner << rhsInner << " " << hostThread() << " " << i;
        }
      });
      EXPECT_FALSE(trouble);
    }
}

}  // namespace
}  // namespace smalti::gpu
