#include "cpu/emit/elements/Elementwise.h"

#include <gtest/gtest.h>

namespace smalti::cpu {
namespace {

TEST(Elementwise, EveryNativeOpHasAnEmitter) {
  const auto names = elementwiseOpNames();
  EXPECT_GE(names.size(), 90U);
  for (const std::string_view name : names) EXPECT_NE(elementwiseEmitter({name.data(), name.size()}), nullptr) << name;
  EXPECT_EQ(elementwiseEmitter("math.no_such_function"), nullptr);
}

}  // namespace
}  // namespace smalti::cpu
