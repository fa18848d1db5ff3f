// fork() while other threads load, compile and run: the child does the same.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
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

}  // namespace
}  // namespace smalti
