// Boxes against their elements.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "cpu/analysis/Boxes.h"

namespace smalti::cpu {
namespace {

constexpr int64_t kSide = 5;

Box someBox() {
  Box box(2);
  for (Range& r : box) {
    r.low = *rc::gen::inRange<int64_t>(0, kSide);
    r.size = *rc::gen::inRange<int64_t>(1, kSide - r.low + 1);
  }
  return box;
}
using Elements = std::set<std::pair<int64_t, int64_t>>;
void addTo(Elements& elements, const Box& box) {
  for (int64_t i = box[0].low; i < box[0].end(); ++i)
    for (int64_t j = box[1].low; j < box[1].end(); ++j) elements.insert({i, j});
}

TEST(Boxes, AreTheUnionOfTheirElements) {
  EXPECT_TRUE(rc::check([] {
    Boxes a, b;
    Elements inA, inB;
    for (int n = *rc::gen::inRange(0, 6); n-- > 0;) {
      const Box box = someBox();
      a.add(box);
      addTo(inA, box);
    }
    for (int n = *rc::gen::inRange(0, 6); n-- > 0;) {
      const Box box = someBox();
      b.add(box);
      addTo(inB, box);
    }
    const Boxes both = Boxes::intersect(a, b);
    for (int n = 0; n < 10; ++n) {
      const Box box = someBox();
      Elements wanted;
      addTo(wanted, box);
      const auto isIn = [&](const Elements& e) {
        return std::includes(e.begin(), e.end(), wanted.begin(), wanted.end());
      };
      RC_ASSERT(a.contains(box) == isIn(inA));
      RC_ASSERT(both.contains(box) == (isIn(inA) && isIn(inB)));
    }
  }));
}

}  // namespace
}  // namespace smalti::cpu
