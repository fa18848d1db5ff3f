#include "RandomRewrites.h"

#include <bit>

#include <gtest/gtest.h>

namespace smalti::cpu::testing {
namespace {

std::vector<Array> run(const KernelPackage& package, const std::vector<Array>& operands) {
  auto compiled = machine::compileKernel(package, Numerics::f32);
  RC_ASSERT(compiled.has_value());
  auto result = machine::run(**compiled, std::vector<std::vector<Array>>{operands}, {}, {});
  RC_ASSERT(result.has_value());
  return result->results.at(0);
}

/// What is undefined is so in both: elements of partial blocks.
bool sameNumbers(const Array& a, const Array& b) {
  const bool narrow = a.dtype() == DType::bf16;
  const auto element = [&](const Array& of, int64_t i) {
    return narrow ? std::bit_cast<float>(static_cast<uint32_t>(of.as<uint16_t>()[i]) << 16) : of.as<float>()[i];
  };
  for (int64_t i = 0; i < a.elements(); ++i) {
    const float x = element(a, i), y = element(b, i);
    if (x != y && !(x != x && y != y)) return false;
  }
  return true;
}

}  // namespace

void requireSame(const KernelPackage& package, const KernelPackage& made, const std::vector<Array>& operands) {
  const std::vector<Array> expected = run(package, operands), got = run(made, operands);
  for (size_t i = 0; i < expected.size(); ++i) RC_ASSERT(sameNumbers(got[i], expected[i]));
}

std::map<std::string, int> applied(Kernel (*some)(), int cases) {
  std::map<std::string, int> counts;
  const Processor processor = *processorNamed("x86_64-linux-gnu/znver4");
  EXPECT_TRUE(rc::check([&] {
    for (int n = 0; n < cases; ++n) {
      const Kernel kernel = some();
      const KernelPackage package = kernel.k.package();
      const std::vector<Array> expected = run(package, kernel.operands);
      const auto expectSame = [&](const KernelPackage& made) {
        const std::vector<Array> got = run(made, kernel.operands);
        for (size_t i = 0; i < expected.size(); ++i) RC_ASSERT(sameNumbers(got[i], expected[i]));
      };
      for (const int cores : {1, 3}) {
        for (const RewritePass& pass : rewritePasses())
          if (const auto made = pass.run(package, {processor, cores})) {
            ++counts[std::string(pass.name)];
            expectSame(*made);
          }
        if (const auto made = runRewritePasses(package, {processor, cores})) expectSame(*made);
      }
    }
  }));
  return counts;
}

}  // namespace smalti::cpu::testing
