// One small kernel per row of docs/features.md that no other test shows. The row's id begins the test's name.
#include <cmath>

#include <gtest/gtest.h>

#include "smalti/smalti.h"

namespace pl = smalti;
using pl::_;

namespace {

const pl::ShapeDtype kBlock{{8, 128}, pl::f32};
const pl::BlockSpec kRows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};

float at(const pl::Array& a, int64_t i) { return a.as<float>()[i]; }
pl::Array rowNumbers(int64_t rows) { return pl::broadcasted_iota(pl::f32, {rows, 128}, 0); }
/// A kernel of one input and one output of shape [8, 128].
pl::Array run(pl::Kernel kernel, pl::Call call = {}) {
  if (call.out_shape.empty()) call.out_shape = kBlock;
  return pl::pallas_call(std::move(kernel), std::move(call))(rowNumbers(8));
}

TEST(Features, A1_SeveralOutputs) {
  const auto call = pl::pallas_call([](pl::Ref x, pl::Ref o, pl::Ref p) { o[_] = x[_] + 1, p[_] = x[_] * 2; },
                                    {.out_shape = {kBlock, kBlock}});
  const auto [a, b] = call(rowNumbers(8)).take<2>();
  EXPECT_EQ(at(a, 128), 2);
  EXPECT_EQ(at(b, 3 * 128), 6);
}

TEST(Features, A3_AGridSpecBundlesGridAndSpecs) {
  const pl::GridSpec spec{.grid = {2}, .in_specs = {kRows}, .out_specs = {kRows}};
  const pl::Array y =
      pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] + 1; },
                      {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32}, .grid_spec = spec})(rowNumbers(16));
  EXPECT_EQ(at(y, 15 * 128), 16);
}

TEST(Features, A4_GridSizesThatAreKnownAtRunTime) {
  const auto copy = [&](int32_t n) -> pl::Array {
    return pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] + 1; },
                           {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32},
                            .grid = {pl::full({}, n, pl::i32)},
                            .in_specs = {kRows},
                            .out_specs = {kRows},
                            .input_output_aliases = {{0, 0}}})(rowNumbers(16));
  };
  EXPECT_EQ(at(copy(2), 15 * 128), 16);
  EXPECT_EQ(at(copy(1), 0), 1);
}

TEST(Features, A4_GridSizesThatEachCallPasses) {
  int traces = 0;
  const auto add = pl::pallas_call(
      [&](pl::Ref x, pl::Ref o) {
        ++traces;
        o[_] = x[_] + pl::num_programs(0);
      },
      {.out_shape = pl::ShapeDtype{{32, 128}, pl::f32},
       .grid = {pl::dynamic},
       .in_specs = {kRows},
       .out_specs = {kRows},
       .input_output_aliases = {{0, 0}}});
  const pl::Array x = rowNumbers(32);
  for (const int n : {4, 1, 3}) {
    const pl::Array y = add(n, x);
    EXPECT_EQ(at(y, 0), n);
    EXPECT_EQ(at(y, (8 * n - 1) * 128), 8 * n - 1 + n);
    if (n < 4) {
      EXPECT_EQ(at(y, 8 * n * 128), 8 * n) << "the rows after the grid are those of the input";
    }
  }
  EXPECT_EQ(at(add(pl::full({}, 2, pl::i32), x), 0), 2) << "an i32 scalar array";
  EXPECT_TRUE(add.check(2, x).findings.empty());
  EXPECT_EQ(traces, 1) << "one kernel for all sizes";
  EXPECT_NE(pl::unwrap(add.lower(2, x).stablehlo()).find("tensor<i32>"), std::string::npos);
  // Of several axes, some are given by the call.
  const pl::BlockSpec tile{{8, 128}, [](auto i, auto j, auto) { return std::tuple{i, j}; }};
  const auto both =
      pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] + pl::num_programs(0) * 100 + pl::num_programs(2); },
                      {.out_shape = pl::ShapeDtype{{32, 128}, pl::f32},
                       .grid = {{"rows", pl::dynamic}, 1, pl::dynamic},
                       .in_specs = {tile},
                       .out_specs = {tile}});
  EXPECT_EQ(at(both(4, 2, x), 128), 1 + 402);
  // `dynamic` next to a constant array.
  const auto mixed =
      pl::pallas_call([](pl::Ref o) { o[_] = pl::full_like(o, pl::num_programs(0) + pl::num_programs(1)); },
                      {.out_shape = kBlock, .grid = {pl::full({}, 5, pl::i32), pl::dynamic}});
  EXPECT_EQ(at(mixed(7), 0), 12);
}

TEST(Features, A5_ProgramIdsAndCounts) {
  const pl::Array y =
      pl::pallas_call([](pl::Ref o) { o[_] = pl::full_like(o, pl::program_id(0) * 10 + pl::num_programs(0)); },
                      {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32}, .grid = {2}, .out_specs = {kRows}})();
  EXPECT_EQ(at(y, 0), 2);
  EXPECT_EQ(at(y, 8 * 128), 12);
}

TEST(Features, A6_AxesByName) {
  const pl::Array y =
      pl::pallas_call([](pl::Ref o) { o[_] = pl::full_like(o, pl::axis_index("row") * 10 + pl::axis_size("row")); },
                      {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32}, .grid = {{"row", 2}}, .out_specs = {kRows}})();
  EXPECT_EQ(at(y, 8 * 128), 12);
}

TEST(Features, A7_KernelsCaptureNumbers) {
  const double scale = 2.5;
  EXPECT_EQ(at(run([=](pl::Ref x, pl::Ref o) { o[_] = x[_] * scale; }), 2 * 128), 5);
}

TEST(Features, A8_KernelsOfAnyNumberOfRefs) {
  EXPECT_EQ(at(run([](const std::vector<pl::Ref>& refs) { refs.back()[_] = refs[0][_] + 1; }), 128), 2);
}

TEST(Features, A13_Helpers) {
  EXPECT_EQ(pl::cdiv(20, 8), 3);
  EXPECT_EQ(pl::align_to(20, 8), 24);
  EXPECT_EQ(pl::next_power_of_2(20), 32);
  EXPECT_EQ(pl::strides_from_shape({2, 3, 4}), (std::vector<int64_t>{12, 4, 1}));
}

TEST(Features, A14_NameAndMetadataAreExported) {
  const auto call = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
                                    {.out_shape = kBlock, .name = "my_kernel", .metadata = {{"layer", "\"3\""}}});
  const std::string text = pl::unwrap(call.lower(rowNumbers(8)).stablehlo());
  EXPECT_NE(text.find("my_kernel"), std::string::npos);
  EXPECT_NE(text.find(R"(kernel_metadata = "{\22layer\22:\22\\\223\\\22\22}")"), std::string::npos) << text;
}

TEST(Features, B1_BlocksAndIndexMaps) {
  const pl::BlockSpec second{{8, 128}, [](auto) { return std::tuple{1, 0}; }};
  const pl::Array y = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
                                      {.out_shape = kBlock, .grid = {1}, .in_specs = {second}})(rowNumbers(16));
  EXPECT_EQ(at(y, 0), 8);
}

TEST(Features, B2_WithoutSpecsWholeArrays) {
  EXPECT_EQ(at(run([](pl::Ref x, pl::Ref o) { o[_] = x[_]; }, {.grid = {2}, .in_specs = {pl::BlockSpec()}}), 128), 1);
}

TEST(Features, B5_SqueezedAxes) {
  const pl::BlockSpec slab{{pl::squeezed, 8, 128}, [](auto i) { return std::tuple{i, 0, 0}; }};
  const pl::Array x = pl::broadcasted_iota(pl::f32, {2, 8, 128}, 0);
  const pl::Array y = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        EXPECT_EQ(x.shape(), (pl::Shape{8, 128}));
        o[_] = x[_] + 1;
      },
      {.out_shape = pl::ShapeDtype{{2, 8, 128}, pl::f32}, .grid = {2}, .in_specs = {slab}, .out_specs = {slab}})(x);
  EXPECT_EQ(at(y, 8 * 128), 2);
}

TEST(Features, B6_ElementBlocks) {
  const pl::BlockSpec shifted{{pl::Element{8}, pl::Element{128}}, [](auto i) { return std::tuple{i * 4, 0}; }};
  const pl::Array y = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
      {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32}, .grid = {2}, .in_specs = {shifted}, .out_specs = {kRows}})(
      rowNumbers(16));
  EXPECT_EQ(at(y, 8 * 128), 4) << "the second window begins at row 4";
}

TEST(Features, B9_SingleBuffering) {
  pl::BlockSpec single = kRows;
  single.pipeline_mode = pl::Buffered{1};
  EXPECT_EQ(at(run([](pl::Ref x, pl::Ref o) { o[_] = x[_]; }, {.grid = {1}, .in_specs = {single}}), 128), 1);
}

TEST(Features, B10_OutputsThatAreVisitedAgain) {
  pl::BlockSpec again{{8, 128}, [](auto i) { return std::tuple{i % 2, 0}; }};
  again.pipeline_mode = pl::Buffered{.buffer_count = 1, .revisit = pl::RevisitMode::any};
  const pl::Array y = pl::pallas_call(
      [](pl::Ref o) {
        pl::when(pl::program_id(0) < 2, [&] { o[_] = pl::zeros_like(o); });
        o[_] += pl::full_like(o, pl::program_id(0));
      },
      {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32}, .grid = {4}, .out_specs = {again}})();
  EXPECT_EQ(at(y, 0), 0 + 2);
  EXPECT_EQ(at(y, 8 * 128), 1 + 3);
}

TEST(Features, B11_WholeArraysAreCopiedOnce) {
  const auto call =
      pl::pallas_call([](pl::Ref x, pl::Ref y, pl::Ref o) { o[_] = x[_] + y[_]; },
                      {.out_shape = pl::ShapeDtype{{32, 128}, pl::f32},
                       .grid = {4},
                       .in_specs = {kRows, pl::BlockSpec{{8, 128}, [](auto) { return std::tuple{0, 0}; }}},
                       .out_specs = {kRows}});
  const auto report = call.check(rowNumbers(32), rowNumbers(8));
  EXPECT_EQ(report.statistics.window_fetches, 4 + 1);
  EXPECT_EQ(at(report.results[0], 9 * 128), 9 + 1);
}

TEST(Features, B12_IndexMapsCompute) {
  const pl::BlockSpec odd{
      {8, 128}, [](auto i) { return std::tuple{pl::where(i == 0, pl::num_programs(0) - 1, pl::rem(i, 2)), 0}; }};
  const pl::Array y = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
      {.out_shape = pl::ShapeDtype{{24, 128}, pl::f32}, .grid = {3}, .in_specs = {odd}, .out_specs = {kRows}})(
      rowNumbers(24));
  EXPECT_EQ(at(y, 0), 16);
  EXPECT_EQ(at(y, 8 * 128), 8);
}

TEST(Features, C5_ScalarsInSmem) {
  const auto call = pl::pallas_call([](pl::Ref s, pl::Ref x, pl::Ref o) { o[_] = x[_] * s[1]; },
                                    {.out_shape = kBlock, .in_specs = {pl::BlockSpec(pl::smem), pl::BlockSpec()}});
  const pl::Array y = call(pl::array(std::vector<float>{2, 3}), rowNumbers(8));
  EXPECT_EQ(at(y, 128), 3);
}

TEST(Features, C11_MemoryLikeAnother) {
  EXPECT_EQ(pl::vmem.like(rowNumbers(8)).shape, (pl::Shape{8, 128}));
  EXPECT_EQ(at(run(
                   [](pl::Ref x, pl::Ref o) {
                     pl::run_scoped(
                         [&](pl::Ref t) {
                           t[_] = x[_] + 1;
                           o[_] = t[_];
                         },
                         pl::vmem.like(x));
                   },
                   {}),
               128),
            2);
}

TEST(Features, C10_HostMemoryIsCopied) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o, pl::Ref back, pl::Ref buffer) {
        pl::sync_copy(x, o);
        pl::sync_copy(o, buffer);
        buffer[_] = buffer[_] + 1;
        pl::sync_copy(buffer, o);
        pl::sync_copy(o, back);
      },
      {.out_shape = {kBlock, kBlock},
       .in_specs = {pl::BlockSpec(pl::host)},
       .out_specs = {pl::BlockSpec(pl::hbm), pl::BlockSpec(pl::host)},
       .scratch_shapes = {pl::vmem({8, 128}, pl::f32)}});
  const auto report = call.check(rowNumbers(8));
  EXPECT_TRUE(report.findings.empty()) << report.findings[0].diagnostic.str();
  EXPECT_EQ(at(report.results[1], 3 * 128), 4);
  EXPECT_NE(call.lower(rowNumbers(8)).mosaic().find("memory_space<host>"), std::string::npos);
}

TEST(Features, D1_ReadsAndWrites) {
  const pl::Array y = run([](pl::Ref x, pl::Ref o) {
    o[_] = x[_];
    o[0] = x[7];
    o[{pl::ds(1, 2), _}] += 10;
    o[{pl::all_of, pl::ds(0, 1)}] *= 2;
  });
  EXPECT_EQ(at(y, 1), 7);
  EXPECT_EQ(at(y, 128 + 1), 11);
  EXPECT_EQ(at(y, 128), 22);
}

TEST(Features, D2_SlicesFromTracedStarts) {
  const pl::Array y = run([](pl::Ref x, pl::Ref o) { o[_] = x[_], o[0] = x[pl::program_id(0) + 3]; },
                          {.grid = {1}, .in_specs = {kRows}});
  EXPECT_EQ(at(y, 0), 3);
}

TEST(Features, D3_StridedSlices) {
  const pl::Array y =
      run([](pl::Ref x, pl::Ref o) { o[pl::ds(0, 4)] = x[pl::ds(1, 4, 2)], o[pl::ds(4, 4)] = x[pl::ds(2, 4, 0)]; });
  EXPECT_EQ(at(y, 3 * 128), 7);
  EXPECT_EQ(at(y, 6 * 128), 2) << "stride 0 repeats a row";
}

TEST(Features, D4_PartsOfRefs) {
  EXPECT_EQ(at(run([](pl::Ref x, pl::Ref o) { o[_] = x[_], o.at(pl::ds(4, 4)).at(1)[_] = x[0]; }), 5 * 128), 0);
}

TEST(Features, D5_BitcastAndReshape) {
  const pl::Array y = run([](pl::Ref x, pl::Ref o) { o.bitcast(pl::i32)[_] = x.bitcast(pl::i32)[_]; });
  EXPECT_EQ(at(y, 5 * 128), 5);
}

TEST(Features, D6_MaskedStores) {
  const pl::Array y = run([](pl::Ref x, pl::Ref o) { o[_] = x[_], pl::store(o, pl::zeros({8, 128}), x[_] > 3); });
  EXPECT_EQ(at(y, 3 * 128), 3);
  EXPECT_EQ(at(y, 4 * 128), 0);
}

TEST(Features, D7_Swap) {
  const pl::Array y = run([](pl::Ref x, pl::Ref o) {
    o[_] = x[_] + 1;
    const pl::Array before = pl::swap(o, x[_]);
    o[_] += before;
  });
  EXPECT_EQ(at(y, 128), 3);
}

TEST(Features, D12_EmptyArraysAndRefs) {
  const pl::Array e = pl::empty({3, 5}, pl::bf16), like = pl::empty_like(e);
  EXPECT_EQ(e.type(), (pl::ArrayType{pl::bf16, {3, 5}}));
  EXPECT_EQ(like.type(), e.type());
  EXPECT_NE(e.data(), nullptr);
  const pl::Array y = run([](pl::Ref x, pl::Ref o) {
    const pl::Ref t = pl::empty_ref_like(x);
    EXPECT_EQ(t.memory_space(), pl::MemorySpace::vmem);
    t[_] = x[_] + 1;
    o[_] = t[_];
  });
  EXPECT_EQ(at(y, 128), 2);
}

TEST(Features, D14_MultiplesArePassedToTheCompiler) {
  const pl::Array y =
      run([](pl::Ref x, pl::Ref o) { o[_] = x[_], o[0] = x[pl::multiple_of(pl::program_id(0) * 4, 4)]; },
          {.grid = {1}, .in_specs = {pl::BlockSpec()}});
  EXPECT_EQ(at(y, 0), 0);
}

TEST(Features, D15_TouchedRefsCountAsUsed) {
  EXPECT_EQ(at(run([](pl::Ref x, pl::Ref o) { pl::touch(x), o[_] = x[_]; }), 128), 1);
}

TEST(Features, D16_ValuesAreBroadcast) {
  EXPECT_EQ(at(run([](pl::Ref x, pl::Ref o) { o[_] = pl::broadcast_to(x[3], {8, 128}); }), 7 * 128), 3);
}

TEST(Features, E7_InternalScratchIsExported) {
  const auto call = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
                                    {.out_shape = kBlock, .compiler_params = {.internal_scratch_in_bytes = 65536}});
  EXPECT_NE(pl::unwrap(call.lower(rowNumbers(8)).stablehlo()).find("65536"), std::string::npos);
}

TEST(Features, E1_ScratchLivesAsLongAsTheGrid) {
  const pl::Array y = pl::pallas_call(
      [](pl::Ref o, pl::Ref sum) {
        pl::when(pl::program_id(0) == 0, [&] { sum[0] = 0; });
        sum[0] = sum[0] + pl::program_id(0);
        o[_] = pl::full_like(o, sum[0]);
      },
      {.out_shape = pl::ShapeDtype{{32, 128}, pl::f32},
       .grid = {4},
       .out_specs = {kRows},
       .scratch_shapes = {pl::smem({1}, pl::i32)}})();
  EXPECT_EQ(at(y, 24 * 128), 6);
}

TEST(Features, E8_PoisonedBuffers) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o, pl::Ref n) {
        pl::run_scoped(
            [&](pl::Ref floats, pl::Ref integers, pl::Ref halves, pl::Ref scalars) {
              floats[0] = x[0];
              o[_] = floats[_] + pl::astype(halves[pl::ds(0, 8)], pl::f32);
              n[pl::ds(0, 8)] = integers[_];
              n[pl::ds(8, 8)] = pl::full({8, 128}, scalars[{1, 2}]);
            },
            pl::vmem({8, 128}, pl::f32), pl::vmem({8, 128}, pl::i32), pl::vmem({16, 128}, pl::bf16),
            pl::smem({2, 3}, pl::i32));
      },
      {.out_shape = {kBlock, pl::ShapeDtype{{16, 128}, pl::i32}}});
  EXPECT_FALSE(call.check(rowNumbers(8)).findings.empty()) << "memory that nobody wrote is read";
  EXPECT_FALSE(pl::enable_poison_buffers());
  const auto poisoned = call.check(rowNumbers(8));
  EXPECT_TRUE(pl::enable_poison_buffers(false));
  EXPECT_TRUE(poisoned.findings.empty()) << poisoned.findings[0].diagnostic.str();
  EXPECT_TRUE(std::isnan(at(poisoned.results[0], 0)));
  EXPECT_EQ(poisoned.results[1].as<int32_t>()[5], INT32_MIN);
  EXPECT_EQ(poisoned.results[1].as<int32_t>()[8 * 128], INT32_MIN);
}

TEST(Features, I5_StopGradientIsTheValue) {
  EXPECT_EQ(at(run([](pl::Ref x, pl::Ref o) { o[_] = pl::stop_gradient(x[_]) + 1; }), 128), 2);
  EXPECT_EQ(at(pl::optimization_barrier(rowNumbers(8)), 128), 1);
}

TEST(Features, F1_ScalarPrefetchChoosesBlocks) {
  const pl::BlockSpec chosen{{8, 128}, [](auto i, auto table) { return std::tuple{table[i], 0}; }};
  const pl::BlockSpec rows{{8, 128}, [](auto i, auto) { return std::tuple{i, 0}; }};
  const pl::Array y = pl::pallas_call(
      [](pl::Ref table, pl::Ref x, pl::Ref o) { o[_] = x[_] + table[pl::program_id(0)]; },
      {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32},
       .grid_spec = pl::GridSpec{.num_scalar_prefetch = 1, .grid = {2}, .in_specs = {chosen}, .out_specs = {rows}}})(
      pl::array(std::vector<int32_t>{2, 0}), rowNumbers(24));
  EXPECT_EQ(at(y, 0), 16 + 2);
  EXPECT_EQ(at(y, 8 * 128), 0);
}

TEST(Features, F2_PrefetchOfSeveralDtypesAndRanks) {
  const auto call =
      pl::pallas_call([](pl::Ref n, pl::Ref scale, pl::Ref x, pl::Ref o) { o[_] = x[_] * scale[{0, 1}] + n[_]; },
                      {.out_shape = kBlock, .grid = {1}, .in_specs = {pl::BlockSpec()}, .num_scalar_prefetch = 2});
  const pl::Array y = call(pl::full({}, 5, pl::i32), pl::array(std::vector<float>{2, 3}, {1, 2}), rowNumbers(8));
  EXPECT_EQ(at(y, 128), 8);
}

TEST(Features, F3_AliasesCountPrefetchOperands) {
  const auto call =
      pl::pallas_call([](pl::Ref n, pl::Ref x, pl::Ref o) { o[0] = x[0] + n[0]; }, {.out_shape = kBlock,
                                                                                    .grid = {1},
                                                                                    .in_specs = {pl::BlockSpec()},
                                                                                    .num_scalar_prefetch = 1,
                                                                                    .input_output_aliases = {{1, 0}}});
  const pl::Array y = call(pl::array(std::vector<int32_t>{9}), rowNumbers(8));
  EXPECT_EQ(at(y, 0), 9);
}

TEST(Features, L1_CompilerParamsAreExported) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
      {.out_shape = kBlock,
       .grid = {1},
       .in_specs = {pl::BlockSpec()},
       .compiler_params = {
           .dimension_semantics = {pl::parallel}, .vmem_limit_bytes = 1 << 20, .has_side_effects = true}});
  const pl::Lowered lowered = call.lower(rowNumbers(8));
  EXPECT_NE(lowered.mosaic().find("parallel"), std::string::npos);
  EXPECT_NE(pl::unwrap(lowered.stablehlo()).find("1048576"), std::string::npos);
}

TEST(Features, L1_ParametersForGpusRemainWithTheKernel) {
  const auto call = [](const pl::GpuParams& params) {
    return pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] * 2; },
                           {.out_shape = kBlock, .compiler_params = {.gpu = params}});
  };
  const pl::Lowered lowered = call({.num_warps = 2, .turns = false}).lower(rowNumbers(8));
  EXPECT_NE(pl::unwrap(lowered.stablehlo()).find("smalti.gpu = \"num_warps=2 turns=off\""), std::string::npos);
  for (const char* target : {"interpret", "cpu", "cuda-host"}) {
    pl::Settings settings;
    ASSERT_TRUE(settings.set("target", target));
    EXPECT_EQ(at(call({.num_warps = 2}).with(settings).run({rowNumbers(8)}), 128), 2) << target;
  }
  try {
    call({.num_warps = 3})(rowNumbers(8));
    ADD_FAILURE() << "3 warps are possible";
  } catch (const pl::Error& e) {
    EXPECT_EQ(e.diagnostic().code, "SM7209");
    EXPECT_EQ(e.diagnostic().need, "num_warps=1, 2, 4, 8 or 16");
    EXPECT_EQ(e.diagnostic().have, "num_warps=3");
  }
}

TEST(Features, O1_TargetsByName) {
  pl::Settings settings;
  EXPECT_TRUE(settings.set("target", "interpret"));
  pl::use_settings(settings);
  EXPECT_EQ(at(run([](pl::Ref x, pl::Ref o) { o[_] = x[_]; }), 128), 1);
}

}  // namespace
