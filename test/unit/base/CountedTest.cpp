#include <gtest/gtest.h>

#include "base/Text.h"

namespace smalti {
namespace {

TEST(Text, CountedWordsHaveTheirPlurals) {
  EXPECT_EQ(counted(1, "value"), "1 value");
  EXPECT_EQ(counted(0, "value"), "0 values");
  EXPECT_EQ(counted(2, "entry"), "2 entries");
  EXPECT_EQ(counted(2, "array"), "2 arrays");
  EXPECT_EQ(counted(3, "grid index"), "3 grid indices");
  EXPECT_EQ(counted(2, "axis"), "2 axes");
}

}  // namespace
}  // namespace smalti
