#include "cpu/runtime/CopyBytes.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace smalti::cpu {
namespace {

std::vector<unsigned char> numbers(size_t n) {
  std::vector<unsigned char> all(n);
  for (size_t i = 0; i < n; ++i) all[i] = static_cast<unsigned char>(i * 167 + i / 256);
  return all;
}

TEST(CopyBytes, AllDistancesAndSizes) {
  const std::vector<unsigned char> from = numbers(20000);
  std::vector<unsigned char> to(40000);
  for (const size_t bytes : {0, 1, 17, 1023, 1024, 1025, 1087, 4096, 9999})
    for (size_t distance = 0; distance < 4096; distance += distance < 130 ? 1 : 331) {
      // The target begins so far behind the source, modulo 4096.
      const auto base = reinterpret_cast<uintptr_t>(to.data());
      const size_t at = (reinterpret_cast<uintptr_t>(from.data()) + 3 + distance - base) % 4096 + 1 * 4096;
      std::vector<unsigned char> expected(to.size(), 7);
      std::memcpy(expected.data() + at, from.data() + 3, bytes);
      for (const auto copy : {copyBytes, moveBytes}) {
        to.assign(to.size(), 7);
        EXPECT_EQ(copy(to.data() + at, from.data() + 3, bytes), to.data() + at);
        ASSERT_EQ(to, expected) << bytes << " bytes, " << distance;
      }
    }
}

TEST(CopyBytes, MovesWithinOneArray) {
  for (const size_t bytes : {16, 1024, 5000})
    for (int64_t distance = -80; distance <= 80; ++distance) {
      std::vector<unsigned char> all = numbers(10000), expected = all;
      std::memmove(expected.data() + 200 + distance, expected.data() + 200, bytes);
      moveBytes(all.data() + 200 + distance, all.data() + 200, bytes);
      ASSERT_EQ(all, expected) << bytes << " bytes by " << distance;
    }
}

}  // namespace
}  // namespace smalti::cpu
