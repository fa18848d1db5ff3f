// What plain ops around kernels cost: passes over memory and their bytes.
#include <gtest/gtest.h>

#include "driver/time/Fusions.h"

namespace smalti::driver {
namespace {

TEST(Fusions, AChainOfElementWiseOpsAndTransposesIsOnePass) {
  Fusions f;
  const auto x = f.source(100), y = f.source(50);
  const auto product = f.op("multiply", {x, y}, 100);
  const auto turned = f.op("transpose", {product}, 100);
  f.needed(turned);
  EXPECT_EQ(f.cost().passes, 1);
  EXPECT_DOUBLE_EQ(f.cost().bytes, 100 + 50 + 100);
}

TEST(Fusions, ReshapesAndWhatNobodyReadsCostNothing) {
  Fusions f;
  const auto x = f.source(100);
  f.needed(f.op("reshape", {x}, 100));
  f.op("exponential", {x}, 100);
  f.needed(x);
  EXPECT_EQ(f.cost().passes, 0);
  EXPECT_DOUBLE_EQ(f.cost().bytes, 0);
}

TEST(Fusions, AReductionIsAPassThatTakesItsOperandsAlong) {
  Fusions f;
  const auto x = f.source(100);
  const auto sum = f.op("reduce", {f.op("convert", {x}, 200)}, 10);
  f.needed(f.op("multiply", {sum}, 10));
  EXPECT_EQ(f.cost().passes, 2);
  EXPECT_DOUBLE_EQ(f.cost().bytes, (100 + 10) + (10 + 10));
}

TEST(Fusions, AValueThatIsReadTwiceIsWrittenOnce) {
  Fusions f;
  const auto x = f.source(100);
  const auto a = f.op("add", {x}, 100);
  f.needed(a);
  f.needed(f.op("negate", {a}, 100));
  EXPECT_EQ(f.cost().passes, 2);
  EXPECT_DOUBLE_EQ(f.cost().bytes, 4 * 100);
}

}  // namespace
}  // namespace smalti::driver
