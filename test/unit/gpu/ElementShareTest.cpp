#include "gpu/plan/ElementShare.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "smalti/array.h"

namespace smalti::gpu {
namespace {

/// How many threads take each element, computed like the emitted code (emit/Runs.cpp).
std::vector<int> takenBy(const ElementShare& share) {
  std::vector<int> taken(static_cast<size_t>(share.elements), 0);
  const int64_t runs = share.elements / share.run;
  for (int64_t thread = 0; thread < share.threads; ++thread)
    for (int64_t first = 0; first * share.threads + thread < runs; first += share.batch)
      for (int64_t i = 0; i < share.batch; ++i)
        for (int64_t k = 0; k < share.run; ++k)
          ++taken.at(static_cast<size_t>(share.runOf(thread, first + i) * share.run + k));
  return taken;
}

RC_GTEST_PROP(ElementShares, EachElementIsTakenOnce, ()) {
  Shape shape = *rc::gen::container<std::vector<int64_t>>(
      *rc::gen::inRange(0, 4),
      rc::gen::oneOf(rc::gen::inRange<int64_t>(1, 20),
                     rc::gen::map(rc::gen::inRange(0, 9), [](int bits) { return int64_t{1} << bits; })));
  const ElementShare share =
      shareElements(shape, *rc::gen::element<int64_t>(64, 128, 256), *rc::gen::element<int64_t>(1, 2, 4, 8));
  RC_ASSERT(takenBy(share) == std::vector<int>(static_cast<size_t>(num_elements(shape)), 1));
  int64_t last = 1;
  for (const int64_t n : shape) last = n == 1 ? last : n;
  RC_ASSERT(last % share.run == 0);  // no run extends into another row
  RC_ASSERT(share.rounds == 0 || share.rounds * share.batch * share.run * share.threads == share.elements);
  RC_ASSERT(!share.inRegisters || share.rounds > 0);
}

TEST(ElementShares, RowsThatFitAreInRegisters) {
  const ElementShare row = shareElements(Shape{1, 4096}, 256, 8);
  EXPECT_EQ(row.run, 8);
  EXPECT_EQ(row.batch, 2);
  EXPECT_EQ(row.rounds, 1);
  EXPECT_TRUE(row.inRegisters);
  EXPECT_FALSE(shareElements(Shape{16, 4096}, 256, 8).inRegisters);
}

TEST(ElementShares, AllThreadsHaveElementsBeforeRunsGetLonger) {
  EXPECT_EQ(shareElements(Shape{1024}, 256, 8).run, 4);
  EXPECT_EQ(shareElements(Shape{100}, 64, 8).run, 1);
}

TEST(ElementShares, ARunDividesTheLastDimensionThatIsNotOne) {
  EXPECT_EQ(shareElements(Shape{512, 12, 1}, 64, 8).run, 4);
  EXPECT_EQ(shareElements(Shape{4096, 3}, 64, 8).run, 1);
}

}  // namespace
}  // namespace smalti::gpu
