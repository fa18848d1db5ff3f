// Programs of one small collective: the direct result is that of the runner, and programs that do more are not taken.
#include <cstring>

#include <fmt/format.h>

#include "RunText.h"
#include "driver/program/ProgramRunner.h"

namespace smalti::driver {
namespace {

using namespace testing;

constexpr const char* kAll =
    "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1, 2, 3]]> : "
    "tensor<1x4xi64>, use_global_device_ids";
constexpr const char* kExchange =
    "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1, 2, 3]]> : "
    "tensor<1x4xi64>";
constexpr const char* kAdd =
    " ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%s = stablehlo.add %a, %b : tensor<f32>\n"
    "stablehlo.return %s : tensor<f32>\n})";

struct Case {
  std::string op, attributes, region;
  std::string part, received;    ///< types on each device
  std::string argument, result;  ///< global types
  std::string in = "{\"x\"}, {}", out = "{\"x\"}, {}";
  std::string more;  ///< ops after the collective, which define %2
  bool isDirect = true;
};

std::string text(const Case& c) {
  return fmt::format(
      "module @m {{\n  sdy.mesh @mesh = <[\"x\"=4]>\n  func.func public @main(%arg0: {4}) -> {5} {{\n"
      "    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{6}]>] out_shardings=[<@mesh, [{7}]>] "
      "manual_axes={{\"x\"}} (%arg1: {2}) {{\n"
      "      %1 = \"stablehlo.{0}\"(%arg1) <{{{1}}}>{9} : ({2}) -> {3}\n{8}"
      "      sdy.return {10} : {3}\n    }} : ({4}) -> {5}\n    return %0 : {5}\n  }}\n}}\n",
      c.op, c.attributes, c.part, c.received, c.argument, c.result, c.in, c.out, c.more, c.region,
      c.more.empty() ? "%1" : "%2");
}

void expectSame(const Case& c) {
  SCOPED_TRACE(text(c));
  auto program = interop::importStableHlo(text(c), "test.mlir");
  ASSERT_TRUE(program) << program.error().str();
  const auto compiled = compileProgram(std::make_shared<Program>(std::move(*program)), {});
  ASSERT_TRUE(compiled) << compiled.error().str();
  ASSERT_EQ((*compiled)->direct.has_value(), c.isDirect);
  const Function& main = (*compiled)->program->functions[static_cast<size_t>((*compiled)->program->main)];
  std::vector<double> values;
  for (int64_t i = 0; i < main.values[main.arguments[0]].elements(); ++i) values.push_back(1.5 * i * i - 40 * i);
  const Array argument = make(main.values[main.arguments[0]], values);
  const auto expected = run(**compiled, {argument}, {});
  ASSERT_TRUE(expected) << expected.error().str();
  if (!c.isDirect) return;
  const auto got = (*compiled)->direct->run(argument);
  ASSERT_TRUE(got);
  ASSERT_EQ(got->type(), expected->results[0].type());
  EXPECT_EQ(std::memcmp(got->data(), expected->results[0].data(), static_cast<size_t>(got->bytes())), 0);
}

TEST(DirectCollective, AReductionIsThatOfTheRunner) {
  expectSame({"all_reduce", kAll, kAdd, "tensor<2x3xf32>", "tensor<2x3xf32>", "tensor<8x3xf32>", "tensor<2x3xf32>",
              "{\"x\"}, {}", "{}, {}"});
  expectSame({"reduce_scatter", std::string("scatter_dimension = 0 : i64, ") + kAll, kAdd, "tensor<8x3xf32>",
              "tensor<2x3xf32>", "tensor<32x3xf32>", "tensor<8x3xf32>"});
}

TEST(DirectCollective, AGatherIsThatOfTheRunner) {
  expectSame({"all_gather", std::string("all_gather_dim = 0 : i64, ") + kAll, "", "tensor<2x3xf32>", "tensor<8x3xf32>",
              "tensor<8x3xf32>", "tensor<8x3xf32>", "{\"x\"}, {}", "{}, {}"});
}

TEST(DirectCollective, AnExchangeOfPiecesIsThatOfTheRunner) {
  const std::string count = "split_count = 4 : i64, ";
  expectSame({"all_to_all", "split_dimension = 0 : i64, concat_dimension = 0 : i64, " + count + kExchange, "",
              "tensor<8x3xf32>", "tensor<8x3xf32>", "tensor<32x3xf32>", "tensor<32x3xf32>"});
  expectSame({"all_to_all", "split_dimension = 1 : i64, concat_dimension = 0 : i64, " + count + kExchange, "",
              "tensor<1x4x3xf32>", "tensor<4x1x3xf32>", "tensor<4x4x3xf32>", "tensor<16x1x3xf32>", "{\"x\"}, {}, {}",
              "{\"x\"}, {}, {}"});
}

TEST(DirectCollective, OtherProgramsAreLeftToTheRunner) {
  Case c{"all_reduce",      kAll,          kAdd,    "tensor<2x4xf32>", "tensor<2x4xf32>", "tensor<8x4xf32>",
         "tensor<2x4xf32>", "{\"x\"}, {}", "{}, {}"};
  c.isDirect = false;
  Case more = c;
  more.more = "      %2 = stablehlo.negate %1 : tensor<2x4xf32>\n";
  expectSame(more);
  Case columns = c;  // parts that are not contiguous
  columns.argument = "tensor<2x16xf32>";
  columns.in = "{}, {\"x\"}";
  expectSame(columns);
  Case groups = c;
  groups.attributes =
      "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : "
      "tensor<2x2xi64>, use_global_device_ids";
  groups.result = "tensor<8x4xf32>";
  groups.out = "{\"x\"}, {}";
  expectSame(groups);
  Case order = c;  // in which the sum is taken
  order.attributes =
      "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[1, 0, 2, 3]]> : "
      "tensor<1x4xi64>, use_global_device_ids";
  expectSame(order);
  Case large = c;
  large.part = large.received = large.result = "tensor<64x1024xf32>";
  large.argument = "tensor<256x1024xf32>";
  expectSame(large);
}

}  // namespace
}  // namespace smalti::driver
