// emit_pipeline (J, S-C13 … S-C16).
#include <random>

#include <gtest/gtest.h>

#include "Helpers.h"

namespace pl = smalti;
using pl::_, pl::testing::codeOf, pl::testing::everyWay, pl::testing::expectEqual;

namespace {

pl::Array iota(pl::Shape shape) {
  std::vector<float> v(pl::num_elements(shape));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i % 1021);
  return pl::array(v, shape);
}

const pl::BlockSpec kAny{pl::any_space};

/// A kernel of one input and one output in HBM.
template <class K>
pl::PallasCall overHbm(const K& kernel, pl::Shape out) {
  return pl::pallas_call(
      kernel, {.out_shape = pl::ShapeDtype{out, pl::f32}, .in_specs = {kAny}, .out_specs = {kAny}, .name = "pipeline"});
}

TEST(Pipeline, SC13_BufferingIsInvisible) {
  for (const int in : {1, 2, 3, 4})
    for (const int out : {1, 2, 3}) {
      for (const bool lookahead : {false, true}) {
        const auto map = [](auto i) { return std::tuple{i, 0}; };
        const pl::BlockSpec x{{8, 128}, map, {.pipeline_mode = pl::Buffered{in, lookahead}}};
        const pl::BlockSpec o{{8, 128}, map, {.pipeline_mode = pl::Buffered{out}}};
        const auto call = overHbm(
            [&](pl::Ref x_hbm, pl::Ref o_hbm) {
              pl::emit_pipeline([](pl::Ref x, pl::Ref o) { o[_] = x[_] + pl::astype(pl::program_id(0), pl::f32); },
                                {.grid = {5}, .in_specs = {x}, .out_specs = {o}})(x_hbm, o_hbm);
            },
            {40, 128});
        const pl::Array x_value = iota({40, 128}), z = everyWay(call, x_value);
        for (int64_t i = 0; i < z.elements(); ++i)
          ASSERT_EQ(z.as<float>()[i], x_value.as<float>()[i] + static_cast<float>(i / 1024)) << in << " " << out;
      }
    }
}

TEST(Pipeline, SC13_RevisitedInputsAreCopiedOnce) {
  // The block changes every third step only: (i // 3).
  for (const bool lookahead : {false, true}) {
    const pl::BlockSpec x{{8, 128},
                          [](auto i) { return std::tuple{pl::floor_divide(i, 3), 0}; },
                          {.pipeline_mode = pl::Buffered{3, lookahead}}};
    const pl::BlockSpec o{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
    const auto call = overHbm(
        [&](pl::Ref x_hbm, pl::Ref o_hbm) {
          pl::emit_pipeline([](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
                            {.grid = {9}, .in_specs = {x}, .out_specs = {o}})(x_hbm, o_hbm);
        },
        {72, 128});
    const pl::Array x_value = iota({24, 128}), z = everyWay(call, x_value);
    for (int64_t r = 0; r < 72; ++r)
      ASSERT_EQ(z.as<float>()[r * 128], x_value.as<float>()[((r / 24) * 8 + r % 8) * 128]);
    EXPECT_EQ(call.check(x_value).statistics.dma_transfers, 3 + 9);
  }
}

TEST(Pipeline, MatmulAccumulatesInScratch) {
  const int64_t m = 32, k = 384, n = 256;
  const auto call = pl::pallas_call(
      [=](pl::Ref x, pl::Ref y, pl::Ref z, pl::Ref acc) {
        pl::emit_pipeline(
            [](pl::Ref x, pl::Ref y, pl::Ref z, pl::Ref acc) {
              pl::when(pl::program_id(2) == 0, [&] { acc[_] = pl::zeros_like(acc); });
              acc[_] += pl::dot(x[_], y[_]);
              pl::when(pl::program_id(2) == pl::num_programs(2) - 1, [&] { z[_] = acc[_]; });
            },
            {.grid = {m / 16, n / 128, k / 128},
             .in_specs = {pl::BlockSpec{{16, 128}, [](auto i, auto j, auto k) { return std::tuple{i, k}; }},
                          pl::BlockSpec{{128, 128}, [](auto i, auto j, auto k) { return std::tuple{k, j}; }}},
             .out_specs = {pl::BlockSpec{{16, 128}, [](auto i, auto j, auto k) { return std::tuple{i, j}; }}},
             .scratches = {acc}})(x, y, z);
      },
      {.out_shape = pl::ShapeDtype{{m, n}, pl::f32},
       .in_specs = {kAny, kAny},
       .out_specs = {kAny},
       .scratch_shapes = {pl::vmem({16, 128}, pl::f32)}});
  const pl::Array z = everyWay(call, pl::ones({m, k}), pl::full({k, n}, 0.5f));
  for (int64_t i = 0; i < z.elements(); ++i) ASSERT_EQ(z.as<float>()[i], 192);
}

TEST(Pipeline, InputOutputsAreReadAndWrittenBack) {
  const pl::BlockSpec rows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const auto call = overHbm(
      [&](pl::Ref x, pl::Ref o) {
        pl::sync_copy(x, o);
        pl::emit_pipeline([](pl::Ref x, pl::Ref o) { o[_] += x[_] * 2; },
                          {.grid = {4}, .in_specs = {rows}, .out_specs = {rows}, .input_outputs = {0}})(x, o);
      },
      {32, 128});
  expectEqual(everyWay(call, iota({32, 128})), iota({32, 128}) * 3);
}

TEST(Pipeline, DynamicGrid) {
  const pl::BlockSpec rows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const auto call = pl::pallas_call(
      [&](pl::Ref n, pl::Ref x, pl::Ref o) {
        pl::sync_copy(x, o);
        pl::emit_pipeline([](pl::Ref x, pl::Ref o) { o[_] = x[_] + pl::astype(pl::num_programs(0), pl::f32); },
                          {.grid = {n[0].value()}, .in_specs = {rows}, .out_specs = {rows}})(x, o);
      },
      {.out_shape = pl::ShapeDtype{{32, 128}, pl::f32},
       .in_specs = {pl::BlockSpec{pl::smem}, kAny},
       .out_specs = {kAny}});
  for (const int n : {0, 1, 2, 4}) {
    const pl::Array x = iota({32, 128}), z = everyWay(call, pl::array(std::vector<int32_t>{n}), x);
    for (int64_t i = 0; i < z.elements(); ++i)
      ASSERT_EQ(z.as<float>()[i], x.as<float>()[i] + static_cast<float>(i < n * 1024 ? n : 0));
  }
}

TEST(Pipeline, NestedPipelinesHaveTheirOwnGrids) {
  const auto call = overHbm(
      [](pl::Ref x_hbm, pl::Ref o_hbm) {
        const pl::BlockSpec outer{{16, 256}, [](auto i) { return std::tuple{i, 0}; }, {.memory_space = pl::hbm}};
        const pl::BlockSpec inner{{8, 128}, [](auto i, auto j) { return std::tuple{i, j}; }};
        pl::emit_pipeline(
            [&](pl::Ref x_part, pl::Ref o_part) {
              const pl::Array outer_id = pl::program_id(0);
              pl::emit_pipeline(
                  [&](pl::Ref x, pl::Ref o) {
                    o[_] = x[_] + pl::astype(outer_id * 100 + pl::program_id(0) * 10 + pl::program_id(1), pl::f32);
                  },
                  {.grid = {2, 2}, .in_specs = {inner}, .out_specs = {inner}})(x_part, o_part);
            },
            {.grid = {3}, .in_specs = {outer}, .out_specs = {outer}})(x_hbm, o_hbm);
      },
      {48, 256});
  const pl::Array x = iota({48, 256}), z = everyWay(call, x);
  for (int64_t r = 0; r < 48; ++r)
    for (int64_t c = 0; c < 256; ++c)
      ASSERT_EQ(z.as<float>()[r * 256 + c],
                x.as<float>()[r * 256 + c] + static_cast<float>(r / 16 * 100 + r % 16 / 8 * 10 + c / 128));
}

TEST(Pipeline, SC15_RefsInVmemAreUsedInPlace) {
  const pl::BlockSpec rows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const auto call = pl::pallas_call(
      [&](pl::Ref x, pl::Ref o) {
        pl::emit_pipeline([](pl::Ref x, pl::Ref o) { o[_] = x[_] * 3; },
                          {.grid = {4}, .in_specs = {rows}, .out_specs = {rows}})(x, o);
      },
      {.out_shape = pl::ShapeDtype{{32, 128}, pl::f32}});
  expectEqual(everyWay(call, iota({32, 128})), iota({32, 128}) * 3);
  EXPECT_EQ(call.lower(iota({32, 128})).mosaic().find("enqueue_dma"), std::string::npos);
}

TEST(Pipeline, TrivialWindowsAreCopiedOnce) {
  const pl::BlockSpec rows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const pl::BlockSpec whole{{8, 128}, [](auto) { return std::tuple{0, 0}; }};
  const auto call = pl::pallas_call(
      [&](pl::Ref x, pl::Ref y, pl::Ref o) {
        pl::emit_pipeline([](pl::Ref x, pl::Ref y, pl::Ref o) { o[_] = x[_] + y[_]; },
                          {.grid = {4}, .in_specs = {rows, whole}, .out_specs = {rows}})(x, y, o);
      },
      {.out_shape = pl::ShapeDtype{{32, 128}, pl::f32}, .in_specs = {kAny, kAny}, .out_specs = {kAny}});
  const pl::Array x = iota({32, 128}), y = pl::ones({8, 128});
  expectEqual(everyWay(call, x, y), x + 1);
  EXPECT_EQ(call.check(x, y).statistics.dma_transfers, 4 + 1 + 4);
}

TEST(Pipeline, SqueezedAxesAndBlocksOfOneAxis) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref v, pl::Ref o) {
        const pl::BlockSpec plane{{pl::squeezed, 8, 128}, [](auto i) { return std::tuple{i, 0, 0}; }};
        const pl::BlockSpec line{{128}, [](auto i) { return std::tuple{i}; }};
        pl::emit_pipeline([](pl::Ref x, pl::Ref v, pl::Ref o) { o[_] = x[_] + v[_]; },
                          {.grid = {3}, .in_specs = {plane, line}, .out_specs = {plane}})(x, v, o);
      },
      {.out_shape = pl::ShapeDtype{{3, 8, 128}, pl::f32}, .in_specs = {kAny, kAny}, .out_specs = {kAny}});
  const pl::Array x = iota({3, 8, 128}), v = iota({384}), z = everyWay(call, x, v);
  for (int64_t i = 0; i < z.elements(); ++i)
    ASSERT_EQ(z.as<float>()[i], x.as<float>()[i] + v.as<float>()[i / 1024 * 128 + i % 128]);
}

TEST(Pipeline, BoundedSlicesHaveTracedSizes) {
  // Rows 0-8, 8-24, 24-32, by starts and sizes in SMEM.
  const auto call = pl::pallas_call(
      [](pl::Ref starts, pl::Ref x, pl::Ref o) {
        const pl::BlockSpec part{{pl::BoundedSlice{16}, 128},
                                 [&](auto i) { return std::tuple{pl::ds(starts[i], starts[i + 1] - starts[i]), 0}; }};
        pl::emit_pipeline([](pl::Ref x, pl::Ref o) { o[_] = x[_] * 2; },
                          {.grid = {3}, .in_specs = {part}, .out_specs = {part}})(x, o);
      },
      {.out_shape = pl::ShapeDtype{{32, 128}, pl::f32},
       .in_specs = {pl::BlockSpec{pl::smem}, kAny},
       .out_specs = {kAny}});
  const pl::Array x = iota({32, 128});
  expectEqual(call(pl::array(std::vector<int32_t>{0, 8, 24, 32}), x), x * 2);
}

TEST(Pipeline, NoPipeliningComputesTheSame) {
  const pl::BlockSpec rows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const auto call = overHbm(
      [&](pl::Ref x, pl::Ref o) {
        pl::emit_pipeline([](pl::Ref x, pl::Ref o) { o[_] = x[_] * 2; },
                          {.grid = {4}, .in_specs = {rows}, .out_specs = {rows}, .no_pipelining = true})(x, o);
      },
      {32, 128});
  expectEqual(everyWay(call, iota({32, 128})), iota({32, 128}) * 2);
}

TEST(Pipeline, RandomShapesAgreeWithAPlainLoop) {
  std::mt19937 random(7);
  const auto pick = [&](std::vector<int64_t> from) { return from[random() % from.size()]; };
  for (int round = 0; round < 12; ++round) {
    const int64_t rows = pick({8, 24, 40, 56, 64}), columns = pick({128, 256, 384, 512});
    const int64_t block_rows = pick({8, 16, 32}), block_columns = pick({128, 256});
    const pl::BlockSpec block{{block_rows, block_columns},
                              [](auto i, auto j) { return std::tuple{i, j}; },
                              {.pipeline_mode = pl::Buffered{static_cast<int>(pick({1, 2, 3}))}}};
    const auto call = overHbm(
        [&](pl::Ref x, pl::Ref o) {
          pl::emit_pipeline([](pl::Ref x, pl::Ref o) { o[_] = x[_] * 2 + 1; },
                            {.grid = {pl::cdiv(rows, block_rows), pl::cdiv(columns, block_columns)},
                             .in_specs = {block},
                             .out_specs = {block}})(x, o);
        },
        {rows, columns});
    const pl::Array x = iota({rows, columns});
    SCOPED_TRACE(testing::Message() << rows << "x" << columns << " by " << block_rows << "x" << block_columns);
    pl::Array z = call(x);
    expectEqual(z, x * 2 + 1);
    for (const auto& f : call.check(x).findings) ADD_FAILURE() << f.diagnostic.str();
  }
}

/// One pipeline per part of three, all in the same buffers; `change` may spoil them.
pl::PallasCall inAllocations(const std::function<std::vector<pl::Ref>(std::vector<pl::Ref>)>& change) {
  return overHbm(
      [=](pl::Ref x, pl::Ref o) {
        const pl::BlockSpec in{
            {8, 128}, [](auto i) { return std::tuple{i, 0}; }, {.pipeline_mode = pl::Buffered{3, true}}};
        const pl::BlockSpec rows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
        const auto pipeline =
            pl::emit_pipeline([](pl::Ref x, pl::Ref o) { o[_] = x[_] * pl::astype(pl::program_id(0) + 1, pl::f32); },
                              {.grid = {4}, .in_specs = {in}, .out_specs = {rows}});
        pl::run_scoped(
            [&](const std::vector<pl::Ref>& memory) {
              const auto here = pipeline.with_allocations(change(memory));
              pl::fori_loop(0, 3, [&](auto i) { here(x.at(i), o.at(i)); });
            },
            pipeline.make_allocations(x.at(0), o.at(0)));
      },
      {3, 32, 128});
}

TEST(Pipeline, J7_AllocationsServeSeveralPipelines) {
  const auto call = inAllocations([](std::vector<pl::Ref> memory) { return memory; });
  const pl::Array x = iota({3, 32, 128}), z = everyWay(call, x);
  for (int64_t i = 0; i < z.elements(); ++i)
    ASSERT_EQ(z.as<float>()[i], x.as<float>()[i] * static_cast<float>(i / 1024 % 4 + 1));
}

TEST(Pipeline, WrongAllocationsAreRefused) {
  const auto code = [](const std::function<void(std::vector<pl::Ref>&)>& spoil) {
    return codeOf([&] {
      inAllocations([&](std::vector<pl::Ref> memory) { return spoil(memory), memory; }).lower(iota({3, 32, 128}));
    });
  };
  EXPECT_EQ(code([](auto&) {}), "");
  EXPECT_EQ(code([](auto& memory) { memory.pop_back(); }), "SM6527");
  EXPECT_EQ(code([](auto& memory) { std::swap(memory[0], memory[1]); }), "SM6527");
}

/// x * 2 by blocks of [8, 128], with `count` buffers each way, each copy and wait by hand.
pl::PallasCall byHand(int64_t rows, int count) {
  return overHbm(
      [=](pl::Ref x_hbm, pl::Ref o_hbm) {
        const pl::BlockSpec block{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
        const auto in = pl::BufferedRef::input(block, x_hbm, count), out = pl::BufferedRef::output(block, o_hbm, count);
        auto types = in.memory();
        const auto outTypes = out.memory();
        types.insert(types.end(), outTypes.begin(), outTypes.end());
        pl::run_scoped(
            [&](const std::vector<pl::Ref>& memory) {
              const auto middle = memory.begin() + static_cast<std::ptrdiff_t>(in.memory().size());
              const auto x = in.with_memory({memory.begin(), middle}), o = out.with_memory({middle, memory.end()});
              const int64_t steps = pl::cdiv(rows, 8);
              auto ahead = x;
              for (int64_t i = 0; i + 1 < count && i < steps; ++i, ahead = ahead.advance_copy_in_slot())
                ahead.copy_in(x_hbm, {i});
              pl::fori_loop(
                  0, steps,
                  [&](auto i, auto carry) {
                    auto [fetched, written] = carry;
                    auto now = x.with_slot_index({.copy_in_slot = fetched, .wait_in_slot = i});
                    const pl::Array comes = i + (count - 1) < steps;
                    pl::when(comes, [&] { now.copy_in(x_hbm, {i + (count - 1)}); });
                    now = now.advance_copy_in_slot(comes);
                    now.wait_in(x_hbm, {i});
                    auto to = o.with_slot_index({.copy_out_slot = i, .wait_out_slot = written});
                    const pl::Array full = i - written >= count;
                    pl::when(full, [&] { to.wait_out(o_hbm, {written}); });
                    to = to.advance_wait_out_slot(full);
                    to.current_ref()[_] = now.current_ref()[_] * 2;
                    to.copy_out(o_hbm, {i});
                    return std::pair{now.cumulative_copy_in(), to.cumulative_wait_out()};
                  },
                  std::pair{ahead.cumulative_copy_in(), pl::full({}, 0, pl::i32)});
              for (int64_t i = std::max<int64_t>(steps - count, 0); i < steps; ++i)
                o.with_slot_index({.wait_out_slot = i}).wait_out(o_hbm, {i});
            },
            types);
      },
      {rows, 128});
}

TEST(Pipeline, J8_BuffersManagedByHand) {
  for (const int count : {1, 2, 3})
    for (const int64_t rows : {8, 40, 44}) {
      SCOPED_TRACE(testing::Message() << count << " buffers, " << rows << " rows");
      const auto call = byHand(rows, count);
      const pl::Array x = iota({rows, 128});
      expectEqual(everyWay(call, x), x * 2);
      for (const auto& f : call.check(x).findings) ADD_FAILURE() << f.diagnostic.str();
    }
}

TEST(Pipeline, J8_BlocksThatTheKernelHasFetched) {
  for (const bool lookahead : {false, true})
    for (const int count : {1, 2, 3})
      for (int fetched = 1; fetched <= count; ++fetched)
        for (const int64_t steps : {4, 1}) {
          SCOPED_TRACE(testing::Message() << fetched << " of " << count << ", steps " << steps << ' ' << lookahead);
          const auto call = overHbm(
              [&](pl::Ref x_hbm, pl::Ref o_hbm) {
                // Two steps share a block, so that the n-th buffer is not the n-th step's.
                const pl::BlockSpec ahead{
                    {8, 128},
                    [](auto i) { return std::tuple{pl::floor_divide(i, 2), 0}; },
                    {.pipeline_mode =
                         pl::Buffered{.buffer_count = count, .use_lookahead = lookahead, .prefetched_count = fetched}}};
                const pl::BlockSpec rows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
                const auto copy = pl::emit_pipeline([](pl::Ref x, pl::Ref o) { o[_] = x[_] + 1; },
                                                    {.grid = {2 * steps}, .in_specs = {ahead}, .out_specs = {rows}});
                pl::run_scoped(
                    [&](pl::Ref window) {
                      for (int64_t i = 0; i < std::min<int64_t>(fetched, steps); ++i)
                        pl::sync_copy(x_hbm.at(pl::ds(i * 8, 8)), window.at(i));
                      copy.with_window_ref(0, window)(x_hbm, o_hbm);
                    },
                    pl::vmem({count, 8, 128}, pl::f32));
              },
              {16 * steps, 128});
          const pl::Array x = iota({8 * steps, 128}), z = everyWay(call, x);
          for (int64_t i = 0; i < z.elements(); ++i)
            ASSERT_EQ(z.as<float>()[i], x.as<float>()[i / 2048 * 1024 + i % 1024] + 1);
          for (const auto& f : call.check(x).findings) ADD_FAILURE() << f.diagnostic.str();
        }
}

TEST(Pipeline, J8_AWholeArrayThatTheKernelHasFetched) {
  const auto call = overHbm(
      [&](pl::Ref x_hbm, pl::Ref o_hbm) {
        const pl::BlockSpec whole{{32, 128},
                                  [](auto) { return std::tuple{0, 0}; },
                                  {.pipeline_mode = pl::Buffered{.buffer_count = 1, .prefetched_count = 1}}};
        const pl::BlockSpec rows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
        const auto copy = pl::emit_pipeline(
            [](pl::Ref x, pl::Ref o) { o[_] = x[pl::ds(pl::multiple_of(pl::program_id(0) * 8, 8), 8)]; },
            {.grid = {4}, .in_specs = {whole}, .out_specs = {rows}});
        pl::run_scoped(
            [&](pl::Ref window) {
              window[_] = 7.0f;  // the pipeline must not fetch it again
              copy.with_window_ref(0, window)(x_hbm, o_hbm);
            },
            pl::vmem({32, 128}, pl::f32));
      },
      {32, 128});
  expectEqual(everyWay(call, iota({32, 128})), pl::full({32, 128}, 7.0f));
}

TEST(Pipeline, WrongPipelinesAreRefused) {
  const pl::BlockSpec rows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const auto code = [&](pl::Pipeline p, int refs = 2, pl::Shape shape = {32, 128}) {
    return codeOf([&] {
      overHbm(
          [&](pl::Ref x, pl::Ref o) {
            const auto run = pl::emit_pipeline([](pl::Ref x, pl::Ref o) { o[_] = x[_]; }, p);
            refs == 1 ? run(x) : run(x, o);
          },
          shape)
          .lower(iota(shape));
    });
  };
  const auto with = [&](pl::BlockSpec in, pl::BlockSpec out) {
    return pl::Pipeline{.grid = {4}, .in_specs = {in}, .out_specs = {out}};
  };
  EXPECT_EQ(code({.grid = {0}, .in_specs = {rows}, .out_specs = {rows}}), "SM6520");
  EXPECT_EQ(
      code({.grid = {4}, .in_specs = {rows}, .out_specs = {rows}, .dimension_semantics = {pl::parallel, pl::parallel}}),
      "SM6520");
  EXPECT_EQ(code(with(rows, rows), 1), "SM6521");
  EXPECT_EQ(code(with(pl::BlockSpec{{8}, [](auto i) { return std::tuple{i}; }}, rows)), "SM6521");
  pl::BlockSpec wrong = rows;
  wrong.pipeline_mode = pl::Buffered{0};
  EXPECT_EQ(code(with(wrong, rows)), "SM6522");
  wrong.pipeline_mode = pl::Buffered{2, true};
  EXPECT_EQ(code(with(rows, wrong)), "SM6522");
  EXPECT_EQ(code(with(pl::BlockSpec{{8, 128}, [](auto i, auto j) { return std::tuple{i, j}; }}, rows)), "SM6523");
  EXPECT_EQ(code(with(pl::BlockSpec{{pl::BoundedSlice{8}, 128}, [](auto i) { return std::tuple{i, 0}; }}, rows)),
            "SM6523");
  wrong = rows;
  wrong.memory_space = pl::host;
  EXPECT_EQ(code(with(wrong, rows)), "SM6524");
  EXPECT_EQ(code(with(pl::BlockSpec{{12, 128}, [](auto i) { return std::tuple{i, 0}; }}, rows)), "SM6525");
  EXPECT_EQ(code({.grid = {4}, .in_specs = {rows, rows}, .out_specs = {}}), "");
  EXPECT_EQ(code({.grid = {4}, .in_specs = {rows}, .out_specs = {rows}, .scratches = {pl::Ref()}}), "SM6526");
}

}  // namespace
