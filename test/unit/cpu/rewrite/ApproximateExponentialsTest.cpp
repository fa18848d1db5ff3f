// Which exponentials may be less exact: those of which only 16 bits and sums are left.
#include "cpu/rewrite/ApproximateExponentials.h"

#include <gtest/gtest.h>

#include "../../machine/runtime/TextKernel.h"
#include "ir/facts/Tolerance.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace smalti::cpu {
namespace {

using machine::testing::TextKernel;
using machine::testing::Val;

constexpr const char *kWide = "vector<16x128xf32>", *kRow = "vector<16xf32>", *kNarrow = "vector<16x128xbf16>";

/// %e = 2^x or e^x of differences from the maximum of the row, and `uses` of it. %x, %factor: f32[16,128]; %earlier:
/// f32[16,1]; %m: the maxima as a column; %zero: f32[16].
constexpr const char* kDifference = "%d = arith.subf %x, %M : WIDE\n";
const std::string kMaximum = "%M = vector.broadcast %m : vector<16x1xf32> to WIDE\n";

KernelPackage kernel(const std::string& uses, const std::string& exponential = "math.exp %d",
                     const std::string& subtracted = kMaximum) {
  TextKernel k;
  const Val x = k.load(k.input({.array = {16, 128}})), factor = k.load(k.input({.array = {16, 128}})),
            earlier = k.load(k.input({.array = {16, 1}}));
  const Val narrow = k.output({.dtype = "bf16", .array = {16, 128}}), wide = k.output({.array = {16, 128}});
  std::string text =
      "%none = arith.constant dense<0xFF800000> : ROWS\n%r = vector.multi_reduction <maximumf>, %x, %none [1] : WIDE "
      "to ROWS\n"
      "%m = vector.shape_cast %r : ROWS to vector<16x1xf32>\n" +
      subtracted + kDifference + "%e = " + exponential + " : WIDE\n" + uses;
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  };
  replace("%x", x.name);
  replace("%factor", factor.name);
  replace("%earlier", earlier.name);
  replace("WIDE", kWide);
  replace("ROWS", kRow);
  replace("NARROW", kNarrow);
  k.raw("%zero = arith.constant dense<0.0> : " + std::string(kRow));
  k.raw(text);
  const auto store = [&](const char* name, const char* type, const Val& to) {
    if (text.find(std::string(name) + " =") != std::string::npos) k.store({name, type}, to);
  };
  store("%n", kNarrow, narrow);
  store("%w", kWide, wide);
  return k.package();
}

Tolerance toleranceIn(const std::optional<KernelPackage>& package) {
  Tolerance found;
  if (package)
    package->kernelFunction().walk([&](mlir::Operation* op) {
      if (llvm::isa<mlir::math::ExpOp, mlir::math::Exp2Op>(op)) found = toleranceOf(*op);
    });
  return found;
}

const std::string kRounds = "%n = arith.truncf %e : WIDE to NARROW\n";
const std::string kSums = "%l = vector.multi_reduction <add>, %e, %zero [1] : WIDE to ROWS\n";
const std::string kColumn = kSums + "%c = vector.shape_cast %l : ROWS to vector<16x1xf32>\n";
const std::string kDivides =
    kColumn + "%L = vector.broadcast %c : vector<16x1xf32> to WIDE\n%p = arith.divf %e, %L : WIDE\n";
const std::string kMultiplies =
    kColumn +
    "%i = tpu.reciprocal %c : vector<16x1xf32> -> vector<16x1xf32>\n%L = vector.broadcast %i : "
    "vector<16x1xf32> to WIDE\n%p = arith.mulf %e, %L : WIDE\n";
const std::string kRoundsQuotient = "%n = arith.truncf %p : WIDE to NARROW\n";
const std::string kLarger =
    "%larger = arith.maximumf %earlier, %m : vector<16x1xf32>\n%M = vector.broadcast %larger : "
    "vector<16x1xf32> to WIDE\n";

TEST(ApproximateExponentials, MayBeLessExactIfTheyAreRoundedWeights) {
  for (const std::string& uses : {kRounds, kRounds + kSums, kDivides + kRoundsQuotient, kMultiplies + kRoundsQuotient})
    for (const char* exponential : {"math.exp %d", "math.exp2 %d"}) {
      const Tolerance found = toleranceIn(approximateExponentials(kernel(uses, exponential)));
      EXPECT_EQ(found.atol, 0x1p-124) << uses;
      EXPECT_EQ(found.rtol, 0x1p-17) << uses;
    }
  EXPECT_TRUE(approximateExponentials(kernel(kRounds + kSums, "math.exp %d", kLarger)));
}

TEST(ApproximateExponentials, StayExactElsewhere) {
  const std::string ones = "%ones = arith.constant dense<1.0> : ROWS\n";
  for (const std::string& uses : {
           ones + kRounds + "%l = vector.multi_reduction <add>, %e, %ones [1] : WIDE to ROWS\n",  // 1 more
           std::string("%w = arith.mulf %e, %factor : WIDE\n"),                                   // stored as f32
           kRounds + "%w = arith.mulf %e, %factor : WIDE\n",                                      // both
           kSums,                                                                                 // nothing is rounded
           kRounds + kDivides + "%w = arith.mulf %p, %factor : WIDE\n",                           // quotients in f32
           std::string("%p = arith.mulf %e, %factor : WIDE\n") + kRoundsQuotient,                 // by anything
           std::string("%p = arith.divf %e, %factor : WIDE\n") + kRoundsQuotient,                 // by anything
           std::string("%p = arith.subf %e, %factor : WIDE\n") + kRoundsQuotient,                 // cancels
           std::string("%p = arith.divf %factor, %e : WIDE\n") + kRoundsQuotient,                 // of a small one
           kRounds + "%k = vector.multi_reduction <maximumf>, %e, %zero [1] : WIDE to ROWS\n",
       })
    EXPECT_FALSE(approximateExponentials(kernel(uses))) << uses;
}

/// All weights may then be tiny, and their quotients are not.
TEST(ApproximateExponentials, StayExactWithoutTheMaximumOfTheRow) {
  EXPECT_FALSE(approximateExponentials(kernel(kRounds, "math.exp %x"))) << "nothing is subtracted";
  EXPECT_FALSE(approximateExponentials(
      kernel(kRounds, "math.exp %d", "%M = vector.broadcast %earlier : vector<16x1xf32> to WIDE\n")));
  EXPECT_FALSE(approximateExponentials(kernel(kDivides + kRoundsQuotient, "math.exp %d", kLarger)))
      << "their sum may be tiny as well";
  EXPECT_FALSE(approximateExponentials(kernel(
      kRounds, "math.exp %d",
      "%k = vector.multi_reduction <maximumf>, %factor, %none [1] : WIDE to ROWS\n%o = vector.shape_cast %k : ROWS to "
      "vector<16x1xf32>\n%M = vector.broadcast %o : vector<16x1xf32> to WIDE\n")))
      << "the maximum of other rows";
  EXPECT_FALSE(approximateExponentials(kernel(
      kRounds, "math.exp %d",
      "%k = arith.constant dense<0xFF800000> : vector<128xf32>\n%q = vector.multi_reduction <maximumf>, %x, %k [0] : "
      "WIDE to "
      "vector<128xf32>\n%o = vector.shape_cast %q : vector<128xf32> to vector<1x128xf32>\n%M = vector.broadcast %o : "
      "vector<1x128xf32> to WIDE\n")))
      << "maxima of columns";
}

TEST(ApproximateExponentials, KeepWhatTheKernelAllows) {
  const auto found = [](const char* attributes) {
    return toleranceIn(
        approximateExponentials(kernel(kRounds, std::string("math.exp2 %d {tolerance = ") + attributes + "}")));
  };
  EXPECT_EQ(found("array<f64: 7.8886090522101181e-31, 0.0>").atol, 0x1p-100);
  EXPECT_EQ(found("array<f64: 7.8886090522101181e-31, 0.0>").rtol, 0x1p-17);
  // Not a tolerance.
  for (const char* other :
       {"array<f64: -1.0, 0.0>", "array<f64: 0x7FF0000000000000, 1.0>", "array<f64: 1.0>", "1.0", "unit"})
    EXPECT_EQ(found(other).atol, 0x1p-124) << other;
}

}  // namespace
}  // namespace smalti::cpu
