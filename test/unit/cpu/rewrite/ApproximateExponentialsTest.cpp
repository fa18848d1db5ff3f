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

/// %e = 2^x or e^x, and `uses` of it. %x, %factor: f32 of the same shape; %zero: f32[16].
KernelPackage kernel(const std::string& uses, const std::string& exponential = "math.exp %x") {
  TextKernel k;
  const Val x = k.load(k.input({.array = {16, 128}})), factor = k.load(k.input({.array = {16, 128}}));
  const Val narrow = k.output({.dtype = "bf16", .array = {16, 128}}), wide = k.output({.array = {16, 128}});
  std::string text = "%e = " + exponential + " : vector<16x128xf32>\n" + uses;
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  };
  replace("%x", x.name);
  replace("%factor", factor.name);
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

TEST(ApproximateExponentials, MayBeLessExactIfTheyAreRounded) {
  for (const std::string& uses :
       {kRounds, kRounds + kSums,
        std::string("%p = arith.mulf %e, %factor : WIDE\n%n = arith.truncf %p : WIDE to NARROW\n"),
        std::string("%p = arith.divf %e, %factor : WIDE\n%n = arith.truncf %p : WIDE to NARROW\n"),
        std::string(
            "%s = vector.shape_cast %e : WIDE to vector<1x16x128xf32>\n%t = arith.truncf %s : "
            "vector<1x16x128xf32> to vector<1x16x128xbf16>\n%n = vector.shape_cast %t : vector<1x16x128xbf16> to "
            "NARROW\n")})
    for (const char* exponential : {"math.exp %x", "math.exp2 %x"}) {
      const Tolerance found = toleranceIn(approximateExponentials(kernel(uses, exponential)));
      EXPECT_EQ(found.atol, 0x1p-124) << uses;
      EXPECT_EQ(found.rtol, 0x1p-17) << uses;
    }
}

TEST(ApproximateExponentials, StayExactElsewhere) {
  for (const std::string& uses : {
           std::string("%w = arith.mulf %e, %factor : WIDE\n"),  // stored as f32
           kRounds + "%w = arith.mulf %e, %factor : WIDE\n",     // both
           kSums,                                                // nothing is rounded
           std::string("%p = arith.subf %e, %factor : WIDE\n%n = arith.truncf %p : WIDE to NARROW\n"),  // cancels
           std::string(
               "%p = arith.divf %factor, %e : WIDE\n%n = arith.truncf %p : WIDE to NARROW\n"),  // of a small one
           std::string("%p = math.log %e : WIDE\n%n = arith.truncf %p : WIDE to NARROW\n"),
           kRounds + "%m = vector.multi_reduction <maximumf>, %e, %zero [1] : WIDE to ROWS\n",
       })
    EXPECT_FALSE(approximateExponentials(kernel(uses))) << uses;
}

TEST(ApproximateExponentials, KeepWhatTheKernelAllows) {
  const auto found = [](const char* attributes) {
    return toleranceIn(
        approximateExponentials(kernel(kRounds, std::string("math.exp2 %x {tolerance = ") + attributes + "}")));
  };
  EXPECT_EQ(found("array<f64: 7.8886090522101181e-31, 0.0>").atol, 0x1p-100);
  EXPECT_EQ(found("array<f64: 7.8886090522101181e-31, 0.0>").rtol, 0x1p-17);
  // Not a tolerance.
  for (const char* other :
       {"array<f64: -1.0, 0.0>", "array<f64: 0x7FF0000000000000, 1.0>", "array<f64: 1.0>", "1.0", "unit"})
    EXPECT_EQ(found(other).atol, 0x1p-124) << other;
}

/// A value that is multiplied by itself again and again has 2^64 chains of uses.
TEST(ApproximateExponentials, LookAtEachUseOnce) {
  std::string uses = "%p0 = arith.mulf %e, %e : WIDE\n";
  for (int i = 0; i < 64; ++i) {
    const std::string before = "%p" + std::to_string(i);
    uses += "%p" + std::to_string(i + 1) + " = arith.mulf " + before + ", " + before + " : WIDE\n";
  }
  EXPECT_TRUE(approximateExponentials(kernel(uses + "%n = arith.truncf %p64 : WIDE to NARROW\n")));
}

}  // namespace
}  // namespace smalti::cpu
