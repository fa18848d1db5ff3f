// tpu.conv: its attributes reach the evaluator, and masks follow.
#include <fmt/format.h>

#include "Harness.h"

namespace smalti::machine::test {
namespace {

class Conv : public Kernel {
 protected:
  /// A window of 2 moves over 4 positions of one feature; `padding` and the rest of the attributes vary.
  static std::string conv(int positions, const std::string& padding, const std::string& more = "",
                          const std::string& dtype = "f32", const std::string& sums = "f32") {
    const auto load = [&](const char* name, int ref, const std::string& type) {
      return fmt::format("%{0} = vector.load %{1}[%i, %i, %i] : memref<{2}, #tpu.memory_space<vmem>>, vector<{2}>\n",
                         name, ref, type);
    };
    const std::string lhs = "1x4x1x" + dtype, rhs = "2x1x1x" + dtype, out = fmt::format("1x{}x1x{}", positions, sums);
    return "%i = arith.constant 0 : index\n" + load("a", 0, lhs) + load("b", 1, rhs) + load("z", 2, out) +
           fmt::format(
               "%r = tpu.conv %a, %b, %z {{dimension_numbers = #tpu.conv_dimension_numbers<0, 2, [1], 1, 2, [0], 0, 2, "
               "[1]>, window_strides = array<i64: 1>, padding = array<i64: {}>, lhs_dilation = array<i64: 1>, "
               "rhs_dilation = array<i64: 1>, window_reversal = array<i1: false>{}}} : vector<{}>, vector<{}>, "
               "vector<{}> -> vector<{}>\n",
               padding, more, lhs, rhs, out, out) +
           fmt::format("vector.store %r, %2[%i, %i, %i] : memref<{0}, #tpu.memory_space<vmem>>, vector<{0}>\n", out);
  }
};

TEST_F(Conv, WindowsMoveOverThePaddedLhs) {
  buffer(DType::f32, {1, 4, 1}, {1, 2, 3, 4});
  buffer(DType::f32, {2, 1, 1}, {10, 1});
  buffer(DType::f32, {1, 5, 1}, {100});
  run(conv(5, "1, 1"));
  EXPECT_EQ(out(2), (std::vector<double>{101, 112, 123, 134, 140}));
}

TEST_F(Conv, NegativePaddingTakesAway) {
  buffer(DType::f32, {1, 4, 1}, {1, 2, 3, 4});
  buffer(DType::f32, {2, 1, 1}, {10, 1});
  buffer(DType::f32, {1, 1, 1}, {0});
  run(conv(1, "-1, -1"));
  EXPECT_EQ(out(2), (std::vector<double>{23}));
}

TEST_F(Conv, NarrowIntegersAccumulateIn32Bits) {
  buffer(DType::i8, {1, 4, 1}, {100, 100, -100, -100});
  buffer(DType::i8, {2, 1, 1}, {100, 100});
  buffer(DType::i32, {1, 3, 1}, {1});
  run(conv(3, "0, 0", "", "i8", "i32"));
  EXPECT_EQ(out(2), (std::vector<double>{20001, 1, -19999}));
}

TEST_F(Conv, TpuNumericsRoundOperandsUnlessHighest) {
  buffer(DType::f32, {1, 4, 1}, {1.00390625});  // rounds to 1 in bf16
  buffer(DType::f32, {2, 1, 1}, {1, 0});
  buffer(DType::f32, {1, 3, 1}, {0});
  options.tpuNumerics = true;
  run(conv(3, "0, 0"));
  EXPECT_EQ(out(2), (std::vector<double>{1, 1, 1}));
  buffers.back() = makeBuffer("z", DType::f32, {1, 3, 1}, {0});
  run(conv(3, "0, 0", ", precision = #tpu.contract_precision<fp32>"));
  EXPECT_EQ(out(2), (std::vector<double>{1.00390625, 1.00390625, 1.00390625}));
}

TEST_F(Conv, AnUndefinedElementSpoilsTheWindowsThatSeeIt) {
  Buffer& a = buffer(DType::f32, {1, 4, 1}, {1, 2, 3, 4});
  a.allDefined = false;
  a.defined = {0, 1, 1, 1};
  buffer(DType::f32, {2, 1, 1}, {10, 1});
  buffer(DType::f32, {1, 5, 1}, {0});
  run(conv(5, "1, 1"));
  EXPECT_EQ(defined(2), (std::vector<int>{0, 0, 1, 1, 1}));
}

TEST_F(Conv, AnUndefinedAccumulatorSpoilsItsElement) {
  buffer(DType::f32, {1, 4, 1}, {1, 2, 3, 4});
  buffer(DType::f32, {2, 1, 1}, {10, 1});
  Buffer& acc = buffer(DType::f32, {1, 3, 1}, {0});
  acc.allDefined = false;
  acc.defined = {1, 0, 1};
  run(conv(3, "0, 0"));
  EXPECT_EQ(defined(2), (std::vector<int>{1, 0, 1}));
}

TEST_F(Conv, DtypesWithoutAProductAreRefused) {
  buffer(DType::pred, {1, 4, 1}, {1});
  buffer(DType::pred, {2, 1, 1}, {1});
  buffer(DType::i32, {1, 3, 1}, {0});
  EXPECT_EQ(failure(conv(3, "0, 0", "", "i1", "i32")), "SM4001");
  EXPECT_EQ(diagnostic.message,
            "the machine cannot run tpu.conv (vector<1x4x1xi1>, vector<2x1x1xi1>, vector<1x3x1xi32>) -> "
            "vector<1x3x1xi32>: there is no product of these dtypes");
}

}  // namespace
}  // namespace smalti::machine::test
