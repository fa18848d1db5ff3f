#include "driver/program/EqualValues.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../Recordings.h"
#include "driver/Module.h"
#include "driver/case/Case.h"
#include "driver/program/ProgramRunner.h"
#include "interop/Interop.h"

namespace smalti::driver {
namespace {

std::string totalOver(const char* groups, const char* operand = "%arg1") {
  return fmt::format(
      "      %1 = \"stablehlo.all_reduce\"({}) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, "
      "replica_groups = dense<{}> : tensor<{}xi64>, use_global_device_ids}}> ({{\n"
      "^bb0(%a: tensor<i32>, %b: tensor<i32>):\n%s = stablehlo.add %a, %b : tensor<i32>\n"
      "stablehlo.return %s : tensor<i32>\n}}) : (tensor<1x4xi32>) -> tensor<1x4xi32>\n",
      operand, groups, std::string(groups) == "[[0, 1, 2, 3]]" ? "1x4" : "2x2");
}
const std::string kTotal = totalOver("[[0, 1, 2, 3]]");

/// Whether the result `returned` of a body on four devices, each with a row of its argument, is found to be equal.
bool isFoundEqual(const std::string& body, const std::string& returned) {
  auto program = interop::importStableHlo(
      "module @m {\n  sdy.mesh @mesh = <[\"x\"=4]>\n"
      "  func.func public @main(%arg0: tensor<4x4xi32>) -> tensor<4x4xi32> {\n"
      "    %c = stablehlo.constant dense<3> : tensor<1x4xi32>\n"
      "    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{\"x\"}, {}]>] out_shardings=[<@mesh, "
      "[{\"x\"}, {}]>] manual_axes={\"x\"} (%arg1: tensor<1x4xi32>) {\n" +
          body + "      sdy.return " + returned +
          " : tensor<1x4xi32>\n    } : (tensor<4x4xi32>) -> tensor<4x4xi32>\n    return %0 : tensor<4x4xi32>\n  }\n}\n",
      "test.mlir");
  EXPECT_TRUE(program) << program.error().str();
  const auto compiled = compileProgram(std::make_shared<Program>(std::move(*program)), {});
  EXPECT_TRUE(compiled) << compiled.error().str();
  for (const Op& op : (*compiled)->program->functions[static_cast<size_t>((*compiled)->program->main)].ops)
    if (const ManualPlan* plan = (*compiled)->plans.manual(op)) return plan->equal[0];
  ADD_FAILURE() << "no plan";
  return false;
}

TEST(EqualValues, ACollectiveOfAllDevicesGivesEqualValues) {
  EXPECT_TRUE(isFoundEqual(kTotal, "%1"));
  EXPECT_FALSE(isFoundEqual("", "%arg1"));
  EXPECT_FALSE(isFoundEqual(totalOver("[[0, 1], [2, 3]]"), "%1"));
  EXPECT_FALSE(isFoundEqual(
      "      %1 = \"stablehlo.collective_permute\"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = "
      "1, type = 0>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : "
      "(tensor<1x4xi32>) -> tensor<1x4xi32>\n",
      "%1"));
}

TEST(EqualValues, OpsOnEqualValuesGiveEqualValues) {
  const std::string reversed = "      %2 = stablehlo.reverse %1, dims = [1] : tensor<1x4xi32>\n";
  EXPECT_TRUE(isFoundEqual(kTotal + reversed, "%2"));
  EXPECT_TRUE(isFoundEqual(kTotal + "      %2 = stablehlo.multiply %1, %c : tensor<1x4xi32>\n", "%2"));
  EXPECT_FALSE(isFoundEqual(kTotal + "      %2 = stablehlo.multiply %1, %arg1 : tensor<1x4xi32>\n", "%2"));
  EXPECT_FALSE(
      isFoundEqual("      %1 = stablehlo.partition_id : tensor<ui32>\n"
                   "      %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>\n"
                   "      %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<1x4xi32>\n",
                   "%3"));
}

/// What a region takes from outside counts.
TEST(EqualValues, RegionsMayUseOtherValues) {
  const auto sortedBy = [](const char* value) {
    return kTotal + "      %c0 = stablehlo.constant dense<0> : tensor<i32>\n      %r = stablehlo.reshape " +
           std::string(value) +
           " : (tensor<1x4xi32>) -> tensor<4xi32>\n"
           "      %p = stablehlo.slice %r [0:1] : (tensor<4xi32>) -> tensor<1xi32>\n"
           "      %q = stablehlo.reshape %p : (tensor<1xi32>) -> tensor<i32>\n"
           "      %2 = \"stablehlo.sort\"(%1) <{dimension = 1 : i64, is_stable = true}> ({\n"
           "^bb0(%a: tensor<i32>, %b: tensor<i32>):\n%s = stablehlo.multiply %a, %q : tensor<i32>\n"
           "%t = stablehlo.multiply %b, %q : tensor<i32>\n"
           "%l = stablehlo.compare LT, %s, %t, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
           "stablehlo.return %l : tensor<i1>\n}) : (tensor<1x4xi32>) -> tensor<1x4xi32>\n";
  };
  EXPECT_TRUE(isFoundEqual(sortedBy("%1"), "%2"));
  EXPECT_FALSE(isFoundEqual(sortedBy("%arg1"), "%2"));
}

TEST(EqualValues, KernelsWhoseResultsFollowFromTheirOperands) {
  const auto follows = [](const std::string& name) {
    const auto recorded = readCase(std::string(SMALTI_SOURCE_DIR) + "/test/data/cases/" + name);
    EXPECT_TRUE(recorded) << recorded.error().str();
    const auto loaded = loadModule(recorded->modulePath);
    EXPECT_TRUE(loaded) << loaded.error().str();
    return resultsFollowFromOperands(loaded->program->kernels.at(0));
  };
  EXPECT_TRUE(follows("add_grid_1d"));
  EXPECT_TRUE(follows("cast_f32_to_e4m3"));
  EXPECT_FALSE(follows("prng_bits"));
  EXPECT_FALSE(follows("flash_attention_causal_f32"));  // with scratch, which is undefined at first
  EXPECT_FALSE(follows("dist_all_reduce_ring"));
}

}  // namespace
}  // namespace smalti::driver
