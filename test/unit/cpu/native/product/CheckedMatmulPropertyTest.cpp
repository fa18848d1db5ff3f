// Matmuls whose blocks are partial, with planted mistakes: checked native code reports a fault exactly where the
// machine's observers find something, and has the same grid as unchecked code.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "../../../LongTest.h"
#include "../Native.h"
#include "cpu/CheckedKernel.h"
#include "cpu/check/Instrument.h"
#include "cpu/rewrite/Passes.h"

namespace smalti::cpu::testing {
namespace {

constexpr int64_t kBlock = 8;

/// At most one mistake each.
enum class Mistake : uint8_t {
  none,
  unmasked,
  leftUnmasked,
  rightUnmasked,
  maskTooLong,   ///< elements past the end count
  neverZeroed,   ///< the accumulator
  zeroedByRows,  ///< in the first step along rows instead of along the sum
  neverStored,   ///< the output is stored in a step that the grid does not have
  sumsRows,      ///< adds up rows, of which some are past the end
  count
};

/// Of the full range from the first case on.
int64_t pick(int64_t from, int64_t below) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<int64_t>(from, below));
}
int64_t someExtent() { return pick(1, 3 * kBlock + 1); }
int64_t stepsOf(int64_t extent) { return (extent + kBlock - 1) / kBlock; }

class RandomMatmul {
 public:
  explicit RandomMatmul(Mistake mistake)
      : mistake_(mistake),
        m_(mistake == Mistake::zeroedByRows ? pick(kBlock + 1, 3 * kBlock + 1) : someExtent()),  // has a second step
        n_(someExtent()),
        depth_(someExtent()),
        k({stepsOf(m_), stepsOf(n_), steps()}, "parallel,parallel,arbitrary") {
    const Val x = k.input({.array = {m_, depth_}, .block = {kBlock, kBlock}, .map = "%i, %k"});
    const Val y = k.input({.array = {depth_, n_}, .block = {kBlock, kBlock}, .map = "%k, %j"});
    const Val out = k.output({.array = {m_, n_}, .block = {kBlock, kBlock}, .map = "%i, %j"});
    const Val acc = k.scratch("f32", {kBlock, kBlock});
    if (mistake != Mistake::neverZeroed)
      k.when(k.compare("eq", k.id(mistake == Mistake::zeroedByRows ? 0 : 2), k.constant(0)),
             [&] { k.store(zeros(), acc); });
    const bool none = mistake == Mistake::unmasked;
    const Val a = none || mistake == Mistake::leftUnmasked ? k.load(x) : inside(k.load(x), 1);
    const Val b = none || mistake == Mistake::rightUnmasked ? k.load(y) : inside(k.load(y), 0);
    k.store(k.binary("arith.addf", k.load(acc), product(a, b)), acc);
    const int64_t last = steps() - (mistake == Mistake::neverStored ? 0 : 1);
    k.when(k.compare("eq", k.id(2), k.constant(static_cast<int32_t>(last))),
           [&] { k.store(mistake == Mistake::sumsRows ? rowSums(k.load(acc)) : k.load(acc), out); });
  }

  std::vector<Array> operands() const {
    return {f32Array({m_, depth_}, [](int64_t i) { return static_cast<float>(i * 7 % 11 - 5); }),
            f32Array({depth_, n_}, [](int64_t i) { return static_cast<float>(i * 5 % 13 - 6); })};
  }
  bool isPartial() const { return m_ % kBlock != 0 || n_ % kBlock != 0 || depth_ % kBlock != 0; }

 private:
  int64_t steps() const { return stepsOf(depth_); }

  Val op(const std::string& type, const std::string& text) {
    const Val v = k.fresh(type);
    k.raw(v.name + " = " + text);
    return v;
  }
  Val zeros() { return k.splat(k.f32(0), {kBlock, kBlock}); }
  Val inside(const Val& v, int dimension) {
    const Val at =
        op("vector<8x8xi32>", fmt::format("tpu.iota {{dimensions = array<i32: {}>}} : vector<8x8xi32>", dimension));
    const Val first = k.splat(k.binary("arith.muli", k.id(2), k.constant(kBlock)), {kBlock, kBlock});
    const int64_t end = depth_ + (mistake_ == Mistake::maskTooLong ? 1 : 0);
    const Val is = k.compare("slt", k.binary("arith.addi", first, at),
                             k.splat(k.constant(static_cast<int32_t>(end)), {kBlock, kBlock}));
    return op(v.type,
              fmt::format("arith.select {}, {}, {} : vector<8x8xi1>, {}", is.name, v.name, zeros().name, v.type));
  }
  Val product(const Val& a, const Val& b) {
    const Val start = zeros();
    return op(a.type,
              fmt::format("tpu.matmul {0}, {1}, {2} {{dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], "
                          "[1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false}} : {3}, {3}, {3} -> {3}",
                          a.name, b.name, start.name, a.type));
  }
  Val rowSums(const Val& v) {
    const Val start = k.splat(k.f32(0), {kBlock});
    const Val sums = op("vector<8xf32>", fmt::format("vector.multi_reduction <add>, {}, {} [0] : {} to vector<8xf32>",
                                                     v.name, start.name, v.type));
    const Val row =
        op("vector<1x8xf32>", fmt::format("vector.shape_cast {} : vector<8xf32> to vector<1x8xf32>", sums.name));
    return op(v.type, fmt::format("vector.broadcast {} : vector<1x8xf32> to {}", row.name, v.type));
  }

  Mistake mistake_;
  int64_t m_, n_, depth_;

 public:
  TextKernel k;
};

TEST(CheckedMatmul, FindsWhatTheMachineFindsAndNothingElse) {
  SMALTI_LONG_TEST();
  std::array<int, static_cast<size_t>(Mistake::count)> found{};
  int clean = 0;
  EXPECT_TRUE(rc::check([&] {
    const auto mistake = static_cast<Mistake>(pick(0, static_cast<int64_t>(Mistake::count)));
    const RandomMatmul matmul(mistake);
    const KernelPackage package = matmul.k.package();
    const auto expected = runOn(matmul.k, {matmul.operands()}, checked());
    const bool isClean = expected && expected->findings.empty();
    (isClean ? clean : found[static_cast<size_t>(mistake)]) += 1;
    const auto code = compileChecked(package, {});
    RC_ASSERT(code && code->kernel);
    const auto results = code->kernel->call(matmul.operands(), static_cast<int>(pick(1, 3)));
    RC_ASSERT(bool(results));
    if (bool(*results) != isClean) RC_FAIL(matmul.k.text());
    if (!isClean) return;
    const std::string d = difference((**results)[0], expected->results[0][0]);
    if (!d.empty()) RC_FAIL(d + "\n" + matmul.k.text());
  }));
  EXPECT_EQ(found[0], 0) << "kernels without a mistake";
  EXPECT_GT(clean, 10);
  for (size_t m = 1; m < found.size(); ++m) EXPECT_GT(found[m], 0) << "mistake " << m;
}

TEST(CheckedMatmul, HasTheGridOfUncheckedCode) {
  const Processor processor = *processorNamed("x86_64-linux-gnu/znver3");
  int partial = 0;
  EXPECT_TRUE(rc::check([&] {
    const RandomMatmul matmul(Mistake::none);
    const KernelPackage package = matmul.k.package();
    const auto checked = withChecks(package);
    RC_ASSERT(bool(checked));
    RC_ASSERT(checked->shadowed.empty());
    const auto with = runRewritePasses(checked->package, {processor, 1}),
               without = runRewritePasses(package, {processor, 1});
    RC_ASSERT(with.has_value() == without.has_value());
    if (with) RC_ASSERT(with->signature.grid == without->signature.grid);
    partial += matmul.isPartial();
  }));
  EXPECT_GT(partial, 10);
}

}  // namespace
}  // namespace smalti::cpu::testing
