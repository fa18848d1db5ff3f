// What a core refuses.
#include <gtest/gtest.h>

#include "TextKernel.h"

namespace smalti::machine::testing {
namespace {

Diagnostic refused(const TextKernel& k, const std::vector<std::vector<Array>>& operands = {{}}) {
  auto r = runOn(k, operands);
  EXPECT_FALSE(r.has_value());
  return r ? Diagnostic{} : r.error();
}

TEST(Core, ACoreThatDoesNotExistIsRefused) {
  TextKernel k({2}, "core_parallel");
  k.semSignal(k.semaphore(), k.constant(1), k.deviceId(), k.constant(5));
  const Diagnostic d = refused(k);
  EXPECT_EQ(d.code, "SM4053");
  EXPECT_EQ(d.need, "a core index from 0 to 1");
}

TEST(Core, ACoreAxisLongerThanTheMachineIsRefused) {
  TextKernel k({1000}, "core_parallel");
  EXPECT_EQ(refused(k).code, "SM4057");
}

}  // namespace
}  // namespace smalti::machine::testing
