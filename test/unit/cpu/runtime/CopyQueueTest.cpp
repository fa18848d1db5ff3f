#include "cpu/runtime/CopyQueue.h"

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "cpu/runtime/AsyncCopies.h"
#include "cpu/runtime/Pool.h"

namespace smalti::cpu {
namespace {

Copy rows(int* to, const int* from, int64_t count, int64_t width, int64_t toStride, int64_t fromStride) {
  constexpr int64_t kSize = sizeof(int);
  return {.to = reinterpret_cast<std::byte*>(to),
          .from = reinterpret_cast<const std::byte*>(from),
          .runBytes = width * kSize,
          .sizes = {1, 1, 1, count},
          .toStrides = {0, 0, 0, toStride * kSize},
          .fromStrides = {0, 0, 0, fromStride * kSize}};
}

TEST(Copy, RunsOfFourDimensions) {
  std::vector<int> from(2 * 3 * 4 * 5 * 6), to(from.size(), -1), expected(from.size(), -1);
  std::iota(from.begin(), from.end(), 0);
  // Elements 1 and 2 of the last dimension, from the front to the back of the others.
  const auto at = [](int64_t a, int64_t b, int64_t c, int64_t d) { return (((a * 3 + b) * 4 + c) * 5 + d) * 6; };
  Copy copy = rows(to.data() + at(0, 0, 0, 0), from.data() + at(0, 1, 0, 2) + 1, 3, 2, 6, 6);
  copy.sizes = {2, 2, 4, 3};
  for (auto* strides : {&copy.toStrides, &copy.fromStrides})
    *strides = {4 * at(1, 0, 0, 0), 4 * at(0, 1, 0, 0), 4 * 30, 24};
  copy.execute();
  EXPECT_EQ(copy.bytes(), 2 * 2 * 4 * 3 * 2 * 4);
  for (int64_t a = 0; a < 2; ++a)
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t c = 0; c < 4; ++c)
        for (int64_t d = 0; d < 3; ++d)
          for (int64_t e = 0; e < 2; ++e)
            expected[static_cast<size_t>(at(a, b, c, d) + e)] =
                from[static_cast<size_t>(at(a, b + 1, c, d + 2) + 1 + e)];
  EXPECT_EQ(to, expected);
}

TEST(CopyQueue, AFullQueueRefuses) {
  CopyQueue queue;
  std::vector<int> from(8, 3), to(8192, 0);
  int pushed = 0;
  while (pushed < 1000 && queue.push(rows(to.data() + 8 * pushed, from.data(), 1, 8, 0, 0), nullptr)) ++pushed;
  EXPECT_LT(pushed, 1000);
  EXPECT_GE(pushed, 16);
  EXPECT_EQ(queue.waitingBytes(), pushed * 32);
  EXPECT_TRUE(queue.runOne());
  EXPECT_TRUE(queue.push(rows(to.data() + 8000, from.data(), 1, 8, 0, 0), nullptr));
  queue.finish(nullptr);
  EXPECT_FALSE(queue.hasWork() && queue.runOne());
  EXPECT_EQ(queue.waitingBytes(), 0);
}

TEST(CopyQueue, OnlyTheCopiesOfTheSemaphoreAreAwaited) {
  CopyQueue queue;
  const std::vector<int> from{1, 2, 3};
  std::vector<int> to(3, 0);
  const int first = 0, second = 0;
  queue.push(rows(&to[0], &from[0], 1, 1, 0, 0), &first);
  queue.push(rows(&to[1], &from[1], 1, 1, 0, 0), &second);
  queue.push(rows(&to[2], &from[2], 1, 1, 0, 0), &first);
  queue.finish(&first);
  EXPECT_EQ(to, (std::vector<int>{1, 0, 3}));
  queue.finish(&second);
  EXPECT_EQ(to, from);
}

/// A buffer is copied out and filled again without a wait between, as JAX's pipelines do.
TEST(CopyQueue, CopiesOfTheSameMemoryKeepTheirOrder) {
  CopyQueue queue;
  std::vector<int> first(64, 1), second(64, 2), buffer(64, 0), out(64, 0), unrelated(64, 0);
  const int semaphores[4] = {};
  queue.push(rows(unrelated.data(), second.data(), 1, 64, 0, 0), &semaphores[3]);
  queue.push(rows(buffer.data(), first.data(), 1, 64, 0, 0), &semaphores[0]);
  queue.push(rows(out.data(), buffer.data(), 2, 16, 32, 32), &semaphores[1]);
  queue.push(rows(buffer.data(), second.data(), 1, 64, 0, 0), &semaphores[2]);
  queue.finish(&semaphores[2]);
  EXPECT_EQ(out[0] + out[47], 2);
  EXPECT_EQ(out[16], 0);
  EXPECT_EQ(buffer, second);
  EXPECT_EQ(unrelated[0], 0) << "others are still to come";
  queue.finish(nullptr);
  EXPECT_EQ(unrelated, second);
}

/// Buffers are used again as soon as their copy is awaited, while other threads execute copies of others.
TEST(CopyQueue, OtherThreadsExecuteCopies) {
  constexpr int kBuffers = 5, kWidth = 512, kRounds = 20000;
  CopyQueue queue;
  std::atomic<bool> end{false};
  std::vector<std::thread> others;
  for (int t = 0; t < 3; ++t)
    others.emplace_back([&] {
      while (!end.load())
        if (!queue.runOne()) std::this_thread::yield();
    });
  std::vector<std::vector<int>> from(kBuffers, std::vector<int>(kWidth)), to = from;
  std::vector<int> expected(kBuffers, -1), semaphores(kBuffers, 0);
  int wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto b = static_cast<size_t>(round * 7 % kBuffers);
    if (expected[b] >= 0) {
      queue.finish(&semaphores[b]);
      for (const int x : to[b]) wrong += x != expected[b];
    }
    from[b].assign(kWidth, expected[b] = round);
    const Copy copy = rows(to[b].data(), from[b].data(), 4, kWidth / 4, kWidth / 4, kWidth / 4);
    if (!queue.push(copy, &semaphores[b])) copy.execute();
  }
  queue.finish(nullptr);
  end = true;
  for (std::thread& t : others) t.join();
  EXPECT_EQ(wrong, 0);
  for (size_t b = 0; b < kBuffers; ++b) EXPECT_EQ(to[b], std::vector<int>(kWidth, expected[b]));
}

TEST(SharedCopies, OneThreadHasThem) {
  if (availableCores() < 2) GTEST_SKIP() << "this process may run on one core only";
  const auto mine = SharedCopies::take(2);
  ASSERT_TRUE(mine);
  std::thread([] { EXPECT_FALSE(SharedCopies::take(2)); }).join();
  EXPECT_FALSE(SharedCopies::take(1));
}

TEST(SharedCopies, NotInsideARange) {
  SharedCopies::take(2);  // and given back
  parallelFor(4, 2, [](int64_t, int64_t, int) { EXPECT_FALSE(SharedCopies::take(2)); });
}

/// Threads of the pool copy and compute ranges in turn.
TEST(AsyncCopies, BesideParallelFor) {
  constexpr size_t kInts = 64 * 1024;
  AsyncCopies copies;
  const int semaphore = 0;
  for (int call = 0; call < 50; ++call) {
    copies.begin(1 + call % 3);
    std::vector<int> from(kInts), to(kInts, -1);
    std::atomic<int64_t> sum{0};
    for (int round = 0; round < 20; ++round) {
      std::ranges::fill(from, round);
      for (int64_t part = 0; part < 16; ++part)
        copies.start(rows(to.data() + part * 4096, from.data() + part * 4096, 1, 4096, 0, 0), &semaphore);
      parallelFor(100, 2, [&](int64_t first, int64_t last, int) { sum += last - first; });
      copies.finish(&semaphore);
      ASSERT_EQ(to, from);
    }
    EXPECT_EQ(sum, 2000);
    copies.end();
  }
}

}  // namespace
}  // namespace smalti::cpu
