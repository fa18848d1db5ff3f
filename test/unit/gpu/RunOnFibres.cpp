// Tests of native code for CPUs that are tests of device code as well: run by this process, in two orders of the
// threads.
#include <gtest/gtest.h>

#include "../cpu/native/Native.h"
#include "gpu/host/HostKernel.h"

namespace smalti::cpu::testing {

std::string whyNot(const TextKernel& kernel) {
  const auto code = gpu::compileForHost(kernel.package(), {});
  return code ? "" : code.error().have;
}

std::optional<std::vector<Array>> run(const TextKernel& kernel, const std::vector<Array>& operands,
                                      const NativeOptions&) {
  const auto code = gpu::compileForHost(kernel.package(), {});
  EXPECT_TRUE(code) << code.error().str() << "\n" << kernel.text();
  std::optional<std::vector<Array>> first;
  for (const uint64_t seed : {0, 5}) {
    if (!code) break;
    auto got = (*code)->call(operands, {.seed = seed});
    EXPECT_TRUE(got) << got.error().str();
    if (!got || got->end != cpu::KernelStatus::done) return std::nullopt;
    for (size_t i = 0; first && i < first->size(); ++i)
      EXPECT_EQ(difference((*first)[i], got->results[i]), "") << "in another order of the threads\n" << kernel.text();
    if (!first) first = std::move(got->results);
  }
  return first;
}

}  // namespace smalti::cpu::testing
