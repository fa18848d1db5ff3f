// Programs made by hand: what does not hold together is reported, whatever it is.
#include <gmock/gmock.h>

#include "ir/program/PlainOps.h"
#include "ir/program/Program.h"

namespace smalti {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// main(%0: f32[2,3]) with one op between argument and return.
Program with(Op op, std::vector<ArrayType> moreValues = {{DType::f32, {2, 3}}}) {
  Function f;
  f.name = "main";
  f.values = {{DType::f32, {2, 3}}};
  f.values.insert(f.values.end(), moreValues.begin(), moreValues.end());
  f.arguments = {0};
  f.resultTypes = {f.values[0]};
  f.ops.push_back(std::move(op));
  f.ops.push_back({.name = "return", .operands = {0}});
  Program program;
  program.functions.push_back(std::move(f));
  return program;
}

std::string errorOf(const Program& program) {
  const auto status = verify(program);
  return status ? "" : status.error().str();
}

TEST(VerifyProgram, ValidProgramsPass) {
  EXPECT_EQ(errorOf(with({.name = "add", .operands = {0, 0}, .results = {1}})), "");
}

TEST(VerifyProgram, ValuesAreDefinedOnceAndBeforeTheirUse) {
  EXPECT_THAT(errorOf(with({.name = "add", .operands = {0, 1}, .results = {1}})),
              StartsWith("error[SM2005]: add uses value 1 before it is defined"));
  EXPECT_THAT(errorOf(with({.name = "add", .operands = {0, 77}, .results = {1}})), StartsWith("error[SM2005]"));
  EXPECT_THAT(errorOf(with({.name = "add", .operands = {0, -1}, .results = {1}})), StartsWith("error[SM2005]"));
  EXPECT_THAT(errorOf(with({.name = "add", .operands = {0, 0}, .results = {0}})), StartsWith("error[SM2005]"));
  EXPECT_THAT(errorOf(with({.name = "add", .operands = {0, 0}, .results = {99}})), StartsWith("error[SM2005]"));
}

TEST(VerifyProgram, OpsHaveTheirOperandsResultsAndRegions) {
  EXPECT_THAT(errorOf(with({.name = "add", .operands = {0}, .results = {1}})),
              StartsWith("error[SM2006]: types do not fit: add has 1 operands, 1 results and 0 regions"));
  EXPECT_THAT(errorOf(with({.name = "while", .operands = {0}, .results = {1}})), StartsWith("error[SM2006]"));
  EXPECT_THAT(errorOf(with({.name = "no_such_op", .operands = {0}, .results = {1}})), StartsWith("error[SM2002]"));
  EXPECT_THAT(errorOf(with({.name = "kernel_call", .operands = {0}, .results = {1}, .kernel = 3})),
              StartsWith("error[SM2005]: kernel 3 does not exist"));
  EXPECT_THAT(errorOf(with({.name = "call", .operands = {0}, .results = {1}, .callee = "f"})),
              StartsWith("error[SM2005]"));
  EXPECT_THAT(errorOf(with({.name = "manual_computation", .operands = {0}, .results = {1}})),
              StartsWith("error[SM2006]"));
}

// Each rule is asked with an op that has no attributes and odd types: it must say what is missing, and never read past
// what is there.
TEST(VerifyProgram, EveryRuleAnswersForAnOpWithNothing) {
  for (const PlainOp& plain : plainOps())
    for (const int operands : {0, 1, 2, 3, 5})
      for (const int results : {0, 1, 2})
        for (const int regions : {0, 1, 2}) {
          Op op{.name = std::string(plain.name), .operands = std::vector<ValueId>(operands, 0)};
          for (int r = 0; r < results; ++r) op.results.push_back(1 + r);
          for (int r = 0; r < regions; ++r) op.regions.push_back({.ops = {{.name = "return", .operands = {0}}}});
          errorOf(with(std::move(op), {{DType::i32, {7}}, {DType::pred, {}}}));
        }
}

TEST(VerifyProgram, AllViolationsAreReported) {
  Program program = with({.name = "transpose", .operands = {0}, .results = {1}});
  program.functions[0].resultTypes = {{DType::f32, {}}};
  const auto status = verify(program);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().related.size(), 1u);
  EXPECT_THAT(status.error().str(), HasSubstr("permutation has 0 entries for 2 dimensions"));
  EXPECT_THAT(status.error().str(), HasSubstr("result 0 is f32[2,3] instead of f32[]"));
}

}  // namespace
}  // namespace smalti
