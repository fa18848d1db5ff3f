// Devices in threads: signals arrive, waits end, and what cannot go on is noticed.
#include <array>
#include <thread>

#include <gtest/gtest.h>

#include "cpu/runtime/Devices.h"
#include "cpu/runtime/Pool.h"

namespace smalti::cpu {
namespace {

/// Whether each device's body returned true, which is reported to the group.
std::vector<char> run(DeviceGroup& group, const std::function<bool(int)>& body) {
  std::vector<char> ok(static_cast<size_t>(group.devices()));
  EXPECT_TRUE(runOnThreads(group.devices(), [&](int d) {
    ok[static_cast<size_t>(d)] = body(d);
    group.leave(ok[static_cast<size_t>(d)] == 0);
  }));
  return ok;
}

TEST(DeviceGroup, EveryMemberHasItsThread) {
  for (const int members : {1, 2, 3, 9}) {
    std::atomic<int> here{0};
    EXPECT_TRUE(runOnThreads(members, [&](int) {
      ++here;
      while (here.load() < members) std::this_thread::yield();
    }));
    EXPECT_EQ(here, members);
  }
}

TEST(DeviceGroup, MembersHaveThreadsInsideAnotherCallToo) {
  std::atomic<int> all{0};
  parallelFor(2, 2, [&](int64_t first, int64_t last, int) {
    for (int64_t p = first; p < last; ++p) {
      std::atomic<int> here{0};
      EXPECT_TRUE(runOnThreads(3, [&](int) {
        ++here;
        while (here.load() < 3) std::this_thread::yield();
        ++all;
      }));
    }
  });
  EXPECT_EQ(all, 6);
}

TEST(DeviceGroup, CountsGoRoundARing) {
  for (const bool ownCores : {false, true})
    for (const int devices : {1, 2, 3, 5}) {
      DeviceGroup group(devices, nullptr, ownCores);
      std::vector<int64_t> semaphores(static_cast<size_t>(devices));
      constexpr int kRounds = 2000;
      int64_t inTurn = 0;  // without atomics: a signal orders what came before it
      const auto ok = run(group, [&](int d) {
        const auto next = static_cast<size_t>((d + 1) % devices);
        for (int round = 0; round < kRounds; ++round) {
          if ((d > 0 || round > 0) && !group.wait(d, &semaphores[static_cast<size_t>(d)], 2)) return false;
          ++inTurn;
          group.signal(&semaphores[next], 2);
        }
        return true;
      });
      EXPECT_EQ(ok, std::vector<char>(static_cast<size_t>(devices), 1));
      EXPECT_EQ(inTurn, int64_t{kRounds} * devices);
    }
}

TEST(DeviceGroup, AMutualWaitIsReported) {
  for (const int devices : {1, 2, 4}) {
    DeviceGroup group(devices, nullptr, true);
    std::vector<int64_t> semaphores(static_cast<size_t>(devices), 1);
    EXPECT_EQ(run(group, [&](int d) { return group.wait(d, &semaphores[static_cast<size_t>(d)], 2); }),
              std::vector<char>(static_cast<size_t>(devices), 0));
    EXPECT_EQ(semaphores, std::vector<int64_t>(static_cast<size_t>(devices), 1));
  }
}

TEST(DeviceGroup, AWaitForAFinishedDeviceIsReported) {
  DeviceGroup group(3, nullptr, false);
  int64_t semaphore = 0;
  EXPECT_EQ(run(group, [&](int d) { return d != 1 || group.wait(d, &semaphore, 1); }), (std::vector<char>{1, 0, 1}));
}

TEST(DeviceGroup, AFailureEndsTheWaitsOfOthers) {
  DeviceGroup group(3, nullptr, true);
  std::array<int64_t, 3> semaphores{};
  EXPECT_EQ(run(group, [&](int d) { return d != 2 && group.wait(d, &semaphores[static_cast<size_t>(d)], 1); }),
            (std::vector<char>{0, 0, 0}));
}

TEST(DeviceGroup, TheCallersFlagEndsWaits) {
  std::atomic<bool> stop{false};
  DeviceGroup group(2, &stop, false);
  int64_t semaphore = 0;
  const auto ok = run(group, [&](int d) {
    if (d == 0) return group.wait(d, &semaphore, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // not in a wait: it could still signal
    stop = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return true;
  });
  EXPECT_EQ(ok, (std::vector<char>{0, 1}));
}

TEST(DeviceGroup, PlacesOfOthersHaveTheSameOffset) {
  std::array<std::byte, 64> a{}, b{};
  DeviceGroup group(2, nullptr, false);
  group.setMemory(0, {{a.data(), 16}, {a.data() + 16, 0}, {a.data() + 32, 32}});
  group.setMemory(1, {{b.data() + 8, 16}, {b.data(), 0}, {b.data() + 24, 32}});
  EXPECT_EQ(group.peer(0, 1, a.data() + 3), b.data() + 11);
  EXPECT_EQ(group.peer(0, 1, a.data() + 16), b.data()) << "of an empty region";
  EXPECT_EQ(group.peer(0, 1, a.data() + 40), b.data() + 32);
  EXPECT_EQ(group.peer(1, 0, b.data() + 8), a.data());
  EXPECT_EQ(group.peer(1, 1, b.data() + 9), b.data() + 9);
  for (const int64_t none : {int64_t{-1}, int64_t{2}, INT64_MAX, INT64_MIN})
    EXPECT_EQ(group.peer(0, none, a.data()), nullptr);
  EXPECT_EQ(group.peer(0, 1, a.data() + 20), nullptr) << "between regions";
  EXPECT_EQ(group.peer(0, 1, a.data() + 64), nullptr);
}

}  // namespace
}  // namespace smalti::cpu
