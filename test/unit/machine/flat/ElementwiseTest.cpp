// Element-wise ops: values, splats, and which elements stay defined.
#include <cmath>

#include <fmt/format.h>

#include "Harness.h"

namespace smalti::machine::test {
namespace {

class Elementwise : public Kernel {
 protected:
  /// Loads the first buffers as %a, %b, …, computes, and stores `results` to the last ones.
  void compute(const std::string& body, const std::vector<std::string>& results = {"%r"}) {
    const auto typesOf = [&](size_t k) {
      const std::string elements = fmt::format("{}x{}", buffers[k]->type.elements(), name(buffers[k]->type.dtype));
      return fmt::format("memref<{0}, #tpu.memory_space<vmem>>, vector<{0}>", elements);
    };
    const size_t inputs = buffers.size() - results.size();
    std::string text = "%c = arith.constant 0 : index\n";
    for (size_t k = 0; k < inputs; ++k)
      text += fmt::format("%{} = vector.load %{}[%c] : {}\n", "abc"[k], k, typesOf(k));
    text += body;
    for (size_t k = 0; k < results.size(); ++k)
      text += fmt::format("vector.store {}, %{}[%c] : {}\n", results[k], inputs + k, typesOf(inputs + k));
    run(text);
  }
};

TEST_F(Elementwise, AddsTwoVectorsInPlaceOfNothing) {
  buffer(DType::f32, {4}, {1, 2, 3, 4});
  buffer(DType::f32, {4}, {10, 20, 30, 40});
  buffer(DType::f32, {4});
  run(R"(
    %c = arith.constant 0 : index
    %a = vector.load %0[%c] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
    %b = vector.load %1[%c] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
    %s = arith.addf %a, %b : vector<4xf32>
    %old = vector.load %2[%c] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
    vector.store %s, %2[%c] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
  )");
  EXPECT_EQ(out(2), (std::vector<double>{11, 22, 33, 44}));
  EXPECT_EQ(out(0), (std::vector<double>{1, 2, 3, 4}));  // loads are views: they must not be written to
  EXPECT_EQ(defined(2), (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(core.recorder.undefinedUses.size(), 0u);  // the dead load of the old value is not a finding
}

TEST_F(Elementwise, SplatsCombineWithVectorsOnEitherSide) {
  buffer(DType::i32, {3}, {1, 2, 3});
  buffer(DType::i32, {3});
  compute(R"(
    %ten = arith.constant dense<10> : vector<3xi32>
    %two = arith.constant 2 : i32
    %twos = vector.broadcast %two : i32 to vector<3xi32>
    %d = arith.subi %ten, %a : vector<3xi32>
    %m = arith.muli %d, %twos : vector<3xi32>
    %s = arith.addi %ten, %twos : vector<3xi32>
    %r = arith.addi %m, %s : vector<3xi32>
  )");
  EXPECT_EQ(out(1), (std::vector<double>{30, 28, 26}));
}

TEST_F(Elementwise, AResultIsDefinedWhereItsOperandsAre) {
  Buffer& a = buffer(DType::f32, {4}, {1, 2, 3, 4});
  a.allDefined = false;
  a.defined = {1, 0, 1, 1};
  Buffer& b = buffer(DType::f32, {4}, {1, 1, 1, 1});
  b.allDefined = false;
  b.defined = {1, 1, 0, 1};
  buffer(DType::f32, {4});
  compute(R"(
    %s = arith.mulf %a, %b : vector<4xf32>
    %r = math.absf %s : vector<4xf32>
  )");
  EXPECT_EQ(defined(2), (std::vector<int>{1, 0, 0, 1}));
}

TEST_F(Elementwise, WithoutTrackingEverythingCountsAsDefined) {
  core.tracked = false;
  buffer(DType::i32, {2});
  buffer(DType::i32, {2}, {0});
  run(R"(
    %c = arith.constant 0 : index
    %a = vector.load %0[%c] : memref<2xi32, #tpu.memory_space<vmem>>, vector<2xi32>
    vector.store %a, %1[%c] : memref<2xi32, #tpu.memory_space<vmem>>, vector<2xi32>
  )");
  EXPECT_TRUE(buffers[1]->allDefined);
}

TEST_F(Elementwise, AnIotaMaskMakesAnEdgeDefined) {
  // jnp.where(iota < 2, x, 0) of an edge block whose second half was never filled.
  Buffer& a = buffer(DType::f32, {4}, {1, 2, NAN, NAN});
  a.allDefined = false;
  a.defined = {1, 1, 0, 0};
  buffer(DType::f32, {4});
  compute(R"(
    %i = "tpu.iota"() <{dimensions = array<i32: 0>}> : () -> vector<4xi32>
    %n = arith.constant dense<2> : vector<4xi32>
    %m = arith.cmpi slt, %i, %n : vector<4xi32>
    %z = arith.constant dense<0.0> : vector<4xf32>
    %r = arith.select %m, %a, %z : vector<4xi1>, vector<4xf32>
  )");
  EXPECT_EQ(out(1), (std::vector<double>{1, 2, 0, 0}));
  EXPECT_EQ(defined(1), (std::vector<int>{1, 1, 1, 1}));
}

TEST_F(Elementwise, SelectByAScalarPicksAWholeVector) {
  scalars = {1};
  buffer(DType::f32, {3}, {1, 2, 3});
  buffer(DType::f32, {3});
  compute(R"(
    %one = arith.constant 1 : i32
    %p = arith.cmpi eq, %i0, %one : i32
    %z = arith.constant dense<0.0> : vector<3xf32>
    %r = arith.select %p, %a, %z : vector<3xf32>
  )");
  EXPECT_EQ(out(1), (std::vector<double>{1, 2, 3}));
}

TEST_F(Elementwise, SE10_ConversionsTruncateRoundAndSaturate) {
  buffer(DType::f32, {4}, {1.7, -1.7, 300.4, 1.00390625});
  buffer(DType::i8, {4});
  buffer(DType::bf16, {4});
  compute(R"(
    %i = arith.fptosi %a : vector<4xf32> to vector<4xi8>
    %b = arith.truncf %a : vector<4xf32> to vector<4xbf16>
  )",
          {"%i", "%b"});
  EXPECT_EQ(out(1), (std::vector<double>{1, -1, 127, 1}));
  EXPECT_EQ(out(2)[3], 1.0);  // halfway rounds to even
}

TEST_F(Elementwise, SE6_NotEqualIsTrueForNaN) {
  buffer(DType::f32, {3}, {1, NAN, 2});
  buffer(DType::i32, {3});
  compute(R"(
    %p = arith.cmpf one, %a, %a : vector<3xf32>
    %r = arith.extui %p : vector<3xi1> to vector<3xi32>
  )");
  EXPECT_EQ(out(1), (std::vector<double>{0, 1, 0}));
}

TEST_F(Elementwise, SE8_SE9_IntegerEdgesDoNotTrap) {
  buffer(DType::i32, {4}, {7, -7, -2147483648.0, 5});
  buffer(DType::i32, {4}, {0, 2, -1, 40});
  buffer(DType::i32, {4});
  buffer(DType::i32, {4});
  compute(R"(
    %q = arith.divsi %a, %b : vector<4xi32>
    %s = arith.shli %a, %b : vector<4xi32>
  )",
          {"%q", "%s"});
  EXPECT_EQ(out(2), (std::vector<double>{-1, -3, -2147483648.0, 0}));
  EXPECT_EQ(out(3), (std::vector<double>{7, -28, 0, 0}));
}

TEST_F(Elementwise, SE12_ApproximateReciprocalRoundsItsOperand) {
  buffer(DType::f32, {2}, {3, 1.00001});
  buffer(DType::f32, {2});
  compute(R"(
    %r = "tpu.reciprocal"(%a) <{approx = true, full_range = true}> : (vector<2xf32>) -> vector<2xf32>
  )");
  EXPECT_EQ(out(1)[1], 1.0);
}

TEST_F(Elementwise, UnknownOpsAreRefusedWithTheirTypes) {
  buffer(DType::f32, {4}, {1});
  EXPECT_EQ(failure(R"(
    %c = arith.constant 0 : index
    %a = vector.load %0[%c] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
    %b = vector.fma %a, %a, %a : vector<4xf32>
    vector.store %b, %0[%c] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
  )"),
            "SM4001");
  EXPECT_NE(diagnostic.message.find("vector.fma (vector<4xf32>"), std::string::npos) << diagnostic.message;
}

}  // namespace
}  // namespace smalti::machine::test
