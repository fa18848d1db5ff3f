// Races that only some orders of threads show, and operations in flight whose operands or sums are not left alone.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "eval/FloatFormats.h"
#include "gpu/host/Fibres.h"

namespace smalti::gpu {
namespace {

/// Each round, every warp writes to a buffer and all read after a barrier: the next round may write to it too early
/// unless buffers alternate. Returns whether all read what was written for them.
bool readsItsRound(uint64_t seed, int buffers) {
  constexpr int kWarps = 4, kRounds = 4;
  std::vector<int> written(static_cast<size_t>(buffers * kWarps));
  bool all = true;
  const auto trouble = runBlock({.threads = 32 * kWarps, .seed = seed}, [&] {
    for (int round = 0; round < kRounds; ++round) {
      int* buffer = &written[static_cast<size_t>(round % buffers * kWarps)];
      const int sum = hostShuffle(round, 1);
      if (hostThread() % 32 == 0) buffer[hostThread() / 32] = sum;
      hostBarrier(0);
      for (int warp = 0; warp < kWarps; ++warp) all &= buffer[warp] == round;
    }
  });
  EXPECT_FALSE(trouble);
  return all;
}

TEST(InFlight, AWarpRunsAheadUntilABarrier) {
  for (const uint64_t seed : {1, 3, 5, 7, 9}) {
    EXPECT_FALSE(readsItsRound(seed, 1)) << seed;
    EXPECT_TRUE(readsItsRound(seed, 2)) << seed;
  }
}

constexpr int kGroup = 128, kColumns = 8;
constexpr GroupProduct kProduct{.columns = kColumns, .lhsDepthInner = true, .rhsDepthInner = true};

/// Two swizzled matrices of 64 rows of 128 bytes, whose first 16 columns are multiplied.
struct Operands {
  uint16_t* left = static_cast<uint16_t*>(hostShared());
  uint16_t* right = left + 64 * 64;
  static constexpr int64_t kBytes = 2 * 64 * 128;

  void fill(float value) const { std::fill_n(left, 2 * 64 * 64, eval::f32ToBf16(value)); }
};

void issueProduct(const Operands& o, float* sums) {
  hostGroupBegin();
  hostGroupMma(sums, o.left, o.right, true, kProduct);
  hostGroupCommit();
}

/// The first sum of a product whose operands are 1; another warp writes to them as soon as the group has signalled,
/// with `signalsEarly` before it has waited.
float sumOf(uint64_t seed, bool signalsEarly) {
  float first = 0;
  uint64_t signal = 0;
  const auto trouble = runBlock({.threads = kGroup + 32, .sharedBytes = Operands::kBytes, .seed = seed}, [&] {
    const Operands o;
    if (hostThread() == 0) {
      o.fill(1);
      hostMbarrierInit(&signal, kGroup / 32);
    }
    hostBarrier(0);
    if (hostThread() >= kGroup) {
      while (!hostMbarrierTest(&signal, 0)) {
      }
      return o.fill(3);
    }
    float sums[kColumns / 2] = {};
    issueProduct(o, sums);
    if (signalsEarly) hostMbarrierArrive(&signal);
    hostGroupWait(0);
    if (!signalsEarly) hostMbarrierArrive(&signal);
    if (hostThread() == 0) first = sums[0];
  });
  EXPECT_FALSE(trouble);
  return first;
}

TEST(InFlight, OperandsAreReadAsLateAsPossible) {
  for (const uint64_t seed : {0, 1, 4, 5}) {
    EXPECT_EQ(sumOf(seed, false), 16) << seed;
    EXPECT_NE(sumOf(seed, true), 16) << seed;
  }
}

TEST(InFlight, SomeSeedsReadOperandsAtOnce) {
  const auto issuedEarly = [](uint64_t seed) {
    float first = 0;
    const auto trouble = runBlock({.threads = kGroup, .sharedBytes = Operands::kBytes, .seed = seed}, [&] {
      const Operands o;
      if (hostThread() == 0) o.fill(1);
      hostBarrier(0);
      float sums[kColumns / 2] = {};
      issueProduct(o, sums);
      hostBarrier(1);
      if (hostThread() == 0) o.fill(3);
      hostBarrier(2);
      hostGroupWait(0);
      if (hostThread() == 0) first = sums[0];
    });
    EXPECT_FALSE(trouble);
    return first;
  };
  EXPECT_EQ(issuedEarly(0), 16 * 9);
  EXPECT_EQ(issuedEarly(2), 16);
  EXPECT_EQ(issuedEarly(3), 16);
}

/// A product with this done between its issue and the wait.
std::optional<std::string> troubleOf(bool isFenced, const std::function<void(float*)>& between) {
  return runBlock({.threads = kGroup, .sharedBytes = Operands::kBytes}, [&] {
    const Operands o;
    if (hostThread() == 0) o.fill(1);
    hostBarrier(0);
    float sums[kColumns / 2] = {};
    if (isFenced) hostGroupBegin();
    hostGroupMma(sums, o.left, o.right, true, kProduct);
    hostGroupCommit();
    between(sums);
    hostGroupWait(0);
  });
}

TEST(InFlight, SumsMustNotBeWritten) {
  EXPECT_EQ(troubleOf(true, [](float*) {}), std::nullopt);
  EXPECT_EQ(troubleOf(true, [](float* sums) { sums[1] += 1; }),
            "the sums of a product of a warp group were written while it was in flight");
}

TEST(InFlight, ProductsNeedAFence) {
  EXPECT_EQ(troubleOf(false, [](float*) {}), "a product of a warp group was issued without wgmma.fence");
}

TEST(InFlight, CopiesOfThreadsNeedAFenceBeforeProducts) {
  static const std::vector<uint16_t> ones(8 * kGroup * 8, eval::f32ToBf16(1));
  const auto copied = [](bool publishes) {
    return runBlock({.threads = kGroup, .sharedBytes = Operands::kBytes}, [&] {
      const Operands o;
      for (int i = 0; i < 8; ++i) {
        const int at = 8 * (hostThread() + i * kGroup);
        hostCopy(o.left + at, &ones[static_cast<size_t>(at) % ones.size()], 16);
      }
      hostCommitCopies();
      hostWaitForCopies(0);
      if (publishes) hostPublish();
      hostBarrier(0);
      float sums[kColumns / 2] = {};
      issueProduct(o, sums);
      hostGroupWait(0);
      EXPECT_EQ(sums[0], 16);
    });
  };
  EXPECT_EQ(copied(true), std::nullopt);
  EXPECT_EQ(copied(false), "a product of a warp group reads copies of threads without fence.proxy.async");
}

TEST(InFlight, NothingIsInFlightAtTheEnd) {
  const auto trouble = runBlock({.threads = kGroup, .sharedBytes = Operands::kBytes}, [] {
    const Operands o;
    static float sums[kGroup][kColumns / 2];
    issueProduct(o, sums[hostThread()]);
  });
  EXPECT_EQ(trouble, "products of warp groups are in flight at the end");
}

TEST(InFlight, SharedMemoryIsUndefinedAtFirst) {
  runBlock({.threads = 32, .sharedBytes = 64 * 4}, [] {
    const float* shared = static_cast<const float*>(hostShared());
    EXPECT_TRUE(std::all_of(shared, shared + 64, [](float x) { return x != x; }));
  });
}

}  // namespace
}  // namespace smalti::gpu
