// Undefined memory is found where it matters, and only there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../runtime/TextKernel.h"

namespace smalti::machine::testing {
namespace {

using Codes = std::vector<std::string>;

Codes run(const TextKernel& k, std::vector<Array> operands = {}) {
  auto r = runOn(k, {operands}, checked());
  EXPECT_TRUE(r.has_value()) << r.error().str();
  return r ? codes(*r) : Codes{};
}

TEST(InitialisationChecker, ADeadLoadBeforeAStoreIsNoFinding) {
  TextKernel k({2});
  const Val o = k.output({.array = {2, 4}, .block = {1, 4}, .map = "%i, %c0"});
  k.load(o);
  k.store(k.splat(k.f32(1), {1, 4}), o);
  EXPECT_EQ(run(k), Codes{});
}

TEST(InitialisationChecker, UndefinedScratchThatReachesAnOutput) {
  TextKernel k({1});
  const Val o = k.output({.array = {2, 4}, .block = {2, 4}, .map = "%c0, %c0"});
  const Val s = k.scratch("f32", {2, 4});
  k.store(k.splat(k.f32(1), {1, 4}), s, {k.constant(0), k.constant(0)});
  k.store(k.binary("arith.addf", k.load(s), k.splat(k.f32(1), {2, 4})), o);
  auto r = runOn(k, {{}}, checked());
  ASSERT_TRUE(r) << r.error().str();
  ASSERT_EQ(codes(*r), Codes{"SM4102"});
  const Diagnostic& d = r->findings[0].diagnostic;
  EXPECT_EQ(d.message, "output 0 depends on uninitialised memory");
  EXPECT_EQ(d.need, "all 8 elements of f32[2,4] written from defined values");
  EXPECT_THAT(d.have,
              ::testing::MatchesRegex("4 undefined element\\(s\\), the first at \\[1, 0\\]; undefined elements were "
                                      "read from scratch 0 at .* in grid step \\(0\\)"));
  EXPECT_TRUE(d.place.known()) << "the load";
}

TEST(InitialisationChecker, UndefinedBranchAndAddress) {
  TextKernel k({1});
  const Val o = k.output({.dtype = "i32", .array = {4}, .block = {4}, .map = "%c0", .space = "smem"});
  const Val s = k.scratch("i32", {1}, "smem");
  for (int i = 0; i < 4; ++i) k.scalarStore(k.constant(0), o, {k.constant(i)});
  const Val u = k.scalarLoad(s, {});
  k.when(k.compare("eq", u, k.constant(1)), [] {});
  const Val at = k.binary("arith.andi", u, k.constant(3));
  k.scalarStore(k.constant(1), o, {at});
  EXPECT_EQ(run(k), (Codes{"SM4101", "SM4101"}));
}

TEST(InitialisationChecker, TheShadowFollowsCopies) {
  TextKernel k;  // half of the scratch is defined; all of it is copied out
  const Val o = k.output({.array = {2, 4}, .space = "any"});
  const Val s = k.scratch("f32", {2, 4}), sem = k.dmaSemaphore();
  k.store(k.splat(k.f32(1), {1, 4}), s, {k.constant(0), k.constant(0)});
  k.dma(s, o, sem);
  k.waitDma(s, o, sem);
  auto r = runOn(k, {{}}, checked());
  ASSERT_TRUE(r) << r.error().str();
  ASSERT_EQ(codes(*r), Codes{"SM4102"});
  EXPECT_THAT(r->findings[0].diagnostic.have, ::testing::HasSubstr("read from scratch 0"));
}

}  // namespace
}  // namespace smalti::machine::testing
