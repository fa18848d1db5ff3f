// A fork waits for work that it must not cut in two.
#include "base/process/ForkGate.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../Sanitized.h"
#include "base/memory/BlockMemory.h"

namespace smalti {
namespace {

constexpr std::chrono::milliseconds kMoment{30};

/// What `work` returns in a forked child; 1000 when it does not come to its end in some seconds.
template <class F>
int inChild(F&& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(work());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
}

TEST(ForkGate, AForkWaitsForTheWorkOfOtherThreads) {
  std::atomic<bool> begun{false}, done{false};
  std::thread worker([&] {
    const UnforkedWork work;
    const UnforkedWork nested;
    begun = true;
    std::this_thread::sleep_for(kMoment);
    done = true;
  });
  while (!begun) std::this_thread::yield();
  EXPECT_EQ(inChild([&] { return done ? 7 : 0; }), 7);
  worker.join();
}

TEST(ForkGate, NoWorkBeginsWhileAForkWaits) {
  std::atomic<bool> begun{false}, end{false}, cut{false};
  std::thread worker([&] {
    const UnforkedWork work;
    begun = true;
    std::this_thread::sleep_for(kMoment);
  });
  while (!begun) std::this_thread::yield();
  // Threads that leave no moment without work would hold the fork up for ever.
  std::vector<std::thread> busy;
  for (int i = 0; i < 2; ++i)
    busy.emplace_back([&] {
      while (!end) {
        const UnforkedWork work;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(inChild([] { return 7; }), 7);
  end = true;
  worker.join();
  for (std::thread& t : busy) t.join();
}

TEST(ForkGate, AChildMayWorkAndForkAgain) {
  std::atomic<bool> end{false};
  std::thread worker([&] {
    while (!end) const UnforkedWork work;
  });
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(inChild([] {
                const UnforkedWork work;
                return inChild([] {
                  const UnforkedWork nested;
                  return 7;
                });
              }),
              7);
  end = true;
  worker.join();
}

TEST(ForkGate, AThreadMayForkInItsOwnWork) {
  const UnforkedWork work;
  EXPECT_EQ(inChild([] {
              const UnforkedWork nested;
              return 7;
            }),
            7);
}

TEST(ForkGate, AChildTakesAndGivesBlocks) {
  SMALTI_SKIP_WITH_ADDRESS_SANITIZER("the sanitizer's own allocator may be locked in a child");
  constexpr size_t kBytes = size_t{2} << 20;
  std::atomic<bool> end{false};
  std::vector<std::thread> busy;
  for (int i = 0; i < 2; ++i)
    busy.emplace_back([&] {
      while (!end) freeBlock(allocateBlock(kBytes), kBytes);
    });
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(inChild([] {
                freeBlock(allocateBlock(kBytes), kBytes);
                return 7;
              }),
              7);
  end = true;
  for (std::thread& t : busy) t.join();
}

}  // namespace
}  // namespace smalti
