// Exponentials and quotients that may be less exact since what comes of them is rounded to 16 bits.
#include "gpu/plan/RoundedResults.h"

#include <gtest/gtest.h>

#include "../machine/runtime/TextKernel.h"
#include "ir/facts/Tolerance.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::gpu {
namespace {

using namespace machine::testing;

/// The tolerances of the ops with this name, as text; the kernel stores %r, which is bf16[8,128] or f32[8,128], and
/// may use %x and %y.
std::string tolerances(const std::vector<std::string>& lines, const std::string& op, const std::string& result) {
  TextKernel k;
  const Val x = k.load(k.input({.array = {8, 128}})), y = k.load(k.input({.array = {8, 128}}));
  const Val o = k.output({.dtype = result, .array = {8, 128}});
  for (std::string line : lines) {
    for (const auto& [from, to] : {std::pair{"%x", x.name}, std::pair{"%y", y.name}})
      for (size_t at = 0; (at = line.find(from, at)) != std::string::npos; at += to.size()) line.replace(at, 2, to);
    k.raw(line);
  }
  k.store({"%r", "vector<8x128x" + result + ">"}, o);
  const auto made = shortenRoundedResults(k.package());
  if (!made) return "";
  std::string found;
  made->kernelFunction().walk([&](mlir::Operation* each) {
    if (each->getName().getStringRef() != op) return;
    const Tolerance t = toleranceOf(*each);
    const auto is = [&](const Tolerance& other) { return t.atol == other.atol && t.rtol == other.rtol; };
    found += is(kShortExponentials) ? "e" : is(kShortDivisions) ? "q" : is({}) ? "-" : "?";
  });
  return found;
}

constexpr const char* kWide = " : vector<8x128xf32>";
std::string wide(const std::string& op) { return op + kWide; }
const std::string kRound = "%r = arith.truncf %v : vector<8x128xf32> to vector<8x128xbf16>";

TEST(RoundedResults, ExponentialsAndQuotientsOfSigmoid) {
  const std::vector<std::string> sigmoid{wide("%e = math.exp %x"), wide("%d = arith.addf %e, %y"),
                                         wide("%v = arith.divf %x, %d"), kRound};
  EXPECT_EQ(tolerances(sigmoid, "math.exp", "bf16"), "e");
  EXPECT_EQ(tolerances(sigmoid, "arith.divf", "bf16"), "q");
}

TEST(RoundedResults, ResultsOf32BitsStay) {
  EXPECT_EQ(tolerances({wide("%e = math.exp %x"), wide("%r = arith.divf %e, %y")}, "math.exp", "f32"), "");
  // One use is enough.
  EXPECT_EQ(tolerances({wide("%e = math.exp %x"), "%s = arith.truncf %e : vector<8x128xf32> to vector<8x128xbf16>",
                        "%t = arith.extf %s : vector<8x128xbf16> to vector<8x128xf32>", wide("%r = arith.addf %e, %t")},
                       "math.exp", "f32"),
            "");
}

/// Whole numbers and comparisons may change where a quotient does in the last place.
TEST(RoundedResults, WhatJumpsStays) {
  for (const char* jumps : {"math.floor %q", "math.roundeven %q", "math.log %q", "math.exp %q", "math.sin %q"})
    EXPECT_EQ(
        tolerances({wide("%q = arith.divf %x, %y"), wide(std::string("%v = ") + jumps), kRound}, "arith.divf", "bf16"),
        jumps == std::string("math.exp %q") ? "-" : "")
        << jumps;
  EXPECT_EQ(tolerances({wide("%q = arith.divf %x, %y"), "%c = arith.cmpf oge, %q, %x : vector<8x128xf32>",
                        "%v = arith.select %c, %q, %y : vector<8x128xi1>, vector<8x128xf32>", kRound},
                       "arith.divf", "bf16"),
            "");
}

TEST(RoundedResults, SumsAndMaximaOfRows) {
  const auto reduced = [](const std::string& kind) {
    return std::vector<std::string>{
        wide("%e = math.exp2 %x"),
        "%none = arith.constant dense<0.0> : vector<8xf32>",
        "%s = vector.multi_reduction <" + kind + ">, %e, %none [1] : vector<8x128xf32> to vector<8xf32>",
        "%c = vector.shape_cast %s : vector<8xf32> to vector<8x1xf32>",
        "%b = vector.broadcast %c : vector<8x1xf32> to vector<8x128xf32>",
        wide("%v = arith.divf %e, %b"),
        kRound};
  };
  EXPECT_EQ(tolerances(reduced("add"), "math.exp2", "bf16"), "e");
  EXPECT_EQ(tolerances(reduced("maximumf"), "math.exp2", "bf16"), "e");
  EXPECT_EQ(tolerances(reduced("mul"), "math.exp2", "bf16"), "-") << "128 errors are multiplied";
}

TEST(RoundedResults, OpsOf16Bits) {
  const std::string narrow = "%a = arith.truncf %x : vector<8x128xf32> to vector<8x128xTYPE>",
                    also = "%b = arith.truncf %y : vector<8x128xf32> to vector<8x128xTYPE>";
  const auto of = [&](const std::string& op, const std::string& type, const std::string& operands) {
    std::vector<std::string> lines{narrow, also, "%r = " + op + " " + operands + " : vector<8x128xTYPE>"};
    for (std::string& line : lines)
      for (size_t at; (at = line.find("TYPE")) != std::string::npos;) line.replace(at, 4, type);
    return tolerances(lines, op, type);
  };
  EXPECT_EQ(of("math.exp", "bf16", "%a"), "e");
  EXPECT_EQ(of("math.exp", "f16", "%a"), "e");
  EXPECT_EQ(of("arith.divf", "bf16", "%a, %b"), "q");
  EXPECT_EQ(of("arith.divf", "f16", "%a, %b"), "") << "the last bit might change";
}

}  // namespace
}  // namespace smalti::gpu
