#include "Native.h"

#include <cstring>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smalti::cpu::testing {

std::shared_ptr<const NativeKernel> native(const TextKernel& kernel, const NativeOptions& options) {
  auto outcome = compileNative(kernel.package(), options);
  EXPECT_TRUE(outcome) << outcome.error().str();
  if (!outcome) return nullptr;
  EXPECT_TRUE(outcome->kernel) << outcome->why.reason << "\n" << kernel.text();
  return outcome->kernel;
}

std::string text(const KernelPackage& package) {
  std::string out;
  llvm::raw_string_ostream(out) << *package.kernelFunction().getOperation();
  return out;
}

std::string difference(const Array& a, const Array& b) {
  if (a.type() != b.type()) return a.type().str() + " and " + b.type().str();
  const int64_t bytes = storage_bytes(a.dtype());
  for (int64_t i = 0; i < a.elements(); ++i)
    if (std::memcmp(a.data() + i * bytes, b.data() + i * bytes, static_cast<size_t>(bytes)) != 0)
      return fmt::format("element {} of {}", i, a.type().str());
  return "";
}

std::vector<Array> same(const TextKernel& kernel, const std::vector<Array>& operands, const NativeOptions& options) {
  std::vector<Array> before;
  for (const Array& a : operands) before.push_back(a.clone().value());
  const auto got = run(kernel, operands, options);
  EXPECT_TRUE(got) << "a fault";
  for (size_t i = 0; i < operands.size(); ++i)
    EXPECT_EQ(difference(operands[i], before[i]), "") << "operand " << i << " changed";
  const auto expected = results(kernel, operands);
  if (!got || got->size() != expected.size()) return {};
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(difference((*got)[i], expected[i]), "") << "result " << i << "\n" << kernel.text();
  return *got;
}

bool faults(const TextKernel& kernel, const std::vector<Array>& operands) { return !run(kernel, operands); }

}  // namespace smalti::cpu::testing
