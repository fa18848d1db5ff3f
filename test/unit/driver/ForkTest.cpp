// fork() while other threads load, compile and run: the child does the same.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../LongTest.h"
#include "../Sanitized.h"
#include "smalti/smalti.h"

namespace smalti {
namespace {

const std::string kForkedCase = std::string(SMALTI_SOURCE_DIR) + "/test/data/cases/add_grid_1d";

/// Loads, compiles and runs.
bool works() {
  Settings settings;
  if (!settings.set("target", "cpu") || !settings.set("cache", "off")) return false;
  const auto module = Module::load(kForkedCase);
  if (!module) return false;
  const auto inputs = module->recorded_inputs();
  return inputs && module->run(*inputs, settings).has_value();
}

TEST(Fork, AChildOfAProcessThatCompilesMayCompile) {
  SMALTI_LONG_TEST();
  SMALTI_SKIP_WITH_ADDRESS_SANITIZER(
      "the sanitizer's allocator may be locked by another thread when the process forks");
  ASSERT_TRUE(works());
  std::atomic<bool> end{false}, wrong{false};
  std::vector<std::thread> busy;
  for (int i = 0; i < 3; ++i)
    busy.emplace_back([&] {
      while (!end)
        if (!works()) wrong = true;
    });
  for (int i = 0; i < 60; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      _exit(works() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "child " << i;
    if (status != 0) break;
  }
  end = true;
  for (std::thread& t : busy) t.join();
  EXPECT_FALSE(wrong);
}

/// Calls everything that a process initialises at its first call; 0, or the number of what went wrong.
int firstCalls() {
  Settings settings;
  if (!settings.set("target", "cpu") || !settings.set("cache", "off")) return 1;
  const Array sum = ones({64, 64}) + ones({64, 64});
  const Array product = dot(sum, ones({64, 64}));
  if (product.as<float>()[0] != 128) return 2;
  const auto twice =
      pallas_call([](Ref x, Ref o) { o[_] = x[_] + x[_]; }, {.out_shape = ShapeDtype{{8, 128}, DType::f32}});
  const Array y = twice.with(settings)(ones({8, 128}));
  if (y.as<float>()[0] != 2) return 3;
  const Array z = jit([](const Array& x) { return exp(x) + 1; })(zeros({64, 64}));
  if (z.as<float>()[0] != 2) return 4;
  return works() ? 0 : 5;
}

/// A process whose threads make their first calls when it forks: the child makes them, too, on another thread.
[[noreturn]] void forkDuringFirstCalls(int microseconds) {
  for (int i = 0; i < 3; ++i)
    std::thread([] {
      while (true) firstCalls();
    }).detach();
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    int wrong = 0;
    std::thread([&] { wrong = firstCalls(); }).join();
    _exit(wrong);
  }
  int status = -1;
  waitpid(child, &status, 0);
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 100);
}

TEST(Fork, AChildMayBeForkedDuringTheFirstCalls) {
  SMALTI_LONG_TEST();
  SMALTI_SKIP_WITH_ADDRESS_SANITIZER(
      "the sanitizer's allocator may be locked by another thread when the process forks");
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, which has made no call
  for (const int microseconds : {0, 50, 100, 200, 400, 800, 1500, 3000, 6000, 12'000})
    EXPECT_EXIT(forkDuringFirstCalls(microseconds), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace smalti
