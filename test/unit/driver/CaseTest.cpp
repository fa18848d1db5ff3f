#include "driver/case/Case.h"

#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "base/io/File.h"
#include "driver/Module.h"

namespace smalti::driver {
namespace {

class CaseFolder : public ::testing::Test {
 protected:
  std::string folder = (std::filesystem::temp_directory_path() / ("case_test." + std::to_string(::getpid()))).string();
  void SetUp() override { ASSERT_TRUE(makeFolder(folder)); }
  void TearDown() override { std::filesystem::remove_all(folder); }
  Result<Case> read(const std::string& json) {
    EXPECT_TRUE(writeFile(folder + "/case.json", {json}));
    return readCase(folder);
  }
};

TEST_F(CaseFolder, NullAndAbsentFieldsAreFine) {
  for (const char* json : {"{}", R"({"results": null, "tolerance": null, "grid": null, "args": null, "spmd": null})"}) {
    const auto c = read(json);
    ASSERT_TRUE(c) << c.error().str();
    EXPECT_TRUE(c->results.empty());
    EXPECT_EQ(c->tolerance(0).absolute, 0);
    EXPECT_EQ(c->poison, machine::Poison::intMin);
  }
}

TEST_F(CaseFolder, MissingInputsAreOnes) {
  const auto c = read(R"({"args": [{"file": null, "shape": [2], "dtype": "bfloat16"}]})");
  ASSERT_TRUE(c);
  const auto inputs = readInputs(*c, {{DType::bf16, {2}}}, "ones", 0);
  ASSERT_TRUE(inputs);
  EXPECT_EQ((*inputs)[0].as<uint16_t>()[1], 0x3f80);
}

TEST_F(CaseFolder, OneToleranceIsForAllResults) {
  auto c = read(R"({"tolerance": [{"rtol": 0.5, "atol": 1}]})");
  EXPECT_EQ(c->tolerance(3).relative, 0.5);
  c = read(R"({"tolerance": [{"rtol": 0.5, "atol": 1}, {"rtol": 0.25, "atol": 2, "reason": "why"}]})");
  EXPECT_EQ(c->tolerance(1).relative, 0.25);
}

TEST_F(CaseFolder, ResultsAreExpectedOnlyWhenAllAreRecorded) {
  const auto c = read(R"({"results": [{"file": "out0.npy", "dtype": "int32"}, {"file": null, "dtype": "int32"}]})");
  ASSERT_TRUE(c);
  EXPECT_TRUE(c->results.empty());
}

TEST_F(CaseFolder, InterpretParamsHasLargeUndefinedIntegers) {
  const auto poisonOf = [&](const std::string& from) { return read("{\"expected_from\": \"" + from + "\"}")->poison; };
  EXPECT_EQ(poisonOf("pltpu.InterpretParams()"), machine::Poison::intMax);
  EXPECT_EQ(poisonOf("hlo interpret (interpret=True)"), machine::Poison::intMin);
}

TEST_F(CaseFolder, HostileJsonIsRefused) {
  for (const char* json : {"", "[]", "{\"args\": 3}", "{\"args\": [3]}", "{\"args\": [{\"dtype\": \"x\"}]}",
                           "{\"args\": [{\"dtype\": \"int8\", \"file\": \"../secret\"}]}", "{\"tolerance\": {}}"}) {
    const auto c = read(json);
    ASSERT_FALSE(c) << json;
    EXPECT_EQ(c.error().code, "SM1007");
  }
  EXPECT_FALSE(read(std::string(1'000'000, '[')));
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_EQ(read("{\"args\": [{\"dtype\": " + deep + "}]}").error().code, "SM1007");
}

TEST_F(CaseFolder, CasesAreFoundAtAnyDepthInOrder) {
  for (const char* name : {"b/2", "b/1", "a"}) {
    ASSERT_TRUE(makeFolder(folder + "/" + name));
    ASSERT_TRUE(writeFile(folder + "/" + name + "/case.json", {"{}"}));
  }
  ASSERT_TRUE(makeFolder(folder + "/versions"));
  const auto found = findCases(folder);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (std::vector<std::string>{folder + "/a", folder + "/b/1", folder + "/b/2"}));
  EXPECT_EQ(findCases(folder + "/none").error().code, "SM1001");
}

TEST(ArrayTypes, AreReadAsPeopleWriteThem) {
  EXPECT_EQ(*parseArrayType("f32[8,128]"), (ArrayType{DType::f32, {8, 128}}));
  EXPECT_EQ(*parseArrayType("bfloat16[4, 2]"), (ArrayType{DType::bf16, {4, 2}}));
  EXPECT_EQ(*parseArrayType("i32[]"), (ArrayType{DType::i32, {}}));
  EXPECT_EQ(*parseArrayType("pred[8x128]"), (ArrayType{DType::pred, {8, 128}}));
  for (const char* wrong :
       {"", "f32", "f32[", "f32[-1]", "f32[1,]", "f32[a]", "f99[1]", "semaphore[1]", "f32[4294967296,4294967296]"})
    EXPECT_FALSE(parseArrayType(wrong)) << wrong;
}

}  // namespace
}  // namespace smalti::driver
