// Kernels that check themselves on a GPU.
#include "gpu/CheckedPackage.h"

#include <gtest/gtest.h>

#include "../machine/runtime/TextKernel.h"
#include "gpu/host/HostKernel.h"

namespace smalti::gpu {
namespace {

using namespace machine::testing;

/// Accumulates in scratch, which the step `first` clears.
void accumulate(TextKernel& k, int32_t first) {
  const Val x = k.input({.array = {32, 128}, .block = {8, 128}, .map = "%i, %c0"}),
            out = k.output({.array = {32, 128}, .block = {8, 128}, .map = "%i, %c0"}), sum = k.scratch("f32", {8, 128});
  k.when(k.compare("eq", k.id(0), k.constant(first)), [&] { k.store(k.splat(k.f32(0), {8, 128}), sum); });
  k.store(k.binary("arith.addf", k.load(sum), k.load(x)), sum);
  k.store(k.load(sum), out);
}

TEST(CheckedPackage, ReadsOfUndefinedMemoryEndTheCallOrShowInTheResults) {
  for (const int32_t first : {0, 1}) {
    TextKernel k({4});
    accumulate(k, first);
    const auto checked = withDeviceChecks(k.package());
    ASSERT_TRUE(checked) << checked.error().reason;
    EXPECT_EQ(checked->shadowed.empty(), first == 0);  // proved for the first step
    const auto code = compileForHost(checked->package, {});
    ASSERT_TRUE(code) << code.error().str();
    auto result =
        (*code)->call(std::vector{f32Array({32, 128}, [](int64_t i) { return static_cast<float>(i % 7); })}, {});
    ASSERT_TRUE(result) << result.error().str();
    const bool isFine =
        result->end == KernelStatus::done && cpu::removeShadows(result->results, checked->shadowResults);
    EXPECT_EQ(isFine, first == 0);
    if (isFine) {
      EXPECT_EQ(result->results.size(), 1u);
    }
  }
}

TEST(CheckedPackage, CopiesInFlightAreForTheMachine) {
  TextKernel k;
  const Val in = k.input({.array = {8, 128}, .space = "any"}), out = k.output({.array = {8, 128}, .space = "any"}),
            semaphore = k.dmaSemaphore();
  k.dma(in, out, semaphore);
  k.waitDma(in, out, semaphore);
  const auto checked = withDeviceChecks(k.package());
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().reason, "copies that are in flight");
}

}  // namespace
}  // namespace smalti::gpu
