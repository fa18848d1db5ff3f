// Boxes and index maps against the same by enumeration.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "cpu/lower/Boxes.h"
#include "cpu/lower/DistinctBlocks.h"
#include "mlir/Parser/Parser.h"

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
    const Boxes both = Boxes::both(a, b);
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

TEST(DistinctBlocks, NoTwoPointsOfAToldAxisMeet) {
  const auto context = makeContext();
  EXPECT_TRUE(rc::check([&] {
    // Two coordinates: a * i + b * j + c, of blocks of w elements.
    std::vector<int64_t> grid;
    for (int d = 0; d < 2; ++d) grid.push_back(*rc::gen::inRange<int64_t>(1, 5));
    Window window;
    window.elementIndexed = *rc::gen::arbitrary<bool>();
    int64_t f[2][3];
    std::string body, names;
    for (int c = 0; c < 2; ++c) {
      for (int64_t& x : f[c]) x = *rc::gen::inRange<int64_t>(-6, 7);
      window.bounds.push_back(*rc::gen::inRange<int64_t>(1, 5));
      body += fmt::format(
          "%a{0} = arith.constant {1} : i32\n%b{0} = arith.constant {2} : i32\n%c{0} = arith.constant {3} : i32\n"
          "%x{0} = arith.muli %i, %a{0} : i32\n%y{0} = arith.muli %b{0}, %j : i32\n%s{0} = arith.subi %x{0}, %y{0} : "
          "i32\n"
          "%t{0} = arith.addi %s{0}, %c{0} : i32\n",
          c, f[c][0], f[c][1], f[c][2]);
    }
    const std::string text =
        "func.func @map(%i: i32, %j: i32) -> (i32, i32) {\n" + body + "return %t0, %t1 : i32, i32\n}";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    RC_ASSERT(bool(module));
    const auto map = mlir::cast<mlir::func::FuncOp>(module->lookupSymbol("map"));
    const std::vector<bool> told = distinguishes(map, window, grid);
    std::map<std::pair<int64_t, int64_t>, std::vector<std::array<int64_t, 2>>> owners;  // of elements
    for (int64_t i = 0; i < grid[0]; ++i)
      for (int64_t j = 0; j < grid[1]; ++j) {
        int64_t at[2], width[2];
        for (int c = 0; c < 2; ++c) {
          at[c] = f[c][0] * i - f[c][1] * j + f[c][2];
          width[c] = window.elementIndexed ? window.bounds[c] : 1;
        }
        for (int64_t x = 0; x < width[0]; ++x)
          for (int64_t y = 0; y < width[1]; ++y) owners[{at[0] + x, at[1] + y}].push_back({i, j});
      }
    for (const auto& [element, points] : owners)
      for (const auto& p : points)
        for (int d = 0; d < 2; ++d) RC_ASSERT(!told[d] || p[d] == points[0][d]);
    // One coordinate per axis with blocks apart is the case that counts: it must be told.
    for (int d = 0; d < 2; ++d)
      for (int c = 0; c < 2; ++c)
        if (f[c][1 - d] == 0 && std::abs(f[c][d]) >= (window.elementIndexed ? window.bounds[c] : 1)) RC_ASSERT(told[d]);
  }));
}

}  // namespace
}  // namespace smalti::cpu
