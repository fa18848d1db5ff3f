// The same kernel becomes the same code every time, wherever its ops and values lie in memory: caches, object files and
// whoever compares them rely on it.
#include <gtest/gtest.h>

#include "../../LongTest.h"
#include "SmallProducts.h"
#include "cpu/check/Copies.h"
#include "cpu/inspect/Inspect.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu::testing {
namespace {

constexpr int kTimes = 16;

/// Two products, either of which the sum may replace in memory.
TextKernel sumOfProducts() {
  TextKernel k;
  const Shape square{32, 32};
  const Spec whole{.array = square, .space = "vmem"};
  const Val a = k.input(whole), b = k.input(whole), c = k.output(whole);
  const Val zero = k.splat(k.f32(0), square);
  const Val left = multiplied(k, k.load(a), k.load(b), false, zero);
  const Val right = multiplied(k, k.load(b), k.load(a), false, zero);
  k.store(multiplied(k, k.binary("arith.addf", left, right), k.load(a), false, zero), c);
  return k;
}

TEST(SameCode, OfAKernelWithSeveralPlacesForAResult) {
  SMALTI_LONG_TEST();
  std::vector<KernelPackage> alive;  // the next one lies elsewhere
  std::string first;
  for (int i = 0; i < kTimes; ++i) {
    const auto made = inspectNative(alive.emplace_back(sumOfProducts().package()), {});
    ASSERT_TRUE(made) << made.error().str();
    if (first.empty()) first = made->llvm;
    ASSERT_FALSE(first.empty());
    EXPECT_EQ(made->llvm, first);
  }
}

TEST(SameCode, OfSeveralCopiesThatAreWatched) {
  TextKernel k;
  const Spec whole{.array = {8, 128}, .space = "hbm"};
  const Val in = k.input(whole), sem = k.dmaSemaphore();
  k.region([&] {
    for (int i = 0; i < kTimes; ++i) {
      const Val near = k.alloc("f32", {8, 128});
      k.dma(in, near, sem);
      k.waitDma(in, near, sem);
    }
  });
  std::vector<KernelPackage> alive;
  std::string first;
  for (int i = 0; i < kTimes; ++i) {
    const KernelPackage& package = alive.emplace_back(k.package());
    markHazardChecks(package);
    std::string text;
    llvm::raw_string_ostream stream(text);
    mlir::func::FuncOp(package.kernelFunction()).print(stream);
    if (first.empty()) first = text;
    EXPECT_EQ(text, first);
  }
}

}  // namespace
}  // namespace smalti::cpu::testing
