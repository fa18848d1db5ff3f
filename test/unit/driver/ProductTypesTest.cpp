// Products of all types that the verifier accepts: computed, or refused as unsupported; memory stays intact, as the
// sanitizers see.
#include <array>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "RunText.h"

namespace smalti::driver {
namespace {

constexpr std::array kTypes{"i1",       "i4",     "ui4",       "i8",       "ui8",          "i16",         "i32",
                            "ui32",     "i64",    "ui64",      "bf16",     "f16",          "f32",         "f64",
                            "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", "complex<f32>", "complex<f64>"};

/// The codes of all runs, with their numbers.
std::map<std::string, int> outcomes(const std::function<std::string(std::string, std::string, std::string)>& module) {
  std::map<std::string, int> codes;
  for (const char* lhs : kTypes)
    for (const char* rhs : kTypes)
      for (const char* to : kTypes) {
        auto program = interop::importStableHlo(module(lhs, rhs, to), "test.mlir");
        if (!program) {
          ++codes[program.error().code];
          continue;
        }
        std::vector<Array> arguments;
        for (const ValueId v : program->functions[0].arguments) {
          arguments.push_back(*Array::allocate(program->functions[0].values[v]));
          std::fill_n(arguments.back().data(), arguments.back().bytes(), std::byte{1});
        }
        const auto ran = runProgram(*program, arguments, {{.target = "interpret"}, {}});
        ++codes[ran ? "ran" : ran.error().code];
      }
  return codes;
}

TEST(ProductTypes, OfMatrices) {
  const auto codes = outcomes([](const std::string& lhs, const std::string& rhs, const std::string& to) {
    const std::string x = "tensor<4x8x" + lhs + ">", y = "tensor<8x3x" + rhs + ">", z = "tensor<4x3x" + to + ">";
    return testing::moduleOf("(%x: " + x + ", %y: " + y + ") -> " + z,
                             "%0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (" + x + ", " + y +
                                 ") -> " + z + "\n    return %0 : " + z);
  });
  EXPECT_GT(codes.at("ran"), 4000);
  for (const auto& [code, count] : codes) EXPECT_TRUE(code == "ran" || code == "SM5002" || code == "SM2006") << code;
}

TEST(ProductTypes, OfConvolutions) {
  const auto codes = outcomes([](const std::string& lhs, const std::string& rhs, const std::string& to) {
    const std::string x = "tensor<1x4x4x2x" + lhs + ">", y = "tensor<3x3x2x5x" + rhs + ">",
                      z = "tensor<1x4x4x5x" + to + ">";
    return testing::moduleOf(
        "(%x: " + x + ", %y: " + y + ") -> " + z,
        "%0 = stablehlo.convolution(%x, %y) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
        "window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (" +
            x + ", " + y + ") -> " + z + "\n    return %0 : " + z);
  });
  EXPECT_GT(codes.at("ran"), 500);
  for (const auto& [code, count] : codes) EXPECT_TRUE(code == "ran" || code == "SM5002" || code == "SM2006") << code;
}

}  // namespace
}  // namespace smalti::driver
