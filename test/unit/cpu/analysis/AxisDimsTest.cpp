// Which grid axes may have blocks of another size.
#include "cpu/analysis/AxisDims.h"

#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../../machine/runtime/TextKernel.h"

namespace smalti::cpu {
namespace {

using machine::testing::TextKernel;
using machine::testing::Val;

constexpr const char* kVector = "vector<8x128xf32>";

/// o = body(x) of [32, 256] in blocks of 8 x 128; whether the rows' and the columns' axis are free.
std::pair<bool, bool> freeAxes(const std::function<Val(TextKernel&, Val)>& body, const std::string& map = "%i, %j") {
  TextKernel k({4, 2}, "parallel,parallel");
  const Val x = k.input({.array = {32, 256}, .block = {8, 128}, .map = map});
  const Val o = k.output({.array = {32, 256}, .block = {8, 128}, .map = "%i, %j"});
  k.store(body(k, k.load(x)), o);
  const auto dims = AxisDims::of(k.package());
  EXPECT_TRUE(dims.has_value());
  return {dims && dims->free(0), dims && dims->free(1)};
}
constexpr std::pair kBoth{true, true}, kRows{true, false}, kColumns{false, true};

TEST(AxisDims, ElementwiseAxesAreFree) {
  EXPECT_EQ(freeAxes([](TextKernel& k, Val v) { return k.binary("arith.addf", v, v); }), kBoth);
}

TEST(AxisDims, AnAxisWhoseIndexIsUsedIsNotFree) {
  const auto adds = [](int axis) {
    return [=](TextKernel& k, Val v) { return k.binary("arith.addf", v, k.splat(k.toFloat(k.id(axis)), {8, 128})); };
  };
  EXPECT_EQ(freeAxes(adds(0)), kColumns);
  EXPECT_EQ(freeAxes(adds(1)), kRows);
}

TEST(AxisDims, AReducedAxisIsNotFree) {
  EXPECT_EQ(freeAxes([](TextKernel& k, Val v) {
              const Val zero = k.fresh("vector<8xf32>"), sum = k.fresh("vector<8xf32>"),
                        up = k.fresh("vector<8x1xf32>"), wide = k.fresh(kVector);
              k.raw(fmt::format("{} = arith.constant dense<0.0> : vector<8xf32>", zero.name));
              k.raw(fmt::format("{} = vector.multi_reduction <add>, {}, {} [1] : {} to vector<8xf32>", sum.name, v.name,
                                zero.name, kVector));
              k.raw(fmt::format("{} = vector.shape_cast {} : vector<8xf32> to vector<8x1xf32>", up.name, sum.name));
              k.raw(fmt::format("{} = vector.broadcast {} : vector<8x1xf32> to {}", wide.name, up.name, kVector));
              return wide;
            }),
            kRows);
}

TEST(AxisDims, PlacesInABlockAreFixed) {
  const auto counts = [](int dimension) {
    return [=](TextKernel& k, Val v) {
      const Val at = k.fresh("vector<8x128xi32>"), real = k.fresh(kVector);
      k.raw(fmt::format("{} = tpu.iota {{dimensions = array<i32: {}>}} : {}", at.name, dimension, at.type));
      k.raw(fmt::format("{} = arith.sitofp {} : {} to {}", real.name, at.name, at.type, kVector));
      return k.binary("arith.addf", v, real);
    };
  };
  EXPECT_EQ(freeAxes(counts(0)), kColumns);
  EXPECT_EQ(freeAxes(counts(1)), kRows);
}

TEST(AxisDims, AnAxisThatMeetsAFixedBlockIsNotFree) {
  EXPECT_EQ(freeAxes([](TextKernel&, Val v) { return v; }, "%i, %c0"), kRows);
  EXPECT_EQ(freeAxes([](TextKernel&, Val v) { return v; }, "%c0, %j"), kColumns);
}

}  // namespace
}  // namespace smalti::cpu
