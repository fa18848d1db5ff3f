// tpu.matmul and the explicit MXU.
#include "Harness.h"

namespace smalti::machine::test {
namespace {

using Matmul = Kernel;

std::string matmul(const std::string& lhs, const std::string& rhs, const std::string& out, const std::string& dims,
                   const std::string& extra = "") {
  const auto load = [](const char* name, const char* ref, const std::string& type) {
    std::string zeros = "%c";
    for (char x : type) zeros += x == 'x' ? ", %c" : "";
    zeros.resize(zeros.size() - 4);  // one index per dimension; the element type has no 'x'
    return std::string("%") + name + " = vector.load " + ref + "[" + zeros + "] : memref<" + type +
           ", #tpu.memory_space<vmem>>, vector<" + type + ">\n";
  };
  std::string zeros = "%c";
  for (char x : out) zeros += x == 'x' ? ", %c" : "";
  zeros.resize(zeros.size() - 4);
  return "%c = arith.constant 0 : index\n" + load("a", "%0", lhs) + load("b", "%1", rhs) +
         "%z = arith.constant dense<0" + (out.back() == '2' && out[out.size() - 3] == 'i' ? "" : ".0") + "> : vector<" +
         out + ">\n%r = \"tpu.matmul\"(%a, %b, %z) <{dimension_numbers = #tpu.dot_dimension_numbers<" + dims + ">" +
         extra + ", transpose_lhs = false, transpose_rhs = false, transpose_lhs_hint = false}> : (vector<" + lhs +
         ">, vector<" + rhs + ">, vector<" + out + ">) -> vector<" + out + ">\nvector.store %r, %2[" + zeros +
         "] : memref<" + out + ", #tpu.memory_space<vmem>>, vector<" + out + ">\n";
}

constexpr const char* kPlain = "[1], [0], [0], [1], [0, 0, 1, 1], [], []";

TEST_F(Matmul, SE2_NarrowOperandsAccumulateIn32Bits) {
  buffer(DType::i8, {1, 2}, {100, 100});
  buffer(DType::i8, {2, 1}, {100, 100});
  buffer(DType::i32, {1, 1});
  run(matmul("1x2xi8", "2x1xi8", "1x1xi32", kPlain));
  EXPECT_EQ(out(2), (std::vector<double>{20000}));
}

TEST_F(Matmul, SE4_TransposedOperandsStandInTheDimensionNumbers) {
  buffer(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  buffer(DType::f32, {2, 3}, {1, 0, 0, 0, 1, 0});
  buffer(DType::f32, {2, 2});
  run(matmul("2x3xf32", "2x3xf32", "2x2xf32", "[1], [1], [0], [0], [0, 0, 1, 0], [], []"));
  EXPECT_EQ(out(2), (std::vector<double>{1, 2, 4, 5}));
}

TEST_F(Matmul, SE4_BatchDimensionsComeFirst) {
  buffer(DType::f32, {2, 1, 2}, {1, 2, 3, 4});
  buffer(DType::f32, {2, 2, 1}, {1, 1, 10, 10});
  buffer(DType::f32, {2, 1, 1});
  run(matmul("2x1x2xf32", "2x2x1xf32", "2x1x1xf32", "[2], [1], [1], [2], [0, 0, 0, 1, 1, 2], [0], [0]"));
  EXPECT_EQ(out(2), (std::vector<double>{3, 70}));
}

TEST_F(Matmul, SE3_TpuNumericsRoundOperandsUnlessHighest) {
  buffer(DType::f32, {1, 1}, {1.00390625});  // rounds to 1 in bf16
  buffer(DType::f32, {1, 1}, {1});
  buffer(DType::f32, {1, 1});
  const std::string plain = matmul("1x1xf32", "1x1xf32", "1x1xf32", kPlain);
  run(plain);
  EXPECT_EQ(out(2), (std::vector<double>{1.00390625}));
  options.tpuNumerics = true;
  run(plain);
  EXPECT_EQ(out(2), (std::vector<double>{1}));
  run(matmul("1x1xf32", "1x1xf32", "1x1xf32", kPlain, ", precision = #tpu.contract_precision<fp32>"));
  EXPECT_EQ(out(2), (std::vector<double>{1.00390625}));
}

TEST_F(Matmul, AnUndefinedElementSpoilsItsRowOrColumn) {
  Buffer& a = buffer(DType::f32, {2, 2}, {1, 2, 3, 4});
  a.allDefined = false;
  a.defined = {1, 0, 1, 1};
  buffer(DType::f32, {2, 2}, {1, 0, 0, 1});
  buffer(DType::f32, {2, 2});
  run(matmul("2x2xf32", "2x2xf32", "2x2xf32", kPlain));
  EXPECT_EQ(defined(2), (std::vector<int>{0, 0, 1, 1}));
}

TEST_F(Matmul, ShapesThatDoNotFitAreRefused) {
  buffer(DType::f32, {2, 3}, {1});
  buffer(DType::f32, {2, 3}, {1});
  buffer(DType::f32, {2, 3});
  EXPECT_NE(failure(matmul("2x3xf32", "2x3xf32", "2x3xf32", kPlain)), "");
}

TEST_F(Matmul, TheExplicitMxuMultipliesWithWhatWasStaged) {
  buffer(DType::f32, {2, 2}, {1, 2, 3, 4});
  buffer(DType::f32, {2, 2}, {0, 1, 1, 0});
  buffer(DType::f32, {2, 2});
  buffer(DType::f32, {2, 2});
  run(R"(
    %c = arith.constant 0 : index
    %a = vector.load %0[%c, %c] : memref<2x2xf32, #tpu.memory_space<vmem>>, vector<2x2xf32>
    %b = vector.load %1[%c, %c] : memref<2x2xf32, #tpu.memory_space<vmem>>, vector<2x2xf32>
    "tpu.matmul_push_rhs"(%b) <{mxu_index = 0 : i32, staging_register = 0 : i32, transpose = false}> : (vector<2x2xf32>) -> ()
    "tpu.matmul_lhs_fifo"(%a) <{load_staged_rhs = 0 : i32, mxu_index = 0 : i32}> : (vector<2x2xf32>) -> ()
    "tpu.matmul_lhs_fifo"(%b) <{mxu_index = 0 : i32}> : (vector<2x2xf32>) -> ()
    %p = "tpu.matmul_pop_fifo"() <{mxu_index = 0 : i32}> : () -> vector<2x2xf32>
    %q = "tpu.matmul_pop_fifo"() <{mxu_index = 0 : i32}> : () -> vector<2x2xf32>
    vector.store %p, %2[%c, %c] : memref<2x2xf32, #tpu.memory_space<vmem>>, vector<2x2xf32>
    vector.store %q, %3[%c, %c] : memref<2x2xf32, #tpu.memory_space<vmem>>, vector<2x2xf32>
  )");
  EXPECT_EQ(out(2), (std::vector<double>{2, 1, 4, 3}));
  EXPECT_EQ(out(3), (std::vector<double>{1, 0, 0, 1}));
}

TEST_F(Matmul, TheExplicitMxuAccumulatesUntilPopped) {
  buffer(DType::f32, {1, 2}, {1, 2});
  buffer(DType::f32, {2, 2}, {1, 3, 2, 4});
  buffer(DType::f32, {1, 2});
  run(R"(
    %c = arith.constant 0 : index
    %a = vector.load %0[%c, %c] : memref<1x2xf32, #tpu.memory_space<vmem>>, vector<1x2xf32>
    %b = vector.load %1[%c, %c] : memref<2x2xf32, #tpu.memory_space<vmem>>, vector<2x2xf32>
    "tpu.matmul_push_rhs"(%b) <{mxu_index = 0 : i32, staging_register = 1 : i32, transpose = true}> : (vector<2x2xf32>) -> ()
    "tpu.matmul_acc_lhs"(%a) <{acc = 8 : i32, load_staged_rhs = 1 : i32, mxu_index = 0 : i32}> : (vector<1x2xf32>) -> ()
    "tpu.matmul_acc_lhs"(%a) <{acc = 8 : i32, mxu_index = 0 : i32}> : (vector<1x2xf32>) -> ()
    %p = "tpu.matmul_pop"() <{acc = 8 : i32, mxu_index = 0 : i32}> : () -> vector<1x2xf32>
    vector.store %p, %2[%c, %c] : memref<1x2xf32, #tpu.memory_space<vmem>>, vector<1x2xf32>
  )");
  EXPECT_EQ(out(2), (std::vector<double>{14, 20}));
}

TEST_F(Matmul, PoppingAnEmptyFifoIsAMistake) {
  buffer(DType::f32, {1, 2});
  EXPECT_EQ(failure(R"(
    %c = arith.constant 0 : index
    %p = "tpu.matmul_pop_fifo"() <{mxu_index = 0 : i32}> : () -> vector<1x2xf32>
    vector.store %p, %0[%c, %c] : memref<1x2xf32, #tpu.memory_space<vmem>>, vector<1x2xf32>
  )"),
            "SM4013");
}

}  // namespace
}  // namespace smalti::machine::test
