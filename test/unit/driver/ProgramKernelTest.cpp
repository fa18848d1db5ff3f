// Kernels inside Programs: handed to the target, on all devices of a mesh at once.
#include <fstream>
#include <sstream>

#include "RunText.h"

namespace smalti::driver {
namespace {

using namespace testing;

std::string recorded(const std::string& name) {
  std::ifstream file(std::string(SMALTI_SOURCE_DIR) + "/test/data/cases/" + name + "/module.stablehlo.mlir");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The recorded call of a kernel i32[32,128] → i32[32,128] that adds to its aliased operand, as `result =
/// call(operand)`.
std::string kernelCall(const std::string& result, const std::string& operand) {
  const std::string text = recorded("alias_partial_update");
  const size_t begin = text.find("%0 = "), end = text.find("\n", begin);
  std::string line = text.substr(begin, end - begin);
  line.replace(line.find("%arg0"), 5, operand);
  return result + line.substr(2) + "\n";
}

const ArrayType kType{DType::i32, {32, 128}};

TEST(ProgramKernels, ResultsAreTheTargetsAndArgumentsStayAsTheyWere) {
  const Array x = make(kType, {5});
  const auto once = runText(recorded("alias_partial_update"), {x});
  ASSERT_TRUE(once) << once.error().str();
  EXPECT_EQ(numbers(x), std::vector<double>(32 * 128, 5));
  const std::string m = "tensor<32x128xi32>";
  const auto twice = runText(
      moduleOf("(%x: " + m + ") -> " + m, kernelCall("%1", "%x") + kernelCall("%2", "%1") + "return %2 : " + m), {x});
  ASSERT_TRUE(twice) << twice.error().str();
  const auto again = runText(recorded("alias_partial_update"), {(*once)[0]});
  ASSERT_TRUE(again) << again.error().str();
  EXPECT_EQ(numbers((*twice)[0]), numbers((*again)[0]));
}

std::string onTwoDevices(const std::string& body) {
  const std::string m = "tensor<32x128xi32>";
  return "module @m {\n  sdy.mesh @mesh = <[\"x\"=2]>\n  func.func public @main(%arg0: " + m + ") -> " + m +
         " {\n    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, "
         "{}]>] "
         "manual_axes={\"x\"} (%arg1: " +
         m + ") {\n" + body + "    } : (" + m + ") -> " + m + "\n    return %0 : " + m + "\n  }\n}\n";
}

TEST(ProgramKernels, RunOnEveryDeviceOfTheMesh) {
  const std::string m = "tensor<32x128xi32>";
  const Array x = make(kType, {5});
  const auto alone = runText(recorded("alias_partial_update"), {x});
  const auto both = runText(onTwoDevices(kernelCall("%1", "%arg1") + "sdy.return %1 : " + m + "\n"), {x});
  ASSERT_TRUE(alone && both) << both.error().str();
  EXPECT_EQ(numbers((*both)[0]), numbers((*alone)[0]));
}

/// `call`, whose result is %4, in a branch that only the first device takes.
std::string onTheFirstDevice(const std::string& call, const std::string& type) {
  return "%1 = stablehlo.partition_id : tensor<ui32>\n"
         "%2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>\n"
         "%3 = \"stablehlo.case\"(%2) ({\n" +
         call + "stablehlo.return %4 : " + type + "\n}, {\nstablehlo.return %arg1 : " + type +
         "\n}) : (tensor<i32>) -> " + type + "\n";
}

TEST(ProgramKernels, SomeDevicesRunAKernelThatNamesNoOthers) {
  const std::string m = "tensor<32x128xi32>";
  const std::string text =
      onTwoDevices(onTheFirstDevice(kernelCall("%4", "%arg1"), m) +
                   "%5 = \"stablehlo.all_reduce\"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = "
                   "1>, replica_groups = dense<[[0, 1]]> : "
                   "tensor<1x2xi64>, use_global_device_ids}> ({\n^bb0(%a: tensor<i32>, %b: tensor<i32>):\n"
                   "%6 = stablehlo.add %a, %b : tensor<i32>\nstablehlo.return %6 : tensor<i32>"
                   "\n}) : (" +
                   m + ") -> " + m + "\nsdy.return %5 : " + m + "\n");
  const auto alone = runText(recorded("alias_partial_update"), {make(kType, {5})});
  const auto sum = runText("module @m attributes {mhlo.num_partitions = 2 : i32} {" + text.substr(text.find('{') + 1),
                           {make(kType, {5})});
  ASSERT_TRUE(alone && sum) << sum.error().str();
  std::vector<double> expected = numbers((*alone)[0]);
  for (double& x : expected) x += 5;
  EXPECT_EQ(numbers((*sum)[0]), expected);
}

TEST(ProgramKernels, KernelsThatNameOtherDevicesRunOnAllOrNotAtAll) {
  std::string text = recorded("dist_right_permute_barrier");
  const size_t begin = text.find("%2 = "), end = text.find("\n", begin);
  const std::string call = text.substr(begin, end - begin);
  text.replace(begin, end - begin, onTheFirstDevice("%4" + call.substr(2) + "\n", "tensor<8x128xf32>"));
  text.replace(text.find("sdy.return %2"), 13, "sdy.return %3");
  const auto results = runText(text, {make({DType::f32, {32, 128}}, {5})});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().str(),
            "error[SM5004]: kernel 'rpb_k' is reached by some devices only\n"
            "  --> test.mlir:8:6\n"
            "  need: all 4 devices\n"
            "  have: 1 devices\n"
            "  help: name every mesh axis in the shard_map around it, and branch inside the kernel (pl.when)\n");
}

}  // namespace
}  // namespace smalti::driver
