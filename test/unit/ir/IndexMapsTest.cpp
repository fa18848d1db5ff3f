// Facts about index maps against the maps themselves, computed at every step of small grids.
#include <array>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "ir/facts/IndexMaps.h"

namespace smalti {
namespace {

constexpr size_t kRank = 3;
constexpr std::array<const char*, kRank> kIndices{"%i", "%j", "%k"};

/// A map written op by op, and what each value is at a step.
struct RandomMap {
  using Value = std::function<int32_t(const std::vector<int64_t>&)>;
  struct Named {
    std::string name;
    Value value;
  };
  std::vector<Named> values;
  std::string body;

  RandomMap() {
    for (size_t d = 0; d < kRank; ++d)
      values.push_back({kIndices[d], [d](const auto& step) { return static_cast<int32_t>(step[d]); }});
  }
  const Named& any() const { return values[*rc::gen::inRange<size_t>(0, values.size())]; }
  void add(std::string op, Value value) {
    values.push_back({fmt::format("%v{}", values.size()), std::move(value)});
    body += values.back().name + " = " + op + "\n";
  }
  void addConstant() {
    const int32_t c = *rc::gen::oneOf(rc::gen::inRange<int32_t>(-4, 9), rc::gen::element(INT32_MAX, 1 << 30));
    add(fmt::format("arith.constant {} : i32", c), [c](const auto&) { return c; });
  }
  void addOp() {
    const Named a = any(), b = any();
    const auto wrapped = [](auto x) { return static_cast<int32_t>(static_cast<uint32_t>(x)); };
    switch (*rc::gen::inRange(0, 9)) {
      case 0:
        return add(fmt::format("arith.addi {}, {} : i32", a.name, b.name),
                   [=](const auto& s) { return wrapped(int64_t{a.value(s)} + b.value(s)); });
      case 1:
        return add(fmt::format("arith.subi {}, {} : i32", a.name, b.name),
                   [=](const auto& s) { return wrapped(int64_t{a.value(s)} - b.value(s)); });
      case 2:
        return add(fmt::format("arith.muli {}, {} : i32", a.name, b.name),
                   [=](const auto& s) { return wrapped(int64_t{a.value(s)} * b.value(s)); });
      case 3: {
        const int32_t c = *rc::gen::inRange<int32_t>(1, 5);
        addDivisor(c);
        return add(fmt::format("arith.divsi {}, %v{} : i32", a.name, values.size() - 1),
                   [=](const auto& s) { return a.value(s) / c; });
      }
      case 4:
        return add(fmt::format("arith.maxsi {}, {} : i32", a.name, b.name),
                   [=](const auto& s) { return std::max(a.value(s), b.value(s)); });
      case 5:
        return add(fmt::format("arith.minsi {}, {} : i32", a.name, b.name),
                   [=](const auto& s) { return std::min(a.value(s), b.value(s)); });
      case 6: {
        const Named c = any(), d = any();
        add(fmt::format("arith.cmpi slt, {}, {} : i32", c.name, d.name),
            [=](const auto& s) { return c.value(s) < d.value(s) ? 1 : 0; });
        const std::string condition = values.back().name;
        values.pop_back();  // an i1, which no other op takes
        const Value less = [=](const auto& s) { return c.value(s) < d.value(s) ? a.value(s) : b.value(s); };
        ++conditions;
        body.replace(body.rfind(condition + " ="), condition.size(), fmt::format("%c{}", conditions));
        return add(fmt::format("arith.select %c{}, {}, {} : i32", conditions, a.name, b.name), less);
      }
      case 7:
        return addInOtherType(a, b);
      default:
        return addConstant();
    }
  }
  /// (a - b) / c or a * b of values that are cast to `index` or a narrow type, and back.
  void addInOtherType(const Named& a, const Named& b) {
    const auto [type, width] =
        *rc::gen::elementOf(std::vector<std::pair<std::string, int>>{{"index", 64}, {"i8", 8}, {"i4", 4}});
    const auto wrapped = [width = width](int64_t x) { return llvm::SignExtend64(static_cast<uint64_t>(x), width); };
    const auto line = [&](const std::string& op) {
      body += fmt::format("%t{} = {}\n", ++others, op);
      return fmt::format("%t{}", others);
    };
    const auto cast = [&](const std::string& name) {
      const std::string wide = line(fmt::format("arith.index_cast {} : i32 to index", name));
      return type == "index" ? wide : line(fmt::format("arith.index_cast {} : index to {}", wide, type));
    };
    const std::string x = cast(a.name), y = cast(b.name);
    std::string result;
    Value value;
    if (*rc::gen::arbitrary<bool>()) {
      const int c = *rc::gen::inRange(1, 4);
      const std::string divisor = line(fmt::format("arith.constant {} : {}", c, type));
      const std::string difference = line(fmt::format("arith.subi {}, {} : {}", x, y, type));
      result = line(fmt::format("arith.divsi {}, {} : {}", difference, divisor, type));
      value = [=](const auto& s) {
        return static_cast<int32_t>(wrapped(wrapped(a.value(s)) - wrapped(b.value(s))) / c);
      };
    } else {
      result = line(fmt::format("arith.muli {}, {} : {}", x, y, type));
      value = [=](const auto& s) { return static_cast<int32_t>(wrapped(wrapped(a.value(s)) * wrapped(b.value(s)))); };
    }
    if (type != "index") result = line(fmt::format("arith.index_cast {} : {} to index", result, type));
    add(fmt::format("arith.index_cast {} : index to i32", result), std::move(value));
  }
  int others = 0;
  int conditions = 0;
  void addDivisor(int32_t c) {
    add(fmt::format("arith.constant {} : i32", c), [c](const auto&) { return c; });
  }

  std::string text(const std::vector<Named>& results) const {
    return fmt::format("func.func @map(%i: i32, %j: i32, %k: i32) -> (i32, i32) {{\n{}return {}, {} : i32, i32\n}}",
                       body, results[0].name, results[1].name);
  }
};

std::vector<std::vector<int64_t>> stepsOf(const std::vector<int64_t>& grid) {
  std::vector<std::vector<int64_t>> steps;
  for (int64_t i = 0; i < grid[0]; ++i)
    for (int64_t j = 0; j < grid[1]; ++j)
      for (int64_t k = 0; k < grid[2]; ++k) steps.push_back({i, j, k});
  return steps;
}

TEST(IndexMaps, AreWhatTheMapsCompute) {
  const auto context = makeContext();
  int known = 0, provedWithoutForm = 0;
  EXPECT_TRUE(rc::check([&] {
    RandomMap map;
    for (int n = *rc::gen::inRange(0, 8); n-- > 0;) map.addOp();
    const std::vector<RandomMap::Named> results{map.any(), map.any()};
    auto module = mlir::parseSourceString<mlir::ModuleOp>(map.text(results), context.get());
    RC_ASSERT(bool(module));
    const auto function = mlir::cast<mlir::func::FuncOp>(module->lookupSymbol("map"));
    const IndexMapFacts facts(function, kRank);
    std::vector<int64_t> grid;
    for (size_t d = 0; d < kRank; ++d) grid.push_back(*rc::gen::inRange<int64_t>(1, 5));
    const auto steps = stepsOf(grid);
    RC_ASSERT(!facts.readsMemory());
    for (size_t c = 0; c < 2; ++c) {
      const BlockCoordinate& coordinate = facts.coordinates()[c];
      const auto range = coordinate.form ? coordinate.form->rangeOn(grid) : std::nullopt;
      int64_t low = INT64_MAX, high = INT64_MIN;
      for (const auto& step : steps) {
        const int64_t value = results[c].value(step);
        low = std::min(low, value);
        high = std::max(high, value);
        if (range) RC_ASSERT(coordinate.form->at(step) == value);
        for (const auto& other : steps) {
          bool same = true;
          for (size_t d = 0; d < kRank; ++d) same &= !coordinate.axes[d] || step[d] == other[d];
          if (same) RC_ASSERT(results[c].value(other) == value);
        }
      }
      const int64_t count = *rc::gen::inRange<int64_t>(0, 10);
      // Of forms exactly; of what is computed from them at least no wrong proof.
      const bool stays = facts.staysIn(c, count, grid);
      const bool isInside = low >= 0 && high < count;
      const bool isRight = range ? stays == isInside : !stays || isInside;
      RC_ASSERT(isRight);
      provedWithoutForm += stays && !range;
      if (!range) continue;
      ++known;
      RC_ASSERT(range->low == low);
      RC_ASSERT(range->high == high);
      if (const auto axis = coordinate.form->gridIndex())
        for (const auto& step : steps) RC_ASSERT(results[c].value(step) == step[*axis]);
    }
    for (const auto& step : steps)
      if (const auto block = facts.blockAt(step, grid))
        RC_ASSERT(*block == (std::vector<int64_t>{results[0].value(step), results[1].value(step)}));
    for (size_t d = 0; d < kRank; ++d) RC_ASSERT(facts.uses(d) || facts.isInvariantIn(d));
  }));
  EXPECT_GT(known, 50) << "too few maps have a form for this to say much";
  EXPECT_GT(provedWithoutForm, 0) << "no map without a form was proved to stay inside";
}

TEST(IndexMaps, NoTwoPointsOfAnInjectiveAxisMeet) {
  const auto context = makeContext();
  EXPECT_TRUE(rc::check([&] {
    // Two coordinates: a * i + b * j + c, of blocks of w elements.
    std::vector<int64_t> grid;
    for (int d = 0; d < 2; ++d) grid.push_back(*rc::gen::inRange<int64_t>(1, 5));
    Window window;
    window.elementIndexed = *rc::gen::arbitrary<bool>();
    int64_t f[2][3];
    std::string body;
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
    const std::vector<bool> told = injectiveAxes(IndexMapFacts(map, 2), window, grid);
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

IndexMapFacts factsOf(mlir::OwningOpRef<mlir::ModuleOp>& module, mlir::MLIRContext& context, std::string_view body,
                      std::string_view result) {
  module = mlir::parseSourceString<mlir::ModuleOp>(
      fmt::format("func.func @map(%i: i32, %j: i32, %p: memref<4xi32, #tpu.memory_space<smem>>) -> i32 {{\n{}\nreturn "
                  "{} : i32\n}}",
                  body, result),
      mlir::ParserConfig(&context));
  return IndexMapFacts(mlir::cast<mlir::func::FuncOp>(module->lookupSymbol("map")), 2);
}

TEST(IndexMaps, WhatIsLookedUpHasNoFormButDependsOnWhereItIs) {
  const auto context = makeContext();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  const auto facts = factsOf(module, *context,
                             "%n = arith.index_cast %i : i32 to index\n"
                             "%v = memref.load %p[%n] : memref<4xi32, #tpu.memory_space<smem>>",
                             "%v");
  EXPECT_FALSE(facts.coordinates()[0].form);
  EXPECT_EQ(facts.coordinates()[0].axes, (std::vector<bool>{true, false}));
  EXPECT_TRUE(facts.readsMemory());
  EXPECT_TRUE(facts.usesScalarPrefetch());
  EXPECT_TRUE(facts.onlyLooksUp(0));
  EXPECT_FALSE(facts.onlyReturns(0));
  EXPECT_FALSE(facts.uses(1));
  EXPECT_FALSE(facts.isInvariantIn(0));
  EXPECT_TRUE(facts.isInvariantIn(1));
}

TEST(IndexMaps, WhatARegionUsesCounts) {
  const auto context = makeContext();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  const auto facts = factsOf(module, *context,
                             "%z = arith.constant 0 : i32\n%b = arith.cmpi eq, %i, %z : i32\n"
                             "%v = scf.if %b -> i32 {\nscf.yield %j : i32\n} else {\nscf.yield %z : i32\n}",
                             "%v");
  EXPECT_FALSE(facts.coordinates()[0].form);
  EXPECT_EQ(facts.coordinates()[0].axes, (std::vector<bool>{true, true}));
}

TEST(IndexMaps, ADynamicBoundHasNoRange) {
  const auto context = makeContext();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  const auto facts = factsOf(module, *context, "", "%j");
  const auto& form = facts.coordinates()[0].form;
  ASSERT_TRUE(form);
  EXPECT_EQ(form->gridIndex(), 1u);
  EXPECT_TRUE(facts.onlyReturns(1));
  EXPECT_TRUE(form->rangeOn(std::vector<int64_t>{kDynamicBound, 4}));
  EXPECT_FALSE(form->rangeOn(std::vector<int64_t>{4, kDynamicBound}));
}

}  // namespace
}  // namespace smalti
