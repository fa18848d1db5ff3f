// The thread pool: every point runs once, whoever calls from wherever.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../../Sanitized.h"
#include "cpu/runtime/Pool.h"

namespace smalti::cpu {
namespace {

/// How often each point ran, without atomics: a point belongs to one worker, and the caller sees what it wrote.
std::vector<int> counts(int64_t points, int threads) {
  std::vector<int> ran(points);
  parallelFor(points, threads, [&](int64_t first, int64_t last, int) {
    for (int64_t point = first; point < last; ++point) ++ran[point];
  });
  return ran;
}

TEST(Pool, EveryPointRunsOnce) {
  for (const int threads : {0, 1, 2, 3, 8})
    for (const int64_t points : {0, 1, 2, 3, 7, 100, 5000})
      EXPECT_EQ(counts(points, threads), std::vector<int>(points, 1)) << points << " points on " << threads;
}

TEST(Pool, WorkersAreNumberedAndRunOneRangeAtATimeFromTheEnd) {
  constexpr int kThreads = 4;
  std::vector<int64_t> begun(kThreads, INT64_MAX);
  std::atomic<int> wrong{0};
  parallelFor(2000, kThreads, [&](int64_t first, int64_t last, int worker) {
    if (worker < 0 || worker >= kThreads || first >= last || last > begun[worker]) ++wrong;
    begun[worker] = first;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(*std::min_element(begun.begin(), begun.end()), 0);
}

TEST(Pool, RangesEndInSinglePoints) {
  constexpr int64_t kPoints = 100'000;
  constexpr int kThreads = 2;
  std::atomic<int> ranges{0}, wrong{0};
  parallelFor(kPoints, kThreads, [&](int64_t first, int64_t last, int) {
    ++ranges;
    if (last - first > std::max<int64_t>(1, last / kThreads / 4)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_LT(ranges, 200) << "many points are no reason for many calls";
}

TEST(Pool, OneThreadGetsAllInOneRange) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  parallelFor(100, 1, [&](int64_t first, int64_t last, int) { ranges.emplace_back(first, last); });
  EXPECT_EQ(ranges, (std::vector<std::pair<int64_t, int64_t>>{{0, 100}}));
}

TEST(Pool, RangesRunAtTheSameTime) {
  // Each waits for the other: alone, the first would never end.
  std::atomic<int> here{0};
  parallelFor(2, 2, [&](int64_t, int64_t, int) {
    ++here;
    while (here < 2) std::this_thread::yield();
  });
  EXPECT_EQ(here, 2);
}

TEST(Pool, WorkersLeaveTheirCoreToOtherCallers) {
  // The first call has the pool's worker until a second thread calls, which is busy until the first has ended.
  std::atomic<bool> helped{false}, secondIsIn{false}, firstIsOver{false};
  std::atomic<int> begunByWorker{0};
  std::thread second;
  parallelFor(1000, 2, [&](int64_t, int64_t, int worker) {
    if (worker == 1) {
      begunByWorker += secondIsIn ? 1 : 0;
      helped = true;
      while (!secondIsIn) std::this_thread::yield();
      return;
    }
    while (!helped) std::this_thread::yield();
    if (!second.joinable())
      second = std::thread([&] {
        parallelFor(2, 2, [&](int64_t, int64_t, int) {
          secondIsIn = true;
          while (!firstIsOver) std::this_thread::yield();
        });
      });
    while (!secondIsIn) std::this_thread::yield();
  });
  firstIsOver = true;
  second.join();
  EXPECT_EQ(begunByWorker, 0);
}

TEST(Pool, NestedCallsRunOnTheirCaller) {
  std::vector<int> seen(8);
  std::atomic<int> others{0};
  parallelFor(8, 3, [&](int64_t first, int64_t last, int) {
    const auto thread = std::this_thread::get_id();
    for (int64_t point = first; point < last; ++point)
      parallelFor(5, 3, [&](int64_t from, int64_t to, int worker) {
        if (worker != 0 || std::this_thread::get_id() != thread || from != 0) ++others;
        seen[point] += static_cast<int>(to);
      });
  });
  EXPECT_EQ(others, 0);
  EXPECT_EQ(seen, std::vector<int>(8, 5));
}

TEST(Pool, SeveralUserThreadsMayCallAtOnce) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> users;
  for (int u = 0; u < 4; ++u)
    users.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        if (counts(64, 3) != std::vector<int>(64, 1)) ++wrong;
    });
  for (std::thread& u : users) u.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Pool, SleepingWorkersWakeForTheNextCall) {
  for (const int threads : {2, 3, 8})
    for (int round = 0; round < 5; ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));  // longer than they spin
      std::atomic<int> here{0};
      parallelFor(threads, threads, [&](int64_t, int64_t, int) {
        ++here;
        while (here < threads) std::this_thread::yield();
      });
      EXPECT_EQ(here, threads);
    }
}

TEST(Pool, AForkedChildMakesItsOwnThreads) {
  SMALTI_SKIP_WITH_ADDRESS_SANITIZER(
      "the sanitizer's allocator may be locked by another thread when the process forks");
  counts(10, 2);
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> here{0};
    parallelFor(2, 2, [&](int64_t, int64_t, int) {
      ++here;
      while (here < 2) std::this_thread::yield();
    });
    _exit(here == 2 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(counts(10, 2), std::vector<int>(10, 1));
}

TEST(Pool, ExitJoinsTheThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        counts(100, 4);
        std::exit(7);
      },
      ::testing::ExitedWithCode(7), "");
}

#ifdef __linux__
TEST(Pool, WorkersOfAPinnedCallerRunOnTheOtherCores) {
  if (availableCores() < 2) GTEST_SKIP() << "one core";
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  int cores = 0;
  std::thread([&] {
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(availableCores(), 1);
    std::atomic<int> here{0};
    parallelFor(6, 6, [&](int64_t, int64_t, int worker) {  // more threads than other tests: some are made here
      if (worker == 5) {
        // One that was awake may be at work before it is moved.
        cpu_set_t own, shared;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        do {
          std::this_thread::yield();
          if (sched_getaffinity(0, sizeof own, &own) == 0) cores = CPU_COUNT(&own);
          CPU_AND(&shared, &own, &one);
        } while (CPU_COUNT(&shared) != 0 && std::chrono::steady_clock::now() < end);
        EXPECT_EQ(CPU_COUNT(&shared), 0);
      }
      ++here;
      while (here < 6) std::this_thread::yield();
    });
  }).join();
  EXPECT_EQ(cores, CPU_COUNT(&before) - 1);
}
#endif

// What is compiled for the cores that there are may be compiled on any thread of the pool.
TEST(Pool, WorkersSeeTheCoresOfTheirCaller) {
  const int cores = availableCores();
  if (cores < 2) GTEST_SKIP() << "needs two cores";
  std::atomic<int> came{0}, others{0};
  parallelFor(cores, /*threads=*/0, [&](int64_t, int64_t, int worker) {
    ++came;
    if (availableCores() != cores) others = worker;
    for (int i = 0; i < 1000 && came < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  EXPECT_GE(came, 2);
  EXPECT_EQ(others, 0);
}

TEST(Pool, CallsInARowFindTheWorkersAwake) {
  if (availableCores() < 2) GTEST_SKIP() << "one core";
  using Clock = std::chrono::steady_clock;
  std::vector<double> microseconds;
  for (int i = 0; i < 300; ++i) {
    std::atomic<int> here{0};
    const auto begin = Clock::now();
    parallelFor(2, 2, [&](int64_t, int64_t, int) {
      here.fetch_add(1);
      for (int spins = 0; here.load() < 2; ++spins)
        if (spins > 1000) std::this_thread::yield();  // somebody else has the other core
    });
    microseconds.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::sort(microseconds.begin(), microseconds.end());
  RecordProperty("median_us", std::to_string(microseconds[150]));
  std::printf("both threads met in %.2f us (median), %.2f us (best)\n", microseconds[150], microseconds[0]);
}

}  // namespace
}  // namespace smalti::cpu
