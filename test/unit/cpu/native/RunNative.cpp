#include <gtest/gtest.h>

#include "Native.h"

namespace smalti::cpu::testing {

std::string whyNot(const TextKernel& kernel) {
  auto outcome = compileNative(kernel.package(), {});
  return outcome ? outcome->why.reason : outcome.error().str();
}

std::optional<std::vector<Array>> run(const TextKernel& kernel, const std::vector<Array>& operands,
                                      const NativeOptions& options) {
  const auto code = native(kernel, options);
  if (!code) return std::nullopt;
  bool fault = false;
  auto got = code->call(operands, 1, fault);
  EXPECT_TRUE(got) << got.error().str();
  if (!got || fault) return std::nullopt;
  return std::move(*got);
}

}  // namespace smalti::cpu::testing
