// The iterations of counted loops of programs.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "driver/time/TripCount.h"
#include "interop/Interop.h"

namespace smalti::driver {
namespace {

struct Counted {
  std::string type = "i32", start = "0", limit = "10", step = "1";
  std::string compare = "LT, %i, %n", advance = "add %i, %s";
};

/// -1: not known.
int64_t iterationsOf(const Counted& c) {
  const std::string scalar = fmt::format("tensor<{}>", c.type);
  const std::string text = fmt::format(R"(module @m {{
  func.func public @main(%x: {0}, %a: tensor<8xf32>) -> tensor<8xf32> {{
    %z = stablehlo.constant dense<{1}> : {0}
    %n = stablehlo.constant dense<{2}> : {0}
    %0:3 = stablehlo.while(%i = %z, %s = %c, %v = %a) : {0}, {0}, tensor<8xf32>
     cond {{
      %t = stablehlo.compare {4} : ({0}, {0}) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    }} do {{
      %w = stablehlo.negate %v : tensor<8xf32>
      %j = stablehlo.{5} : {0}
      stablehlo.return %j, %s, %w : {0}, {0}, tensor<8xf32>
    }}
    return %0#2 : tensor<8xf32>
  }}
}}
)",
                                       scalar, c.start, c.limit, c.step, c.compare, c.advance);
  std::string whole = text;
  whole.insert(whole.find("    %n ="), fmt::format("    %c = stablehlo.constant dense<{}> : {}\n", c.step, scalar));
  const auto program = interop::importStableHlo(whole, "t.mlir");
  if (!program) {
    ADD_FAILURE() << program.error().str() << whole;
    return -2;
  }
  const Function& main = program->functions[static_cast<size_t>(program->main)];
  KnownValues known(main.values.size());
  for (const Op& op : main.ops) {
    if (op.name == "while") {
      const auto count = tripCount(*program, main, op, known);
      return count ? count->iterations : -1;
    }
    if (const auto results = evaluateKnown(*program, main, op, known))
      known[static_cast<size_t>(op.results[0])] = results->front();
  }
  return -2;
}

TEST(TripCount, CountedLoops) {
  EXPECT_EQ(iterationsOf({}), 10);
  EXPECT_EQ(iterationsOf({.limit = "1000000"}), 1'000'000);
  EXPECT_EQ(iterationsOf({.step = "3"}), 4);
  EXPECT_EQ(iterationsOf({.step = "3", .compare = "LE, %i, %n"}), 4);
  EXPECT_EQ(iterationsOf({.limit = "9", .step = "3", .compare = "LE, %i, %n"}), 4);
  EXPECT_EQ(iterationsOf({.compare = "GT, %n, %i"}), 10);
  EXPECT_EQ(iterationsOf({.start = "10", .limit = "0", .compare = "GT, %i, %n", .advance = "subtract %i, %s"}), 10);
  EXPECT_EQ(iterationsOf({.start = "10", .limit = "0", .step = "-3", .compare = "GE, %i, %n"}), 4);
  EXPECT_EQ(iterationsOf({.step = "2", .compare = "NE, %i, %n", .advance = "add %s, %i"}), 5);
  EXPECT_EQ(iterationsOf({.start = "10"}), 0);
  EXPECT_EQ(iterationsOf({.type = "ui8", .limit = "255"}), 255);
  EXPECT_EQ(iterationsOf({.type = "i64", .limit = "9000000000000000000"}), 9'000'000'000'000'000'000);
}

TEST(TripCount, OtherLoopsAreNotKnown) {
  EXPECT_EQ(iterationsOf({.advance = "multiply %i, %s"}), -1);
  EXPECT_EQ(iterationsOf({.advance = "add %i, %i"}), -1);
  EXPECT_EQ(iterationsOf({.compare = "LT, %i, %x"}), -1);
  EXPECT_EQ(iterationsOf({.compare = "EQ, %i, %n"}), -1);
  EXPECT_EQ(iterationsOf({.compare = "LT, %n, %n"}), -1);
  EXPECT_EQ(iterationsOf({.step = "3", .compare = "NE, %i, %n"}), -1);
  EXPECT_EQ(iterationsOf({.step = "-1"}), -1);
  EXPECT_EQ(iterationsOf({.step = "0"}), -1);
  EXPECT_EQ(iterationsOf({.type = "f32", .start = "0.0", .limit = "4.0", .step = "1.0"}), -1);
  // The integer overflows before it reaches the limit.
  EXPECT_EQ(iterationsOf({.type = "i8", .limit = "127", .step = "2"}), -1);
  EXPECT_EQ(iterationsOf({.type = "i8", .limit = "127", .compare = "LE, %i, %n"}), -1);
  EXPECT_EQ(
      iterationsOf({.type = "ui8", .start = "10", .limit = "0", .compare = "GE, %i, %n", .advance = "subtract %i, %s"}),
      -1);
}

}  // namespace
}  // namespace smalti::driver
