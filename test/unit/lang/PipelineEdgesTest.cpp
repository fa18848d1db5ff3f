// Pipelines and copies over arrays in HBM that no block divides: arrays lie there in whole tiles, and copies may reach
// into what the last tile holds past the array's end.
#include <cmath>
#include <cstring>
#include <string_view>

#include <gtest/gtest.h>

#include "../LongTest.h"
#include "Helpers.h"

namespace pl = smalti;
using pl::_;

namespace {

const pl::BlockSpec kAny{pl::any_space};

pl::Array numbers(pl::DType dtype, const pl::Shape& shape) {
  std::vector<float> v(static_cast<size_t>(pl::num_elements(shape)));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(static_cast<int>(i * 7 % 51) - 25);
  return pl::astype(pl::array(v, shape), dtype);
}

void expectSame(const pl::Array& have, const pl::Array& want) {
  ASSERT_EQ(have.type(), want.type());
  const pl::Array a = pl::astype(have, pl::f32), b = pl::astype(want, pl::f32);
  for (int64_t i = 0; i < a.elements(); ++i) ASSERT_EQ(a.as<float>()[i], b.as<float>()[i]) << "element " << i;
}

/// In every order of copies, under the observers, and natively.
template <class... A>
void expectEveryWay(const pl::PallasCall& call, const pl::Array& want, const A&... x) {
  expectSame(pl::testing::everyWay(call, x...), want);
  pl::Settings settings;
  ASSERT_TRUE(settings.set("target", "cpu"));
  pl::use_settings(settings);
  expectSame(call(x...), want);
  pl::use_settings(pl::Settings());
}

struct Edges {
  pl::Shape array, block;
};
const Edges kEdges[] = {{{20, 8}, {8, 8}},      {{250, 130}, {64, 128}}, {{23, 37}, {8, 128}},  {{3, 300}, {8, 128}},
                        {{64, 200}, {32, 128}}, {{9, 128}, {16, 128}},   {{33, 129}, {32, 256}}};
constexpr pl::DType kDTypes[] = {pl::f32, pl::bf16, pl::i8, pl::i32};

TEST(PipelineEdges, SB6_BlocksOverTheEdgesAreCopiedInWholeTiles) {
  SMALTI_LONG_TEST();
  for (const pl::DType dtype : kDTypes)
    for (const Edges& e : kEdges)
      for (const int buffers : {1, 2, 3}) {
        SCOPED_TRACE(testing::Message() << name(dtype) << ' ' << e.array[0] << 'x' << e.array[1] << ' ' << buffers);
        const pl::BlockSpec block{{e.block[0], e.block[1]},
                                  [](auto i, auto j) { return std::tuple{i, j}; },
                                  {.pipeline_mode = pl::Buffered{buffers}}};
        const auto call = pl::pallas_call(
            [&](pl::Ref x, pl::Ref o) {
              pl::emit_pipeline([](pl::Ref x, pl::Ref o) { o[_] = x[_] * 2 + 1; },
                                {.grid = {pl::cdiv(e.array[0], e.block[0]), pl::cdiv(e.array[1], e.block[1])},
                                 .in_specs = {block},
                                 .out_specs = {block}})(x, o);
            },
            {.out_shape = pl::ShapeDtype{e.array, dtype}, .in_specs = {kAny}, .out_specs = {kAny}});
        const pl::Array x = numbers(dtype, e.array);
        expectEveryWay(call, x * 2 + 1, x);
      }
}

TEST(PipelineEdges, LookaheadAndNoPipelining) {
  const pl::BlockSpec in{
      {8, 128}, [](auto i, auto j) { return std::tuple{i, j}; }, {.pipeline_mode = pl::Buffered{3, true}}};
  const pl::BlockSpec out{{8, 128}, [](auto i, auto j) { return std::tuple{i, j}; }};
  for (const bool no_pipelining : {false, true}) {
    const auto call = pl::pallas_call(
        [&](pl::Ref x, pl::Ref o) {
          pl::emit_pipeline([](pl::Ref x, pl::Ref o) { o[_] = x[_] + 3; }, {.grid = {3, 2},
                                                                            .in_specs = {no_pipelining ? out : in},
                                                                            .out_specs = {out},
                                                                            .no_pipelining = no_pipelining})(x, o);
        },
        {.out_shape = pl::ShapeDtype{{19, 200}, pl::f32}, .in_specs = {kAny}, .out_specs = {kAny}});
    const pl::Array x = numbers(pl::f32, {19, 200});
    expectEveryWay(call, x + 3, x);
  }
}

TEST(PipelineEdges, AccumulatesIntoTheArray) {
  // Sums of columns: blocks of rows, the last of which has rows outside of the array.
  const int64_t rows = 20, columns = 200;
  const auto call = pl::pallas_call(
      [&](pl::Ref x, pl::Ref o) {
        pl::emit_pipeline(
            [&](pl::Ref x, pl::Ref o) {
              pl::when(pl::program_id(1) == 0, [&] { o[_] = pl::zeros_like(o); });
              const pl::Array row = pl::broadcasted_iota(pl::i32, {8, 128}, 0) + pl::program_id(1) * 8;
              o[_] += pl::sum(pl::where(row < rows, x[_], 0.0f), {.axes = {0}, .keepdims = true});
            },
            {.grid = {2, 3},
             .in_specs = {pl::BlockSpec{{8, 128}, [](auto j, auto i) { return std::tuple{i, j}; }}},
             .out_specs = {pl::BlockSpec{{1, 128}, [](auto j, auto) { return std::tuple{0, j}; }}}})(x, o);
      },
      {.out_shape = pl::ShapeDtype{{1, columns}, pl::f32}, .in_specs = {kAny}, .out_specs = {kAny}});
  const pl::Array x = numbers(pl::f32, {rows, columns});
  expectEveryWay(call, pl::sum(x, {.axes = {0}, .keepdims = true}), x);
}

TEST(PipelineEdges, InputOutputs) {
  const pl::BlockSpec block{{8, 128}, [](auto i, auto j) { return std::tuple{i, j}; }};
  const auto call = pl::pallas_call(
      [&](pl::Ref x, pl::Ref, pl::Ref o) {
        pl::emit_pipeline([](pl::Ref x, pl::Ref o) { o[_] += x[_]; },
                          {.grid = {3, 2}, .in_specs = {block}, .out_specs = {block}, .input_outputs = {0}})(x, o);
      },
      {.out_shape = pl::ShapeDtype{{21, 140}, pl::f32},
       .in_specs = {kAny, kAny},
       .out_specs = {kAny},
       .input_output_aliases = {{1, 0}}});
  const pl::Array x = numbers(pl::f32, {21, 140}), y = pl::full({21, 140}, 0.5f);
  expectEveryWay(call, x + y, x, y);
}

TEST(PipelineEdges, SqueezedAxesAndOneAxis) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref v, pl::Ref o) {
        pl::emit_pipeline(
            [](pl::Ref x, pl::Ref v, pl::Ref o) { o[_] = x[_] + v[_]; },
            {.grid = {3, 2},
             .in_specs = {pl::BlockSpec{{pl::squeezed, 12, 128}, [](auto b, auto j) { return std::tuple{b, 0, j}; }},
                          pl::BlockSpec{{128}, [](auto, auto j) { return std::tuple{j}; }}},
             .out_specs = {
                 pl::BlockSpec{{pl::squeezed, 12, 128}, [](auto b, auto j) { return std::tuple{b, 0, j}; }}}})(x, v, o);
      },
      {.out_shape = pl::ShapeDtype{{3, 12, 200}, pl::f32}, .in_specs = {kAny, kAny}, .out_specs = {kAny}});
  const pl::Array x = numbers(pl::f32, {3, 12, 200}), v = numbers(pl::f32, {200});
  expectEveryWay(call, x + v, x, v);
}

TEST(PipelineEdges, ElementBlocksEndInTheLastTile) {
  // Rows 0-15, 8-23: the second has four rows of padding.
  const pl::BlockSpec halo{{pl::Element{16}, pl::Element{128}}, [](auto i) { return std::tuple{i * 8, 0}; }};
  const pl::BlockSpec rows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const auto call = pl::pallas_call(
      [&](pl::Ref x, pl::Ref o) {
        pl::emit_pipeline([](pl::Ref x, pl::Ref o) { o[_] = x[pl::ds(0, 8)] - 1; },
                          {.grid = {3}, .in_specs = {halo}, .out_specs = {rows}})(x, o);
      },
      {.out_shape = pl::ShapeDtype{{20, 128}, pl::f32}, .in_specs = {kAny}, .out_specs = {kAny}});
  const pl::Array x = numbers(pl::f32, {20, 128});
  expectEveryWay(call, x - 1, x);
}

TEST(PipelineEdges, PaddingIsUndefined) {
  // The sum takes in the padding of the last block.
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        pl::emit_pipeline([](pl::Ref x, pl::Ref o) { o[_] = pl::sum(x[_], {.axes = {0}, .keepdims = true}); },
                          {.grid = {3},
                           .in_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i, 0}; }}},
                           .out_specs = {pl::BlockSpec{{1, 128}, [](auto i) { return std::tuple{i, 0}; }}}})(x, o);
      },
      {.out_shape = pl::ShapeDtype{{3, 128}, pl::f32}, .in_specs = {kAny}, .out_specs = {kAny}});
  const auto by_hand =
      pl::pallas_call([](pl::Ref at, pl::Ref x, pl::Ref o) { pl::sync_copy(x.at(pl::ds(at[0], 8)), o); },
                      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .in_specs = {pl::BlockSpec{pl::smem}, kAny}});
  const pl::Array x = numbers(pl::f32, {20, 128}), start = pl::array(std::vector<int32_t>{16});
  const auto expectUndefined = [](const std::vector<pl::Finding>& findings, const char* what) {
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].diagnostic.code, "SM4102");
    EXPECT_NE(findings[0].diagnostic.have.find(what), std::string::npos) << findings[0].diagnostic.have;
  };
  for (const char* target : {"interpret", "cpu"}) {
    pl::Settings settings;
    ASSERT_TRUE(settings.set("target", target));
    pl::use_settings(settings);
    expectUndefined(call.check(x).findings, "128 undefined element(s), the first at [2, 0]");
    expectUndefined(by_hand.check(start, x).findings, "512 undefined element(s), the first at [4, 0]");
    pl::use_settings(pl::Settings());
  }
}

/// Rows [16, 16 + size) of an array of 20 to VMEM and back.
std::string copyRows(int64_t size, int64_t start = 16, pl::Space space = pl::any_space) {
  const auto call = pl::pallas_call(
      [=](pl::Ref at, pl::Ref x, pl::Ref o, pl::Ref buffer) {
        pl::sync_copy(x.at(pl::ds(at[0], size)), buffer);
        pl::sync_copy(buffer, o.at(pl::ds(at[0], size)));
      },
      {.out_shape = pl::ShapeDtype{{20, 128}, pl::f32},
       .in_specs = {pl::BlockSpec{pl::smem}, pl::BlockSpec{space}},
       .out_specs = {pl::BlockSpec{space}},
       .scratch_shapes = {pl::vmem({size, 128}, pl::f32)}});
  return pl::testing::codeOf(
      [&] { call(pl::array(std::vector<int32_t>{static_cast<int32_t>(start)}), numbers(pl::f32, {20, 128})); });
}

TEST(PipelineEdges, SD11_CopiesMayReachTheEndOfTheLastTileOnly) {
  for (const char* target : {"interpret", "cpu"}) {
    pl::Settings settings;
    ASSERT_TRUE(settings.set("target", target));
    pl::use_settings(settings);
    EXPECT_EQ(copyRows(4), "");
    EXPECT_EQ(copyRows(8), "");
    EXPECT_EQ(copyRows(9), "SM4010");
    EXPECT_EQ(copyRows(4, 20), "SM4010");  // padding alone
    EXPECT_EQ(copyRows(8, 16, pl::vmem), "SM4010");
    pl::use_settings(pl::Settings());
  }
}

TEST(PipelineEdges, UndefinedMemoryIsZeroOnRequest) {
  const pl::BlockSpec block{{8, 256}, [](auto i) { return std::tuple{i, 0}; }},
      sums{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o, pl::Ref floats, pl::Ref integers) {
        const pl::Array sum = pl::sum(x[_], {.axes = {1}, .keepdims = true});
        o[_] = sum + floats[_] + pl::astype(integers[_], pl::f32);
      },
      {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32},
       .grid = {2},
       .in_specs = {block},
       .out_specs = {sums},
       .scratch_shapes = {pl::vmem({8, 128}, pl::f32), pl::vmem({8, 128}, pl::i32)}});
  const pl::Array x = numbers(pl::f32, {16, 200});
  const pl::Array wanted = pl::sum(x, {.axes = {1}, .keepdims = true}) + pl::zeros({16, 128});
  for (const char* target : {"interpret", "cpu", "cuda-host"})
    for (const char* poison : {"min", "zero"}) {
      SCOPED_TRACE(testing::Message() << target << ' ' << poison);
      pl::Settings settings;
      ASSERT_TRUE(settings.set("target", target));
      ASSERT_TRUE(settings.set("poison", poison));
      pl::use_settings(settings);
      const pl::Array got = call(x);
      if (poison == std::string_view("zero"))
        expectSame(got, wanted);
      else
        EXPECT_TRUE(std::isnan(*got.as<float>()));
    }
  pl::use_settings(pl::Settings());
}

}  // namespace
