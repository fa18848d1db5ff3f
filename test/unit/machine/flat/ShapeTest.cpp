// Ops that move elements; masks move with them.
#include <cmath>

#include "Harness.h"

namespace smalti::machine::test {
namespace {

class Shapes : public Kernel {
 protected:
  /// Loads %0 (and %1 when there are three refs) whole as %a, %b; stores %r to the last ref.
  void through(const std::string& body) {
    const auto load = [&](size_t k, const char* name) {
      return "%" + std::string(name) + " = vector.load %" + std::to_string(k) + indices(k) + " : " + memref(k) + ", " +
             vec(k) + "\n";
    };
    const size_t last = buffers.size() - 1;
    std::string text = "%c = arith.constant 0 : index\n" + load(0, "a");
    if (last > 1) text += load(1, "b");
    text += body + "\nvector.store %r, %" + std::to_string(last) + indices(last) + " : " + memref(last) + ", " +
            vec(last) + "\n";
    run(text);
  }
  std::string dims(size_t k) const {
    std::string s;
    for (int64_t d : buffers[k]->type.shape) s += std::to_string(d) + "x";
    return s + std::string(name(signless(buffers[k]->type.dtype)));
  }
  std::string memref(size_t k) const { return "memref<" + dims(k) + ", #tpu.memory_space<vmem>>"; }
  std::string vec(size_t k) const { return "vector<" + dims(k) + ">"; }
  std::string indices(size_t k) const {
    std::string s;
    for (size_t d = 0; d < buffers[k]->type.shape.size(); ++d) s += s.empty() ? "%c" : ", %c";
    return "[" + s + "]";
  }
  Buffer& partly(DType dtype, Shape shape, std::vector<double> values, std::vector<uint8_t> mask) {
    Buffer& b = buffer(dtype, std::move(shape), std::move(values));
    b.allDefined = false;
    b.defined = std::move(mask);
    return b;
  }
};

TEST_F(Shapes, SE15_TransposeMovesElementsAndMasks) {
  partly(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}, {1, 0, 1, 1, 1, 1});
  buffer(DType::f32, {3, 2});
  through(R"(%r = "tpu.transpose"(%a) <{permutation = array<i64: 1, 0>}> : (vector<2x3xf32>) -> vector<3x2xf32>)");
  EXPECT_EQ(out(1), (std::vector<double>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(defined(1), (std::vector<int>{1, 1, 0, 1, 1, 1}));
}

TEST_F(Shapes, BroadcastRepeatsRowsAndColumns) {
  partly(DType::f32, {2, 1}, {1, 2}, {1, 0});
  buffer(DType::f32, {2, 3});
  through("%r = vector.broadcast %a : vector<2x1xf32> to vector<2x3xf32>");
  EXPECT_EQ(out(1), (std::vector<double>{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(defined(1), (std::vector<int>{1, 1, 1, 0, 0, 0}));
}

TEST_F(Shapes, ASingleElementBroadcastsAsASplat) {
  partly(DType::f32, {1, 1}, {7}, {0});
  buffer(DType::f32, {2, 3});
  through("%r = vector.broadcast %a : vector<1x1xf32> to vector<2x3xf32>");
  EXPECT_EQ(out(1), (std::vector<double>(6, 7)));
  EXPECT_EQ(defined(1), (std::vector<int>(6, 0)));
}

TEST_F(Shapes, SE14_ReshapesKeepTheOrderOfElements) {
  buffer(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  buffer(DType::f32, {6});
  through("%r = vector.shape_cast %a : vector<2x3xf32> to vector<6xf32>");
  EXPECT_EQ(out(1), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST_F(Shapes, SE14_IotaCountsAlongItsDimension) {
  buffer(DType::i32, {2, 3}, {0});
  buffer(DType::i32, {2, 3});
  through(R"(%r = "tpu.iota"() <{dimensions = array<i32: 1>}> : () -> vector<2x3xi32>)");
  EXPECT_EQ(out(1), (std::vector<double>{0, 1, 2, 0, 1, 2}));
}

TEST_F(Shapes, ConcatenateJoinsAlongADimension) {
  buffer(DType::f32, {2, 1}, {1, 2});
  partly(DType::f32, {2, 2}, {3, 4, 5, 6}, {1, 1, 0, 1});
  buffer(DType::f32, {2, 3});
  through(
      R"(%r = "tpu.concatenate"(%a, %b) <{dimension = 1 : i32}> : (vector<2x1xf32>, vector<2x2xf32>) -> vector<2x3xf32>)");
  EXPECT_EQ(out(2), (std::vector<double>{1, 3, 4, 2, 5, 6}));
  EXPECT_EQ(defined(2), (std::vector<int>{1, 1, 1, 1, 0, 1}));
}

TEST_F(Shapes, SE16_RollMovesUpAndStridesPerRow) {
  partly(DType::f32, {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}, {1, 1, 1, 0, 1, 1, 1, 1});
  buffer(DType::f32, {2, 4});
  through(R"(%one = arith.constant 1 : i32
    %r = "tpu.dynamic_rotate"(%a, %one) <{dimension = 1 : si32, stride = 1 : si32, stride_dimension = 0 : si32}> : (vector<2x4xf32>, i32) -> vector<2x4xf32>)");
  EXPECT_EQ(out(1), (std::vector<double>{3, 0, 1, 2, 6, 7, 4, 5}));
  EXPECT_EQ(defined(1), (std::vector<int>{0, 1, 1, 1, 1, 1, 1, 1}));
}

TEST_F(Shapes, SE17_GatherTakesAlongAnAxis) {
  partly(DType::f32, {1, 4}, {10, 11, 12, 13}, {1, 1, 0, 1});
  buffer(DType::i32, {1, 4}, {3, 2, 1, 0});
  buffer(DType::f32, {1, 4});
  through(
      R"(%r = "tpu.dynamic_gather"(%a, %b) <{dimensions = array<i32: 1>}> : (vector<1x4xf32>, vector<1x4xi32>) -> vector<1x4xf32>)");
  EXPECT_EQ(out(2), (std::vector<double>{13, 12, 11, 10}));
  EXPECT_EQ(defined(2), (std::vector<int>{1, 0, 1, 1}));
}

TEST_F(Shapes, SlicesOfValuesAreTakenAndPutBack) {
  partly(DType::f32, {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}, {1, 1, 0, 1, 1, 1, 1, 1});
  buffer(DType::f32, {2, 4});
  through(
      R"(%s = vector.extract_strided_slice %a {offsets = [0, 1], sizes = [2, 2], strides = [1, 1]} : vector<2x4xf32> to vector<2x2xf32>
    %z = arith.constant dense<0.0> : vector<2x4xf32>
    %r = vector.insert_strided_slice %s, %z {offsets = [0, 2], strides = [1, 1]} : vector<2x2xf32> into vector<2x4xf32>)");
  EXPECT_EQ(out(1), (std::vector<double>{0, 0, 1, 2, 0, 0, 5, 6}));
  EXPECT_EQ(defined(1), (std::vector<int>{1, 1, 1, 0, 1, 1, 1, 1}));
}

TEST_F(Shapes, ExtractAndInsertTakeDynamicPositions) {
  scalars = {1};
  partly(DType::f32, {2, 2}, {1, 2, 3, 4}, {1, 1, 1, 0});
  buffer(DType::f32, {2, 2});
  through(R"(%i = arith.index_cast %i0 : i32 to index
    %row = vector.extract %a[%i] : vector<2xf32> from vector<2x2xf32>
    %x = vector.extract %a[0, %i] : f32 from vector<2x2xf32>
    %b = vector.insert %row, %a[0] : vector<2xf32> into vector<2x2xf32>
    %r = vector.insert %x, %b[%i, 1] : f32 into vector<2x2xf32>)");
  EXPECT_EQ(out(1), (std::vector<double>{3, 4, 3, 2}));
  EXPECT_EQ(defined(1), (std::vector<int>{1, 0, 1, 1}));
}

TEST_F(Shapes, PositionsOutsideOfAVectorAreRefused) {
  scalars = {2};
  buffer(DType::f32, {2}, {1, 2});
  EXPECT_EQ(failure(R"(%c = arith.constant 0 : index
    %a = vector.load %0[%c] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
    %i = arith.index_cast %i0 : i32 to index
    %x = vector.extract %a[%i] : f32 from vector<2xf32>
    %y = vector.broadcast %x : f32 to vector<2xf32>
    vector.store %y, %0[%c] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
  )"),
            "SM4014");
}

TEST_F(Shapes, VectorsAreMadeFromElements) {
  buffer(DType::f32, {2}, {1, 2});
  buffer(DType::f32, {4});
  through(R"(%x = vector.extract %a[0] : f32 from vector<2xf32>
    %y = vector.extract %a[1] : f32 from vector<2xf32>
    %r = vector.from_elements %y, %x, %x, %y : vector<4xf32>)");
  EXPECT_EQ(out(1), (std::vector<double>{2, 1, 1, 2}));
}

TEST_F(Shapes, SD8_ABitcastToWiderWordsNeedsAllPartsDefined) {
  partly(DType::i16, {2, 2}, {1, 2, 3, 4}, {1, 1, 0, 1});
  buffer(DType::i32, {1, 2});
  through(R"(%r = "tpu.bitcast"(%a) : (vector<2x2xi16>) -> vector<1x2xi32>)");
  EXPECT_EQ(out(1), (std::vector<double>{1 + 3 * 65536, 2 + 4 * 65536}));
  EXPECT_EQ(defined(1), (std::vector<int>{0, 1}));
}

TEST_F(Shapes, SE18_PackingPutsTheFirstSourceLow) {
  buffer(DType::i32, {2}, {1, 2});
  buffer(DType::i32, {2}, {3, 4});
  buffer(DType::i32, {2});
  through(R"(%p = "tpu.pack_elementwise"(%a, %b) <{target_type = i16}> : (vector<2xi32>, vector<2xi32>) -> vector<2xi32>
    %u = "tpu.unpack_elementwise"(%p) <{index = 1 : i32, source_type = i16}> : (vector<2xi32>) -> vector<2xi32>
    %r = arith.addi %p, %u : vector<2xi32>)");
  EXPECT_EQ(out(2), (std::vector<double>{1 + 3 * 65536 + 3, 2 + 4 * 65536 + 4}));
}

TEST_F(Shapes, SE19_StochasticRoundingIsDeterministicGivenItsBits) {
  buffer(DType::f32, {2}, {1.00390625, 1.00390625});
  buffer(DType::i32, {2}, {0, 65535});
  buffer(DType::bf16, {2});
  through(R"(%r = "tpu.stochastic_convert"(%a, %b) : (vector<2xf32>, vector<2xi32>) -> vector<2xbf16>)");
  EXPECT_EQ(out(2), (std::vector<double>{1, 1.0078125}));
}

TEST_F(Shapes, SE7_ReductionsPropagateNaNAndMasks) {
  partly(DType::f32, {2, 3}, {1, NAN, 3, 4, 5, 6}, {1, 1, 1, 1, 0, 1});
  buffer(DType::f32, {2});
  through(R"(%acc = arith.constant dense<0xFF800000> : vector<2xf32>
    %r = vector.multi_reduction <maximumf>, %a, %acc [1] : vector<2x3xf32> to vector<2xf32>)");
  EXPECT_TRUE(std::isnan(out(1)[0]));
  EXPECT_EQ(out(1)[1], 6);
  EXPECT_EQ(defined(1), (std::vector<int>{1, 0}));
}

TEST_F(Shapes, FullReductionsGiveScalars) {
  buffer(DType::f32, {2, 2}, {1, 2, 3, 4});
  buffer(DType::f32, {1});
  through(R"(%x = vector.shape_cast %a : vector<2x2xf32> to vector<1x2x2xf32>
    %acc = arith.constant dense<0.0> : vector<1xf32>
    %s = vector.multi_reduction <add>, %x, %acc [1, 2] : vector<1x2x2xf32> to vector<1xf32>
    %t = vector.shape_cast %s : vector<1xf32> to vector<1x1x1xf32>
    %e = vector.extract %t[0, 0, 0] : f32 from vector<1x1x1xf32>
    %r = vector.broadcast %e : f32 to vector<1xf32>)");
  EXPECT_EQ(out(1), (std::vector<double>{10}));
}

TEST_F(Shapes, SE13_ArgmaxGivesTheFirstOfEqualValues) {
  buffer(DType::f32, {2, 3}, {1, 5, 5, NAN, 2, NAN});
  buffer(DType::i32, {2});
  through(
      R"(%r = "tpu.reduce_index"(%a) <{axis = 1 : i32, kind = #tpu.reduction_kind<arg_max>}> : (vector<2x3xf32>) -> vector<2xi32>)");
  EXPECT_EQ(out(1), (std::vector<double>{1, 0}));
}

TEST_F(Shapes, SL2_RandomBitsComeFromTheCore) {
  scalars = {40};
  buffer(DType::i32, {1, 2}, {0});
  buffer(DType::i32, {1, 2});
  through(R"("tpu.prng_set_seed_32"(%i0, %i0) : (i32, i32) -> ()
    %r = "tpu.prng_random_bits"() : () -> vector<1x2xi32>)");
  EXPECT_EQ(core.seed, (std::vector<int32_t>{40, 40}));
  EXPECT_EQ(out(1), (std::vector<double>{40, 41}));
}

}  // namespace
}  // namespace smalti::machine::test
