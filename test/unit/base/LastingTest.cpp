// Values that are made once and stay.
#include "base/Lasting.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/process/ThreadLasting.h"

namespace smalti {
namespace {

TEST(Lasting, ItIsMadeOnce) {
  static constinit Lasting<const std::string> text;
  int made = 0;
  const auto make = [&] { return std::to_string(++made); };
  const std::string& first = text.get(make);
  EXPECT_EQ(&text.get(make), &first);
  EXPECT_EQ(first, "1");
}

TEST(Lasting, ThreadsGetTheSame) {
  static constinit Lasting<std::atomic<int>> count;
  std::vector<std::thread> threads;
  std::atomic<bool> begin{false};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      while (!begin) std::this_thread::yield();
      ++count.get();
    });
  begin = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(count.get(), 8);
}

/// Counts its objects.
struct Counted {
  Counted() { ++objects; }
  ~Counted() { --objects; }
  static inline std::atomic<int> objects{0};
};

TEST(ThreadLasting, EachThreadHasItsOwnUntilItEnds) {
  std::thread([] {
    thread_local constinit ThreadLasting<Counted> counted;
    Counted* const first = &counted.get();
    EXPECT_EQ(&counted.get(), first);
    std::thread([&] { EXPECT_NE(&counted.get(), first); }).join();
    EXPECT_EQ(Counted::objects, 1);
  }).join();
  EXPECT_EQ(Counted::objects, 0);
}

}  // namespace
}  // namespace smalti
