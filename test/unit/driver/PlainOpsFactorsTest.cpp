// Random bits, factors of matrices and ApproxTopK: published vectors, exact small cases, and what is refused before
// they run. test_plain_ops.py compares with JAX.
#include <gmock/gmock.h>

#include "RunText.h"

namespace smalti::driver {
namespace {

using namespace testing;
using ::testing::HasSubstr;

std::string draw(const std::string& algorithm, const std::string& state, const std::string& bits) {
  return "%s, %b = stablehlo.rng_bit_generator %x, algorithm = " + algorithm + " : (" + state + ") -> (" + state +
         ", " + bits + ")\n    return %s, %b : " + state + ", " + bits;
}

std::vector<std::vector<uint64_t>> drawn(const std::string& algorithm, const std::vector<uint64_t>& state,
                                         const std::string& bits) {
  const std::string type = "tensor<" + std::to_string(state.size()) + "xui64>";
  Array words = Array::allocate({DType::u64, {static_cast<int64_t>(state.size())}}).value();
  std::copy(state.begin(), state.end(), words.as<uint64_t>());
  const auto results =
      runText(moduleOf("(%x: " + type + ") -> (" + type + ", " + bits + ")", draw(algorithm, type, bits)), {words});
  if (!results) {
    ADD_FAILURE() << results.error().str();
    return {};
  }
  std::vector<std::vector<uint64_t>> all;
  for (const Array& a : *results) {
    auto& values = all.emplace_back();
    for (int64_t i = 0; i < a.elements(); ++i)
      values.push_back(a.dtype() == DType::u64 ? a.as<uint64_t>()[i] : a.as<uint32_t>()[i]);
  }
  return all;
}

using Draws = std::vector<std::vector<uint64_t>>;
constexpr uint64_t kOnes = ~uint64_t{0};

/// The known answers that Random123 comes with.
TEST(PlainOps, RandomBitsArePublishedOnes) {
  EXPECT_EQ(drawn("PHILOX", {0, 0, 0}, "tensor<4xui32>"),
            (Draws{{0, 1, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}));
  EXPECT_EQ(drawn("PHILOX", {kOnes, kOnes, kOnes}, "tensor<4xui32>"),
            (Draws{{kOnes, 0, 0}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}));
  EXPECT_EQ(drawn("THREE_FRY", {0, 0}, "tensor<2xui32>"), (Draws{{0, 1}, {0x6b200159, 0x99ba4efe}}));
  EXPECT_EQ(drawn("THREE_FRY", {kOnes, kOnes}, "tensor<2xui32>"), (Draws{{kOnes, 0}, {0x1cb996fc, 0xbb002be7}}));
}

/// What XLA drew on a CPU.
TEST(PlainOps, RandomBitsAreThoseOfXla) {
  EXPECT_EQ(drawn("PHILOX", {5, 7, 9}, "tensor<9xui32>"),
            (Draws{{5, 10, 9},
                   {832693445, 132006561, 1697787879, 1890427150, 1417357930, 3930142501, 2223527398, 652534703,
                    1049212936}}));
  EXPECT_EQ(drawn("DEFAULT", {5, 7}, "tensor<8xui32>"),
            (Draws{{5, 9},
                   {1957188081, 3299040168, 2189429415, 2942269241, 4036186172, 3451158193, 2458696665, 1733589896}}));
  EXPECT_EQ(drawn("DEFAULT", {5, 7}, "tensor<1xui64>"), (Draws{{5, 8}, {14169269631707533809u}}));
}

TEST(PlainOps, RandomBitsRefuseStatesThatDoNotFit) {
  const auto refusal = [](const std::string& algorithm, const std::string& state, const std::string& bits) {
    return errorOf("(%x: " + state + ") -> (" + state + ", " + bits + ")", draw(algorithm, state, bits));
  };
  EXPECT_THAT(
      refusal("PHILOX", "tensor<4xui64>", "tensor<4xui32>"),
      HasSubstr("error[SM2006]: types do not fit: rng_bit_generator turns the state u64[4] into u64[4]: it must "
                "be u64[2] or u64[3]"));
  EXPECT_THAT(refusal("THREE_FRY", "tensor<3xui64>", "tensor<4xui32>"), HasSubstr("it must be u64[2]\n"));
  EXPECT_THAT(refusal("DEFAULT", "tensor<2xui32>", "tensor<4xui32>"), HasSubstr("turns the state u32[2]"));
  EXPECT_THAT(refusal("DEFAULT", "tensor<2xui64>", "tensor<4xf32>"),
              HasSubstr("draws f32[4]: they must be integers of 8 to 64 bits"));
  EXPECT_THAT(refusal("MERSENNE", "tensor<2xui64>", "tensor<4xui32>"),
              HasSubstr("rng_algorithm is MERSENNE, not one of DEFAULT, PHILOX, THREE_FRY"));
}

TEST(PlainOps, FactorsRefuseTypesThatDoNotFit) {
  const auto refusal = [](const std::string& target, const std::string& operand, const std::string& results,
                          int count) {
    return errorOf("(%x: " + operand + ") -> ()", "%r:" + std::to_string(count) + " = stablehlo.custom_call @" +
                                                      target + "(%x) {backend_config = \"1,1,100,1e-6\"} : (" +
                                                      operand + ") -> (" + results + ")\n    return");
  };
  EXPECT_THAT(refusal("LuDecomposition", "tensor<4x3xi32>", "tensor<4x3xi32>, tensor<3xi32>, tensor<4xi32>", 3),
              HasSubstr("error[SM2006]: types do not fit: LuDecomposition takes floats, not i32"));
  EXPECT_THAT(refusal("LuDecomposition", "tensor<4xf32>", "tensor<4xf32>, tensor<3xi32>, tensor<4xi32>", 3),
              HasSubstr("takes matrices, not f32[4]"));
  EXPECT_THAT(refusal("LuDecomposition", "tensor<4x3xf32>", "tensor<4x3xf32>, tensor<4xi32>, tensor<4xi32>", 3),
              HasSubstr("has result 1 of type i32[4], not i32[3]"));
  EXPECT_THAT(refusal("LuDecomposition", "tensor<4x3xf32>", "tensor<4x3xf32>, tensor<3xi32>", 2),
              HasSubstr("error[SM2006]"));
  EXPECT_THAT(refusal("Qr", "tensor<2x4x3xf32>", "tensor<2x4x3xf32>, tensor<3xf32>", 2),
              HasSubstr("has result 1 of type f32[3], not f32[2,3]"));
  EXPECT_THAT(refusal("Eigh", "tensor<4x3xf32>", "tensor<4x3xf32>, tensor<3xf32>", 2),
              HasSubstr("the operand must be square matrices, but is f32[4,3]"));
  EXPECT_THAT(refusal("Eigh", "tensor<3x3xcomplex<f32>>", "tensor<3x3xcomplex<f32>>, tensor<3xcomplex<f32>>", 2),
              HasSubstr("has result 1 of type c64[3], not f32[3]"));
  EXPECT_THAT(errorOf("(%x: tensor<3x4xf32>, %y: tensor<3xf32>) -> ()",
                      "%r = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%x, %y) : "
                      "(tensor<3x4xf32>, tensor<3xf32>) -> tensor<3x4xf32>\n    return"),
              HasSubstr("a is f32[3,4], the factors f32[3]: as many as a has columns at most, and no more columns than "
                        "rows"));
}

std::string best(const std::string& function, const std::string& config, const std::string& shape) {
  return "module {\n  func.func @gt(%a: tensor<f32>, %b: tensor<f32>) -> tensor<i1> {\n    %0 = stablehlo.compare GT, "
         "%a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n    return %0 : tensor<i1>\n  }\n  func.func public "
         "@main(%x: tensor<2x4xf32>, %i: tensor<f32>) -> " +
         shape + " {\n    %0 = stablehlo.custom_call @ApproxTopK(%x, %i) {called_computations = [" + function +
         "], mhlo.backend_config = {" + config +
         ", recall_target = 0x3F733333 : f32, reduction_input_size_override = "
         "-1 : i64}} : (tensor<2x4xf32>, tensor<f32>) -> " +
         shape + "\n    return %0 : " + shape + "\n  }\n}\n";
}

TEST(PlainOps, ApproxTopKIsExact) {
  const Array x = make({DType::f32, {2, 4}}, {1, 5, 3, 4, -1, 0, 7, -2}), init = make({DType::f32, {}}, {0});
  const auto of = [&](const std::string& config, const std::string& shape) {
    const auto results = runText(best("@gt", config, shape), {x, init});
    EXPECT_TRUE(results) << results.error().str();
    std::vector<float> values;
    if (results) values.assign((*results)[0].as<float>(), (*results)[0].as<float>() + (*results)[0].elements());
    return values;
  };
  const std::string yes = "aggregate_to_topk = true, ";
  EXPECT_EQ(of(yes + "reduction_dim = 1 : i64, top_k = 2 : i64", "tensor<2x2xf32>"), (std::vector<float>{5, 4, 7, 0}));
  EXPECT_EQ(of(yes + "reduction_dim = 0 : i64, top_k = 1 : i64", "tensor<1x4xf32>"), (std::vector<float>{1, 5, 7, 4}));
  EXPECT_EQ(of(yes + "reduction_dim = 0 : i64, top_k = 0 : i64", "tensor<0x4xf32>"), (std::vector<float>{}));
}

TEST(PlainOps, ApproxTopKRefusesWhatDoesNotFit) {
  const auto refusal = [](const std::string& function, const std::string& config, const std::string& shape) {
    const auto results = runText(best(function, config, shape), {});
    return results ? "" : results.error().str();
  };
  const std::string yes = "aggregate_to_topk = true, ", two = "reduction_dim = 1 : i64, top_k = 2 : i64";
  EXPECT_THAT(refusal("@gt", "aggregate_to_topk = false, " + two, "tensor<2x2xf32>"),
              HasSubstr("error[SM2004]: ApproxTopK returns as many candidates as a TPU's size gives\n"));
  EXPECT_THAT(refusal("@gt", yes + two, "tensor<2x3xf32>"), HasSubstr("takes 2 of f32[2,4] as f32[2,3]"));
  EXPECT_THAT(refusal("@gt", yes + "reduction_dim = 2 : i64, top_k = 2 : i64", "tensor<2x2xf32>"),
              HasSubstr("takes 2 along dimension 2 of f32[2,4]"));
  EXPECT_THAT(refusal("@gt", yes + "reduction_dim = 1 : i64, top_k = 5 : i64", "tensor<2x5xf32>"),
              HasSubstr("takes 5 along dimension 1"));
  EXPECT_THAT(refusal("@lt", yes + two, "tensor<2x2xf32>"), HasSubstr("function 'lt' is called but not defined"));
  EXPECT_THAT(refusal("@main", yes + two, "tensor<2x2xf32>"), HasSubstr("error[SM2006]"));
  EXPECT_THAT(refusal("@gt, @gt", yes + two, "tensor<2x2xf32>"),
              HasSubstr("error[SM2007]: custom call 'ApproxTopK' does not say which function it calls"));
}

}  // namespace
}  // namespace smalti::driver
