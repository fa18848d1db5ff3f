// Loads, stores and views of refs.
#include <cmath>

#include "Harness.h"

namespace smalti::machine::test {
namespace {

using FlatMemory = Kernel;

TEST_F(FlatMemory, SD1_LoadsFromHbmAreRefused) {
  buffer(DType::f32, {8}, {1}, MemoryKind::any);
  EXPECT_EQ(failure(R"(
    %c = arith.constant 0 : index
    %a = vector.load %0[%c] : memref<8xf32, #tpu.memory_space<any>>, vector<8xf32>
  )"),
            "SM4002");
  EXPECT_NE(diagnostic.message.find("only allowed on VMEM and SMEM"), std::string::npos);
}

TEST_F(FlatMemory, SD2_SmemHoldsScalarsOnly) {
  buffer(DType::i32, {2, 2}, {1, 2, 3, 4}, MemoryKind::smem);
  run(R"(
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = memref.load %0[%c1, %c0] : memref<2x2xi32, #tpu.memory_space<smem>>
    %b = arith.addi %a, %a : i32
    memref.store %b, %0[%c0, %c1] : memref<2x2xi32, #tpu.memory_space<smem>>
  )");
  EXPECT_EQ(out(0), (std::vector<double>{1, 6, 3, 4}));
  EXPECT_EQ(failure(R"(
    %c0 = arith.constant 0 : index
    %a = vector.load %0[%c0, %c0] : memref<2x2xi32, #tpu.memory_space<smem>>, vector<1x2xi32>
  )"),
            "SM4003");
}

TEST_F(FlatMemory, SD3_StartsMayBeDynamic) {
  scalars = {3};
  buffer(DType::f32, {8, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  buffer(DType::f32, {2, 2});
  run(R"(
    %c = arith.constant 0 : index
    %i = arith.index_cast %i0 : i32 to index
    %a = vector.load %0[%i, %c] : memref<8x2xf32, #tpu.memory_space<vmem>>, vector<2x2xf32>
    "tpu.vector_store"(%a, %1, %c, %c) <{add = false, operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>}> : (vector<2x2xf32>, memref<2x2xf32, #tpu.memory_space<vmem>>, index, index) -> ()
  )");
  EXPECT_EQ(out(1), (std::vector<double>{6, 7, 8, 9}));
}

TEST_F(FlatMemory, SD4_AnIntegerIndexIsASliceOfOneAndAShapeCast) {
  buffer(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  buffer(DType::f32, {3});
  run(R"(
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = vector.load %0[%c1, %c0] : memref<2x3xf32, #tpu.memory_space<vmem>>, vector<1x3xf32>
    %b = vector.shape_cast %a : vector<1x3xf32> to vector<3xf32>
    vector.store %b, %1[%c0] : memref<3xf32, #tpu.memory_space<vmem>>, vector<3xf32>
  )");
  EXPECT_EQ(out(1), (std::vector<double>{4, 5, 6}));
}

TEST_F(FlatMemory, SD6_StridedSlicesCountElementsTakenAndStrideZeroReplicates) {
  buffer(DType::f32, {6}, {0, 1, 2, 3, 4, 5});
  buffer(DType::f32, {3});
  buffer(DType::f32, {3});
  buffer(DType::f32, {6}, {9});
  run(R"(
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = "tpu.strided_load"(%0, %c1) <{strides = array<i32: 2>}> : (memref<6xf32, #tpu.memory_space<vmem>>, index) -> vector<3xf32>
    %b = "tpu.strided_load"(%0, %c1) <{strides = array<i32: 0>}> : (memref<6xf32, #tpu.memory_space<vmem>>, index) -> vector<3xf32>
    vector.store %a, %1[%c0] : memref<3xf32, #tpu.memory_space<vmem>>, vector<3xf32>
    vector.store %b, %2[%c0] : memref<3xf32, #tpu.memory_space<vmem>>, vector<3xf32>
    "tpu.strided_store"(%a, %3, %c0) <{strides = array<i32: 2>}> : (vector<3xf32>, memref<6xf32, #tpu.memory_space<vmem>>, index) -> ()
  )");
  EXPECT_EQ(out(1), (std::vector<double>{1, 3, 5}));
  EXPECT_EQ(out(2), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(out(3), (std::vector<double>{1, 9, 3, 9, 5, 9}));
}

TEST_F(FlatMemory, SD7_ViewsComposeLeftToRight) {
  buffer(DType::f32, {4, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  buffer(DType::f32, {2});
  run(R"(
    %z = arith.constant 0 : index
    %s1 = arith.constant 1 : i32
    %s2 = arith.constant 2 : i32
    %a = "tpu.memref_slice"(%0, %s1, %s2) <{operandSegmentSizes = array<i32: 1, 2, 0>}> : (memref<4x4xf32, #tpu.memory_space<vmem>>, i32, i32) -> memref<3x2xf32, #tpu.memory_space<vmem>>
    %s0 = arith.constant 0 : i32
    %b = "tpu.memref_slice"(%a, %s1, %s0) <{operandSegmentSizes = array<i32: 1, 2, 0>}> : (memref<3x2xf32, #tpu.memory_space<vmem>>, i32, i32) -> memref<1x2xf32, #tpu.memory_space<vmem>>
    %c = "tpu.memref_squeeze"(%b) : (memref<1x2xf32, #tpu.memory_space<vmem>>) -> memref<2xf32, #tpu.memory_space<vmem>>
    %v = vector.load %c[%z] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
    vector.store %v, %1[%z] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
    %w = arith.negf %v : vector<2xf32>
    vector.store %w, %c[%z] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
  )");
  EXPECT_EQ(out(1), (std::vector<double>{10, 11}));
  EXPECT_EQ(out(0)[10], -10);
  EXPECT_EQ(out(0)[9], 9);
}

TEST_F(FlatMemory, SD7_ABitcastRefPacksPairsOfRowsLowHalfFirst) {
  buffer(DType::i16, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  buffer(DType::i32, {2, 2});
  run(R"(
    %z = arith.constant 0 : index
    %b = "tpu.memref_bitcast"(%0) : (memref<4x2xi16, #tpu.memory_space<vmem>>) -> memref<2x2xi32, #tpu.memory_space<vmem>>
    %v = vector.load %b[%z, %z] : memref<2x2xi32, #tpu.memory_space<vmem>>, vector<2x2xi32>
    vector.store %v, %1[%z, %z] : memref<2x2xi32, #tpu.memory_space<vmem>>, vector<2x2xi32>
    %one = arith.constant 1 : index
    %x = arith.constant dense<65537> : vector<1x1xi32>
    vector.store %x, %b[%one, %one] : memref<2x2xi32, #tpu.memory_space<vmem>>, vector<1x1xi32>
  )");
  EXPECT_EQ(out(1), (std::vector<double>{1 + 3 * 65536, 2 + 4 * 65536, 5 + 7 * 65536, 6 + 8 * 65536}));
  EXPECT_EQ(out(0), (std::vector<double>{1, 2, 3, 4, 5, 1, 7, 1}));
}

TEST_F(FlatMemory, SD7_AReshapedSliceIsNoStridedView) {
  // Rows of 2 out of 3 columns: reshaping them to one dimension is beyond strides.
  buffer(DType::f32, {2, 3}, {0, 1, 2, 3, 4, 5});
  buffer(DType::f32, {1, 4});
  run(R"(
    %z = arith.constant 0 : index
    %s0 = arith.constant 0 : i32
    %s1 = arith.constant 1 : i32
    %a = "tpu.memref_slice"(%0, %s0, %s1) <{operandSegmentSizes = array<i32: 1, 2, 0>}> : (memref<2x3xf32, #tpu.memory_space<vmem>>, i32, i32) -> memref<2x2xf32, #tpu.memory_space<vmem>>
    %b = "tpu.memref_reshape"(%a) : (memref<2x2xf32, #tpu.memory_space<vmem>>) -> memref<1x4xf32, #tpu.memory_space<vmem>>
    %v = vector.load %b[%z, %z] : memref<1x4xf32, #tpu.memory_space<vmem>>, vector<1x4xf32>
    vector.store %v, %1[%z, %z] : memref<1x4xf32, #tpu.memory_space<vmem>>, vector<1x4xf32>
    %n = arith.negf %v : vector<1x4xf32>
    vector.store %n, %b[%z, %z] : memref<1x4xf32, #tpu.memory_space<vmem>>, vector<1x4xf32>
  )");
  EXPECT_EQ(out(1), (std::vector<double>{1, 2, 4, 5}));
  EXPECT_EQ(out(0), (std::vector<double>{0, -1, -2, 3, -4, -5}));
}

TEST_F(FlatMemory, SD9_MaskedStoresLeaveTheRestAndMayReachOutside) {
  buffer(DType::f32, {4}, {1, 2, 3, 4});
  buffer(DType::i32, {4}, {0, 1, 1, 0});
  const std::string body = R"(
    %c0 = arith.constant 0 : index
    %at = arith.constant {} : index
    %m32 = vector.load %1[%c0] : memref<4xi32, #tpu.memory_space<vmem>>, vector<4xi32>
    %zero = arith.constant dense<0> : vector<4xi32>
    %m = arith.cmpi ne, %m32, %zero : vector<4xi32>
    %v = arith.constant dense<9.0> : vector<4xf32>
    "tpu.vector_store"(%v, %0, %at, %m) <{add = false, operandSegmentSizes = array<i32: 1, 1, 1, 1>, strides = array<i32>}> : (vector<4xf32>, memref<4xf32, #tpu.memory_space<vmem>>, index, vector<4xi1>) -> ()
  )";
  const auto at = [&](int k) {
    std::string s = body;
    return s.replace(s.find("{}"), 2, std::to_string(k));
  };
  run(at(0));
  EXPECT_EQ(out(0), (std::vector<double>{1, 9, 9, 4}));
  run(at(1));  // element 4 lies outside, but is not selected
  EXPECT_EQ(out(0), (std::vector<double>{1, 9, 9, 9}));
  EXPECT_EQ(failure(at(2)), "SM4010");
  EXPECT_TRUE(core.recorder.accesses.back().masked || true);
}

/// Stores nines at %at where buffer 1 is not 0. `target`: ref and indices, of `types`; `shape` is the vector's.
std::string maskedNines(int at, bool add, const std::string& prelude, const std::string& target,
                        const std::string& types, const std::string& shape) {
  return prelude + "%at = arith.constant " + std::to_string(at) + R"( : index
    %c0 = arith.constant 0 : index
    %m32 = vector.load %1[%c0] : memref<4xi32, #tpu.memory_space<vmem>>, vector<4xi32>
    %zero = arith.constant dense<0> : vector<4xi32>
    %flat = arith.cmpi ne, %m32, %zero : vector<4xi32>
    %m = vector.shape_cast %flat : vector<4xi1> to vector<)" +
         shape + "xi1>\n%v = arith.constant dense<9.0> : vector<" + shape + "xf32>\n\"tpu.vector_store\"(%v, " +
         target + ", %m) <{add = " + (add ? "true" : "false") + ", operandSegmentSizes = array<i32: 1, 1, " +
         (shape == "4" ? "1" : "2") + ", 1>, strides = array<i32>}> : (vector<" + shape + "xf32>, " + types +
         ", vector<" + shape + "xi1>) -> ()\n";
}

TEST_F(FlatMemory, SD9_MaskedStoresMayReachOutsideOfReshapedRefs) {
  buffer(DType::f32, {2, 3}, {0, 1, 2, 3, 4, 5});
  buffer(DType::i32, {4}, {0, 1, 1, 0});
  const std::string view = R"(
    %s0 = arith.constant 0 : i32
    %s1 = arith.constant 1 : i32
    %a = "tpu.memref_slice"(%0, %s0, %s1) <{operandSegmentSizes = array<i32: 1, 2, 0>}> : (memref<2x3xf32, #tpu.memory_space<vmem>>, i32, i32) -> memref<2x2xf32, #tpu.memory_space<vmem>>
    %b = "tpu.memref_reshape"(%a) : (memref<2x2xf32, #tpu.memory_space<vmem>>) -> memref<1x4xf32, #tpu.memory_space<vmem>>
  )";
  const std::string types = "memref<1x4xf32, #tpu.memory_space<vmem>>, index, index";
  const auto store = [&](int at, bool add) { return maskedNines(at, add, view, "%b, %c0, %at", types, "1x4"); };
  run(store(1, false));  // elements 2 and 3 of the view are chosen; the last of the vector lies outside
  EXPECT_EQ(out(0), (std::vector<double>{0, 1, 2, 3, 9, 9}));
  run(store(-1, true));  // elements 0 and 1
  EXPECT_EQ(out(0), (std::vector<double>{0, 10, 11, 3, 9, 9}));
  EXPECT_EQ(failure(store(2, false)), "SM4010");
  EXPECT_EQ(failure(store(-2, true)), "SM4010");
}

TEST_F(FlatMemory, SD9_MaskedStoresMayAddOverTheEdge) {
  buffer(DType::f32, {4}, {1, 2, 3, 4});
  buffer(DType::i32, {4}, {0, 1, 1, 0});
  run(maskedNines(1, true, "", "%0, %at", "memref<4xf32, #tpu.memory_space<vmem>>, index", "4"));
  EXPECT_EQ(out(0), (std::vector<double>{1, 2, 12, 13}));
}

TEST_F(FlatMemory, SD9_IndicesOfMaskedStoresMayBeAnything) {
  buffer(DType::f32, {2, 2}, {1, 2, 3, 4});
  buffer(DType::i32, {4}, {0, 0, 0, 0});
  for (const char* at : {"9223372036854775807", "-9223372036854775808"}) {
    std::string body =
        maskedNines(7, false, "", "%0, %at, %at", "memref<2x2xf32, #tpu.memory_space<vmem>>, index, index", "2x2");
    body.replace(body.find("constant 7") + 9, 1, at);
    run(body);
    EXPECT_EQ(out(0), (std::vector<double>{1, 2, 3, 4}));
    std::string chosen = body;
    chosen.replace(chosen.find("cmpi ne"), 7, "cmpi eq");
    EXPECT_EQ(failure(chosen), "SM4010");
  }
}

TEST_F(FlatMemory, SD9_AnUndefinedMaskSpoilsOnlyWhatItMayHaveStoredTo) {
  buffer(DType::f32, {2, 2}, {1, 2, 3, 4});
  buffer(DType::i32, {4});  // undefined
  std::string body =
      maskedNines(1, false, "", "%0, %c0, %at", "memref<2x2xf32, #tpu.memory_space<vmem>>, index, index", "2x2");
  body.replace(body.find("cmpi ne"), 7, "cmpi sgt");
  run(body);
  EXPECT_EQ(defined(0), (std::vector<int>{1, 0, 1, 0}));
}

TEST_F(FlatMemory, SD10_BooleansAreWordsInMemory) {
  buffer(DType::i32, {3}, {0, 1, 1});
  buffer(DType::i32, {3});
  run(R"(
    %c = arith.constant 0 : index
    %a = vector.load %0[%c] : memref<3xi32, #tpu.memory_space<vmem>>, vector<3xi32>
    %z = arith.constant dense<0> : vector<3xi32>
    %p = arith.cmpi ne, %a, %z : vector<3xi32>
    %t = arith.constant dense<true> : vector<3xi1>
    %n = arith.xori %p, %t : vector<3xi1>
    %i = arith.extui %n : vector<3xi1> to vector<3xi32>
    vector.store %i, %1[%c] : memref<3xi32, #tpu.memory_space<vmem>>, vector<3xi32>
  )");
  EXPECT_EQ(out(1), (std::vector<double>{1, 0, 0}));
}

TEST_F(FlatMemory, SD11_OutOfBoundsIsNamedWithNumbers) {
  scalars = {1020};
  buffer(DType::f32, {1024, 2}, {1});
  buffers[0]->name = "scratch 0";
  EXPECT_EQ(failure(R"(
    %z = arith.constant 0 : index
    %i = arith.index_cast %i0 : i32 to index
    %a = vector.load %0[%i, %z] : memref<1024x2xf32, #tpu.memory_space<vmem>>, vector<8x2xf32>
    vector.store %a, %0[%z, %z] : memref<1024x2xf32, #tpu.memory_space<vmem>>, vector<8x2xf32>
  )"),
            "SM4010");
  EXPECT_EQ(diagnostic.message, "out-of-bounds read: [1020..1027, 0..1] of 'scratch 0' (VMEM f32[1024,2])");
  EXPECT_EQ(diagnostic.need, "indices 0..1023 in dimension 0");
  EXPECT_EQ(diagnostic.have, "1020..1027");
}

TEST_F(FlatMemory, SD11_DeadLoadsStillCheckTheirBounds) {
  scalars = {-1};
  buffer(DType::f32, {4}, {1});
  EXPECT_EQ(failure(R"(
    %i = arith.index_cast %i0 : i32 to index
    %a = vector.load %0[%i] : memref<4xf32, #tpu.memory_space<vmem>>, vector<2xf32>
  )"),
            "SM4010");
}

/// Four elements of buffer 0 from `at` on, to buffer 1.
std::string moved(const std::string& at) {
  return "%at = arith.constant " + at + R"( : index
    %c0 = arith.constant 0 : index
    %v = vector.load %0[%at] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
    vector.store %v, %1[%c0] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
  )";
}

TEST_F(FlatMemory, SD11_ReadsOutsideMayGoOnWithUndefinedElements) {
  core.continues = true;
  struct Row {
    std::string at;
    std::vector<int> defined;
    double first;  ///< of those that are
  };
  for (const Row& row : {Row{"2", {1, 1, 0, 0}, 3}, Row{"-1", {0, 1, 1, 1}, 1}, Row{"4", {0, 0, 0, 0}, 0},
                         Row{"9223372036854775807", {0, 0, 0, 0}, 0}, Row{"-9223372036854775808", {0, 0, 0, 0}, 0}}) {
    buffers.clear();
    core.outside.clear();
    buffer(DType::f32, {4}, {1, 2, 3, 4});
    buffer(DType::f32, {4});
    run(moved(row.at));
    EXPECT_EQ(defined(1), row.defined) << row.at;
    double expected = row.first;
    for (size_t i = 0; i < 4; ++i)
      if (row.defined[i])
        EXPECT_EQ(out(1)[i], expected++) << row.at;
      else
        EXPECT_TRUE(std::isnan(out(1)[i])) << row.at;
    ASSERT_EQ(core.outside.size(), 1u);
    EXPECT_EQ(core.outside[0].code, "SM4010");
    EXPECT_EQ(core.outside[0].message,
              "out-of-bounds read of 'operand 0' (VMEM f32[4]): elements outside are undefined");
    EXPECT_EQ(core.outside[0].need, "indices 0..3 in dimension 0");
  }
}

TEST_F(FlatMemory, SD11_WritesOutsideNeverGoOn) {
  core.continues = true;
  buffer(DType::f32, {4}, {1, 2, 3, 4});
  buffer(DType::f32, {4});
  EXPECT_EQ(failure(R"(
    %at = arith.constant 2 : index
    %c0 = arith.constant 0 : index
    %v = vector.load %0[%c0] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
    vector.store %v, %1[%at] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
  )"),
            "SM4010");
}

TEST_F(FlatMemory, SD11_StridedReadsOutsideTakeWhatIsThere) {
  core.continues = true;
  buffer(DType::i32, {2, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  buffer(DType::i32, {2, 3});
  run(R"(
    %at = arith.constant -1 : index
    %c0 = arith.constant 0 : index
    %v = tpu.strided_load %0[%c0, %at] {strides = array<i32: 1, 3>} : memref<2x5xi32, #tpu.memory_space<vmem>>, vector<2x3xi32>
    vector.store %v, %1[%c0, %c0] : memref<2x3xi32, #tpu.memory_space<vmem>>, vector<2x3xi32>
  )");
  EXPECT_EQ(defined(1), (std::vector<int>{0, 1, 0, 0, 1, 0}));
  const double undefined = INT32_MIN;
  EXPECT_EQ(out(1), (std::vector<double>{undefined, 2, undefined, undefined, 7, undefined}));
}

TEST_F(FlatMemory, SD11_ScalarsOutsideAreUndefined) {
  core.continues = true;
  buffer(DType::i32, {4}, {1, 2, 3, 4}, MemoryKind::smem);
  buffer(DType::i32, {2}, {0, 0}, MemoryKind::smem);
  run(R"(
    %far = arith.constant 70 : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = memref.load %0[%far] : memref<4xi32, #tpu.memory_space<smem>>
    %b = memref.load %0[%c1] : memref<4xi32, #tpu.memory_space<smem>>
    memref.store %a, %1[%c0] : memref<2xi32, #tpu.memory_space<smem>>
    memref.store %b, %1[%c1] : memref<2xi32, #tpu.memory_space<smem>>
  )");
  EXPECT_EQ(out(1), (std::vector<double>{INT32_MIN, 2}));
  EXPECT_EQ(defined(1), (std::vector<int>{0, 1}));
}

/// Two rows of buffer 0 (three rows of two) from row %i0 on, as a slice that is read, to buffer 1.
const char* const kReadSlice = R"(
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %s = "tpu.memref_slice"(%0, %i0, %zero) <{operandSegmentSizes = array<i32: 1, 2, 0>}> : (memref<3x2xf32, #tpu.memory_space<vmem>>, i32, i32) -> memref<2x2xf32, #tpu.memory_space<vmem>>
  %v = vector.load %s[%c0, %c0] : memref<2x2xf32, #tpu.memory_space<vmem>>, vector<2x2xf32>
  vector.store %v, %1[%c0, %c0] : memref<2x2xf32, #tpu.memory_space<vmem>>, vector<2x2xf32>
)";

TEST_F(FlatMemory, SD11_SlicesThatAreOnlyReadMayReachOutside) {
  core.continues = true;
  for (const auto& [start, there] : {std::pair(2, 1), {3, 0}, {-1, 0}, {1, 2}}) {
    buffers.clear();
    core.outside.clear();
    scalars = {start};
    buffer(DType::f32, {3, 2}, {0, 1, 2, 3, 4, 5});
    buffer(DType::f32, {2, 2});
    run(kReadSlice);
    EXPECT_EQ(defined(1), (std::vector<int>{there > 0, there > 0, there > 1, there > 1})) << start;
    for (int i = 0; i < 2 * there; ++i) EXPECT_EQ(out(1)[static_cast<size_t>(i)], 2 * start + i);
    EXPECT_EQ(core.outside.size(), there < 2 ? 1u : 0u) << "the slice says it, its load does not say it again";
  }
  EXPECT_EQ(core.outside.size(), 0u);
  scalars = {2};
  std::string written(kReadSlice);
  written += "vector.store %v, %s[%c0, %c0] : memref<2x2xf32, #tpu.memory_space<vmem>>, vector<2x2xf32>\n";
  EXPECT_EQ(failure(written), "SM4010");
}

TEST_F(FlatMemory, SD11_ARowThatIsNotThereIsUndefined) {
  core.continues = true;
  scalars = {3};
  buffer(DType::f32, {3, 2}, {0, 1, 2, 3, 4, 5});
  buffer(DType::f32, {2});
  run(R"(
    %zero = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %s = "tpu.memref_slice"(%0, %i0, %zero) <{operandSegmentSizes = array<i32: 1, 2, 0>}> : (memref<3x2xf32, #tpu.memory_space<vmem>>, i32, i32) -> memref<1x2xf32, #tpu.memory_space<vmem>>
    %r = "tpu.memref_squeeze"(%s) : (memref<1x2xf32, #tpu.memory_space<vmem>>) -> memref<2xf32, #tpu.memory_space<vmem>>
    %v = vector.load %r[%c0] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
    vector.store %v, %1[%c0] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
  )");
  EXPECT_EQ(defined(1), (std::vector<int>{0, 0}));
}

TEST_F(FlatMemory, SD11_SlicesOutOfBoundsAreRefused) {
  scalars = {3, 126};  // past the end of the last tile
  buffer(DType::f32, {4}, {1}, MemoryKind::any);
  EXPECT_EQ(failure(R"(
    %a = "tpu.memref_slice"(%0, %i0, %i1) <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (memref<4xf32, #tpu.memory_space<any>>, i32, i32) -> memref<?xf32, #tpu.memory_space<any>>
  )"),
            "SM4010");
  EXPECT_EQ(diagnostic.have, "start 3, size 126");
}

TEST_F(FlatMemory, SD14_OnlyTheSelectedRefIsTouched) {
  scalars = {1};
  buffer(DType::f32, {2}, {1, 2});
  buffer(DType::f32, {2}, {3, 4});
  run(R"(
    %c = arith.constant 0 : index
    %one = arith.constant 1 : i32
    %p = arith.cmpi eq, %i0, %one : i32
    %r = arith.select %p, %1, %0 : memref<2xf32, #tpu.memory_space<vmem>>
    %v = vector.load %r[%c] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
    %n = arith.negf %v : vector<2xf32>
    vector.store %n, %r[%c] : memref<2xf32, #tpu.memory_space<vmem>>, vector<2xf32>
  )");
  EXPECT_EQ(out(0), (std::vector<double>{1, 2}));
  EXPECT_EQ(out(1), (std::vector<double>{-3, -4}));
  for (const auto& seen : core.recorder.accesses) EXPECT_EQ(seen.buffer, "operand 1");
}

TEST_F(FlatMemory, ALoadedValueSurvivesAStoreToItsMemory) {
  buffer(DType::f32, {4}, {1, 2, 3, 4});
  buffer(DType::f32, {4});
  run(R"(
    %c = arith.constant 0 : index
    %a = vector.load %0[%c] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
    %z = arith.constant dense<0.0> : vector<4xf32>
    vector.store %z, %0[%c] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
    vector.store %a, %1[%c] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
  )");
  EXPECT_EQ(out(0), (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(out(1), (std::vector<double>{1, 2, 3, 4}));
}

TEST_F(FlatMemory, OverlappingCopiesWithinOneRefReadBeforeTheyWrite) {
  buffer(DType::f32, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  run(R"(
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = vector.load %0[%c0, %c0] : memref<2x4xf32, #tpu.memory_space<vmem>>, vector<2x3xf32>
    vector.store %a, %0[%c0, %c1] : memref<2x4xf32, #tpu.memory_space<vmem>>, vector<2x3xf32>
    %b = vector.load %0[%c0, %c0] : memref<2x4xf32, #tpu.memory_space<vmem>>, vector<1x3xf32>
    vector.store %b, %0[%c0, %c1] : memref<2x4xf32, #tpu.memory_space<vmem>>, vector<1x3xf32>
  )");
  EXPECT_EQ(out(0), (std::vector<double>{1, 1, 1, 2, 5, 5, 6, 7}));
}

TEST_F(FlatMemory, AStoredResultMayBeComputedOverWhatItReads) {
  // 2048 elements: worth computing in the store's memory. The second operand lies across the target.
  std::vector<double> numbers(2049);
  for (size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<double>(k);
  buffer(DType::f32, {2049}, numbers);
  run(R"(
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = vector.load %0[%c0] : memref<2049xf32, #tpu.memory_space<vmem>>, vector<2048xf32>
    %b = arith.addf %a, %a : vector<2048xf32>
    %old = vector.load %0[%c0] : memref<2049xf32, #tpu.memory_space<vmem>>, vector<2048xf32>
    vector.store %b, %0[%c0] : memref<2049xf32, #tpu.memory_space<vmem>>, vector<2048xf32>
    %x = vector.load %0[%c0] : memref<2049xf32, #tpu.memory_space<vmem>>, vector<2048xf32>
    %y = vector.load %0[%c1] : memref<2049xf32, #tpu.memory_space<vmem>>, vector<2048xf32>
    %z = arith.addf %x, %y : vector<2048xf32>
    %w = vector.shape_cast %z : vector<2048xf32> to vector<2048xf32>
    vector.store %w, %0[%c1] : memref<2049xf32, #tpu.memory_space<vmem>>, vector<2048xf32>
  )");
  EXPECT_EQ(out(0)[0], 0);
  for (size_t k = 1; k < 2048; ++k)
    ASSERT_EQ(out(0)[k], 2.0 * static_cast<double>(k - 1) + 2.0 * static_cast<double>(k));
  EXPECT_EQ(out(0)[2048], 2.0 * 2047 + 2048);
}

TEST_F(FlatMemory, StoresMayAdd) {
  buffer(DType::f32, {4}, {1, 2, 3, 4});
  run(R"(
    %c = arith.constant 0 : index
    %a = arith.constant dense<10.0> : vector<4xf32>
    "tpu.vector_store"(%a, %0, %c) <{add = true, operandSegmentSizes = array<i32: 1, 1, 1, 0>, strides = array<i32>}> : (vector<4xf32>, memref<4xf32, #tpu.memory_space<vmem>>, index) -> ()
  )");
  EXPECT_EQ(out(0), (std::vector<double>{11, 12, 13, 14}));
}

TEST_F(FlatMemory, NarrowUnsignedArraysAreReadAsTheirBits) {
  buffer(DType::u4, {3}, {15, 7, 8});
  buffer(DType::i32, {3});
  buffer(DType::u4, {3}, {0});
  run(R"(
    %c = arith.constant 0 : index
    %a = vector.load %0[%c] : memref<3xi4, #tpu.memory_space<vmem>>, vector<3xi4>
    %s = arith.extsi %a : vector<3xi4> to vector<3xi32>
    vector.store %s, %1[%c] : memref<3xi32, #tpu.memory_space<vmem>>, vector<3xi32>
    vector.store %a, %2[%c] : memref<3xi4, #tpu.memory_space<vmem>>, vector<3xi4>
  )");
  EXPECT_EQ(out(1), (std::vector<double>{-1, 7, -8}));
  EXPECT_EQ(out(2), (std::vector<double>{15, 7, 8}));
}

TEST_F(FlatMemory, AnUndefinedIndexIsReportedToTheObserver) {
  buffer(DType::i32, {1}, {}, MemoryKind::smem);
  buffer(DType::f32, {4}, {1});
  EXPECT_EQ(failure(R"(
    %c = arith.constant 0 : index
    %a = memref.load %0[%c] : memref<1xi32, #tpu.memory_space<smem>>
    %i = arith.index_cast %a : i32 to index
    %v = vector.load %1[%i] : memref<4xf32, #tpu.memory_space<vmem>>, vector<1xf32>
    vector.store %v, %1[%c] : memref<4xf32, #tpu.memory_space<vmem>>, vector<1xf32>
  )"),
            "SM4010");
  ASSERT_EQ(core.recorder.undefinedUses.size(), 1u);
  EXPECT_EQ(core.recorder.undefinedUses[0].first, UndefinedUse::address);
}

TEST_F(FlatMemory, ObserversSeeRangesOfWhatIsUsed) {
  buffer(DType::f32, {4, 4}, {1});
  run(R"(
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = vector.load %0[%c1, %c0] : memref<4x4xf32, #tpu.memory_space<vmem>>, vector<2x4xf32>
    %dead = vector.load %0[%c0, %c0] : memref<4x4xf32, #tpu.memory_space<vmem>>, vector<2x4xf32>
    vector.store %a, %0[%c0, %c0] : memref<4x4xf32, #tpu.memory_space<vmem>>, vector<2x4xf32>
  )");
  ASSERT_EQ(core.recorder.accesses.size(), 2u);
  EXPECT_EQ(core.recorder.accesses[0].kind, MemoryAccess::Kind::load);
  EXPECT_EQ(core.recorder.accesses[0].starts, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(core.recorder.accesses[0].sizes, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(core.recorder.accesses[1].kind, MemoryAccess::Kind::store);
}

TEST_F(FlatMemory, PartsOfUndefinedMemoryBecomeDefinedByStores) {
  buffer(DType::f32, {4});
  buffer(DType::f32, {4});
  run(R"(
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = arith.constant dense<5.0> : vector<2xf32>
    vector.store %x, %0[%c1] : memref<4xf32, #tpu.memory_space<vmem>>, vector<2xf32>
    %a = vector.load %0[%c0] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
    vector.store %a, %1[%c0] : memref<4xf32, #tpu.memory_space<vmem>>, vector<4xf32>
  )");
  EXPECT_EQ(defined(1), (std::vector<int>{0, 1, 1, 0}));
}

}  // namespace
}  // namespace smalti::machine::test
