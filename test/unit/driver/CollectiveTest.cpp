// Ops of several devices in Programs: groups of every kind, and what is wrong with them. Values are JAX's:
// test/python/test_collectives.py.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "RunText.h"

namespace smalti::driver {
namespace {

using namespace testing;

constexpr const char* kChannel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, ";
constexpr const char* kReducer =
    " ({\n^bb0(%a: tensor<i32>, %b: tensor<i32>):\n%s = stablehlo.add %a, %b : tensor<i32>\n"
    "stablehlo.return %s : tensor<i32>\n})";

/// A module whose four devices (x=2, y=2) hold one row each of a 4x4 array, and return as much.
std::string onFourDevices(const std::string& body, const std::string& returned = "%1") {
  return "module @m {\n  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\n"
         "  func.func public @main(%arg0: tensor<4x4xi32>) -> tensor<4x4xi32> {\n"
         "    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{\"x\", \"y\"}, {}]>] "
         "out_shardings=[<@mesh, [{\"x\", \"y\"}, {}]>] manual_axes={\"x\", \"y\"} (%arg1: tensor<1x4xi32>) {\n" +
         body + "\n      sdy.return " + returned +
         " : tensor<1x4xi32>\n    } : (tensor<4x4xi32>) -> tensor<4x4xi32>\n"
         "    return %0 : tensor<4x4xi32>\n  }\n}\n";
}

/// `%1 = op(%arg1)` with these attributes.
std::string collective(const std::string& op, const std::string& attributes, const std::string& region = "",
                       const std::string& result = "tensor<1x4xi32>") {
  return fmt::format("      %1 = \"stablehlo.{}\"(%arg1) <{{{}}}>{} : (tensor<1x4xi32>) -> {}", op, attributes, region,
                     result);
}
std::string groups(const std::string& rows, const std::string& type) {
  return fmt::format("replica_groups = dense<{}> : tensor<{}xi64>", rows, type);
}
std::string allReduce(const std::string& attributes) { return collective("all_reduce", attributes, kReducer); }

const Array& rows() {
  static const Array array = [] {
    std::vector<double> values;
    for (int i = 0; i < 16; ++i) values.push_back(1 << i / 4);
    return make({DType::i32, {4, 4}}, values);
  }();
  return array;
}

/// The first element of each device's row, or the diagnostic.
std::vector<double> columnOf(const std::string& body) {
  const auto results = runText(onFourDevices(body), {rows()});
  if (!results) {
    ADD_FAILURE() << results.error().str();
    return {};
  }
  const auto all = numbers((*results)[0]);
  return {all[0], all[4], all[8], all[12]};
}
std::string errorOf(const std::string& body) {
  const auto results = runText(onFourDevices(body, "%arg1"), {rows()});
  return results ? "" : results.error().str();
}

TEST(Collectives, GroupsMayBeOfSeveralSizes) {
  EXPECT_EQ(columnOf(allReduce(kChannel + groups("[[0, 2, 3], [1, -1, -1]]", "2x3") + ", use_global_device_ids")),
            (std::vector<double>{13, 2, 13, 13}));
}

TEST(Collectives, NoGroupsAreOneOfAllDevices) {
  EXPECT_EQ(columnOf(allReduce(kChannel + groups("", "0x0") + ", use_global_device_ids")),
            (std::vector<double>{15, 15, 15, 15}));
}

TEST(Collectives, WithoutGlobalIdsGroupsAreOfReplicas) {
  // With a channel a replica's partitions reduce together, without one each device is alone.
  EXPECT_EQ(columnOf(allReduce(kChannel + groups("0", "1x1"))), (std::vector<double>{15, 15, 15, 15}));
  EXPECT_EQ(columnOf(allReduce(groups("0", "1x1"))), (std::vector<double>{1, 2, 4, 8}));
  EXPECT_EQ(columnOf(collective("collective_permute", "source_target_pairs = dense<0> : tensor<1x2xi64>")),
            (std::vector<double>{1, 2, 4, 8}));
}

TEST(Collectives, DevicesWithoutASenderGetZeros) {
  EXPECT_EQ(
      columnOf(collective("collective_permute",
                          std::string(kChannel) + "source_target_pairs = dense<[[3, 0], [0, 2]]> : tensor<2x2xi64>")),
      (std::vector<double>{8, 0, 1, 0}));
  EXPECT_EQ(columnOf(collective("collective_broadcast", kChannel + groups("[[2, 1]]", "1x2"))),
            (std::vector<double>{0, 4, 4, 0}));
}

TEST(Collectives, MaximumKeepsNaN) {
  const double nan = std::nan("");
  const auto results = runText(R"(module @m {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<4xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%arg1: tensor<4xf32>) {
      %1 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = stablehlo.maximum %a, %b : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) : (tensor<4xf32>) -> tensor<4xf32>
      sdy.return %1 : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})",
                               {make({DType::f32, {8}}, {1, nan, 5, -INFINITY, nan, 2, 3, -1})});
  ASSERT_TRUE(results) << results.error().str();
  const auto got = numbers((*results)[0]);
  EXPECT_TRUE(std::isnan(got[0]) && std::isnan(got[1]));
  EXPECT_EQ((std::vector<double>{got[2], got[3]}), (std::vector<double>{5, -1}));
}

TEST(Collectives, GroupsOfDevicesThatComeTogetherMayBranchApart) {
  EXPECT_EQ(columnOf(R"(
      %2 = stablehlo.partition_id : tensor<ui32>
      %3 = stablehlo.constant dense<2> : tensor<ui32>
      %4 = stablehlo.divide %2, %3 : tensor<ui32>
      %5 = stablehlo.convert %4 : (tensor<ui32>) -> tensor<i32>
      %1 = "stablehlo.case"(%5) ({
        stablehlo.return %arg1 : tensor<1x4xi32>
      }, {
        %6 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
        ^bb0(%a: tensor<i32>, %b: tensor<i32>):
          %s = stablehlo.maximum %a, %b : tensor<i32>
          stablehlo.return %s : tensor<i32>
        }) : (tensor<1x4xi32>) -> tensor<1x4xi32>
        stablehlo.return %6 : tensor<1x4xi32>
      }) : (tensor<i32>) -> tensor<1x4xi32>)"),
            (std::vector<double>{1, 2, 8, 8}));
}

TEST(Collectives, SM5009_ADeviceThatDoesNotCome) {
  const auto results = runText(R"(module @m {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<2xi32>) -> tensor<2xi32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg1: tensor<1xi32>) {
      %1 = stablehlo.partition_id : tensor<ui32>
      %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
      %3 = "stablehlo.case"(%2) ({stablehlo.return %arg1 : tensor<1xi32>}, {
      %4 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
        ^bb0(%a: tensor<i32>, %b: tensor<i32>):
          %s = stablehlo.add %a, %b : tensor<i32>
          stablehlo.return %s : tensor<i32>
        }) : (tensor<1xi32>) -> tensor<1xi32>
        stablehlo.return %4 : tensor<1xi32>
      }) : (tensor<i32>) -> tensor<1xi32>
      sdy.return %3 : tensor<1xi32>
    } : (tensor<2xi32>) -> tensor<2xi32>
    return %0 : tensor<2xi32>
  }
})",
                               {make({DType::i32, {2}}, {1, 2})});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().str(),
            "error[SM5009]: all_reduce is reached by some of its devices only\n"
            "  --> test.mlir:8:12\n"
            "  need: devices 0, 1 together\n"
            "  have: device 1, without 0\n"
            "  help: let the devices of a group take the same branch, and run loops equally often\n");
}

const std::string kAt = "  --> test.mlir:5:12\n   in function 'main'\n";

TEST(Collectives, SM2014_DevicesThatDoNotFit) {
  const std::string global = ", use_global_device_ids";
  EXPECT_EQ(errorOf(allReduce(kChannel + groups("[[0, 7]]", "1x2") + global)),
            "error[SM2014]: all_reduce names a device that is not there\n" + kAt +
                "  need: devices 0 to 3\n"
                "  have: device 7\n"
                "  help: call it inside a shard_map over a mesh of that many devices\n");
  EXPECT_EQ(errorOf(allReduce(kChannel + groups("[[0, -5]]", "1x2") + global)),
            "error[SM2014]: all_reduce names a device that is not there\n" + kAt +
                "  need: devices 0 to 3\n"
                "  have: device -5\n"
                "  help: call it inside a shard_map over a mesh of that many devices\n");
  EXPECT_EQ(errorOf(allReduce(groups("[[0, 1]]", "1x2") + global)),
            "error[SM2014]: all_reduce names a device that is not there\n" + kAt +
                "  need: device 0\n"
                "  have: device 1\n"
                "  help: call it inside a shard_map over a mesh of that many devices\n");
  EXPECT_EQ(errorOf(allReduce(kChannel + groups("[[0, 1], [1, 2]]", "2x2") + global)),
            "error[SM2014]: all_reduce names device 1 twice\n" + kAt +
                "  need: each device at most once in all groups\n"
                "  have: device 1 twice\n"
                "  help: name each device once, in axis_index_groups or in the pairs of ppermute\n");
  EXPECT_EQ(errorOf(allReduce(kChannel + groups("[[0, 1, 3]]", "1x3") + global)),
            "error[SM2014]: all_reduce leaves out device 2\n" + kAt +
                "  need: devices 0 to 3, each in a group\n"
                "  have: 3 in groups\n"
                "  help: put every device in a group; a group may hold one device alone\n");
  EXPECT_EQ(errorOf(collective("all_gather",
                               std::string("all_gather_dim = 0 : i64, ") + kChannel +
                                   groups("[[0, 1, 2], [3, -1, -1]]", "2x3") + global,
                               "", "tensor<3x4xi32>")),
            "error[SM2014]: the groups of all_gather differ in size\n" + kAt +
                "  need: groups of one size\n"
                "  have: groups of 3 and 1 devices\n"
                "  help: split the devices into groups of one size\n");
  EXPECT_EQ(
      errorOf(collective("collective_permute",
                         std::string(kChannel) + "source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>")),
      "error[SM2014]: collective_permute names device 0 twice\n" + kAt +
          "  need: each device at most once as a source\n"
          "  have: device 0 twice\n"
          "  help: name each device once, in axis_index_groups or in the pairs of ppermute\n");
  EXPECT_EQ(errorOf(collective("collective_permute",
                               std::string(kChannel) + "source_target_pairs = dense<[[0, 4]]> : tensor<1x2xi64>")),
            "error[SM2014]: collective_permute names a device that is not there\n" + kAt +
                "  need: devices 0 to 3\n"
                "  have: device 4\n"
                "  help: call it inside a shard_map over a mesh of that many devices\n");
}

TEST(Collectives, SM2014_ShapesThatDoNotFitTheGroups) {
  const std::string all = groups("[[0, 1, 2, 3]]", "1x4");
  EXPECT_EQ(
      errorOf(collective("all_gather", "all_gather_dim = 0 : i64, " + (kChannel + all) + ", use_global_device_ids", "",
                         "tensor<2x4xi32>")),
      "error[SM2014]: all_gather does not fit its groups of 4 devices\n" + kAt +
          "  need: dimension 0 4 times as large as the other's\n"
          "  have: i32[1,4] -> i32[2,4]\n"
          "  help: export the module again; it was edited or truncated\n");
  EXPECT_EQ(errorOf(collective("reduce_scatter",
                               "scatter_dimension = 1 : i64, " + (kChannel + all) + ", use_global_device_ids", kReducer,
                               "tensor<1x2xi32>")),
            "error[SM2014]: reduce_scatter does not fit its groups of 4 devices\n" + kAt +
                "  need: dimension 1 4 times as large as the other's\n"
                "  have: i32[1,4] -> i32[1,2]\n"
                "  help: export the module again; it was edited or truncated\n");
  EXPECT_EQ(errorOf(collective(
                "all_to_all",
                "concat_dimension = 0 : i64, split_count = 2 : i64, split_dimension = 1 : i64, " + (kChannel + all), "",
                "tensor<2x2xi32>")),
            "error[SM2014]: all_to_all does not split into one part for each device of a group\n" + kAt +
                "  need: 4 parts\n"
                "  have: 2 parts\n"
                "  help: export the module again; it was edited or truncated\n");
}

TEST(Collectives, OutsideAShardMapThereIsOneDevice) {
  const std::string text = moduleOf(
      "(%arg1: tensor<1x4xi32>) -> tensor<1x4xi32>",
      allReduce(kChannel + groups("[[0, 1]]", "1x2") + ", use_global_device_ids") + "\nreturn %1 : tensor<1x4xi32>");
  const auto results = runText(text, {make({DType::i32, {1, 4}}, {1})});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().str(),
            "error[SM2014]: all_reduce names a device that is not there\n"
            "  --> test.mlir:3:12\n"
            "   in function 'main'\n"
            "  need: device 0\n"
            "  have: device 1\n"
            "  help: call it inside a shard_map over a mesh of that many devices\n");
}

// ---- the older partitioner

TEST(Gspmd, ShardMapsInOtherFormsAreRefused) {
  const auto marked = [](const std::string& sharding) {
    return "module @m attributes {mhlo.num_partitions = 2 : i32} {\n"
           "  func.func public @main(%arg0: tensor<4xi32>) -> tensor<4xi32> {\n"
           "    %0 = stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = \"" +
           sharding +
           "\"} : (tensor<4xi32>) -> tensor<4xi32>\n"
           "    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = \"{manual}\"} : (tensor<4xi32>) "
           "-> "
           "tensor<2xi32>\n"
           "    %2 = call @body(%1) : (tensor<2xi32>) -> tensor<2xi32>\n"
           "    %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = \"{devices=[2]<=[2]}\"} : "
           "(tensor<2xi32>) -> tensor<4xi32>\n"
           "    return %3 : tensor<4xi32>\n  }\n"
           "  func.func private @body(%arg0: tensor<2xi32>) -> tensor<2xi32> {\n"
           "    return %arg0 : tensor<2xi32>\n  }\n}\n";
  };
  const Array x = make({DType::i32, {4}}, {1, 2, 3, 4});
  const auto good = runText(marked("{devices=[2]<=[2]}"), {x});
  ASSERT_TRUE(good) << good.error().str();
  EXPECT_EQ(numbers((*good)[0]), numbers(x));
  const auto at = [&](const std::string& sharding) {
    const auto results = runText(marked(sharding), {x});
    return results ? "" : results.error().str();
  };
  EXPECT_EQ(
      at("{devices=[2]1,0}"),
      "error[SM2004]: this shard_map was lowered for the old partitioner (GSPMD), in a form that is not known here\n"
      "  --> test.mlir:4:10\n"
      "  have: {devices=[2]1,0}\n"
      "  help: lower with `jax.config.update(\"jax_use_shardy_partitioner\", True)`\n");
  for (const char* odd : {"", "{", "{devices=[", "{devices=[]<=[2]}", "{devices=[2]<=[0]}", "{devices=[2]<=[2]T(1)}",
                          "{devices=[2]<=[2]T(0,0)}", "{devices=[3]<=[2]}", "{devices=[2]<=[99999999999999999999]}",
                          "{devices=[2]<=[2,1]T(0)}", "{devices=[4]<=[4]}", "{maximal device=0}"})
    EXPECT_THAT(at(odd), ::testing::StartsWith("error[SM2004]")) << odd;
  // Readable, but no sharding of this array.
  EXPECT_THAT(at("{devices=[1,2]<=[2]}"), ::testing::StartsWith("error[SM2013]"));
  EXPECT_THAT(at("{replicated}"), ::testing::StartsWith("error[SM2006]"));
}

}  // namespace
}  // namespace smalti::driver
