// What must hold whatever a kernel does: errors and exceptions leave the thread clean, threads do not meet, odd sizes
// work.
#include <atomic>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "Helpers.h"

namespace pl = smalti;
using pl::_, pl::testing::codeOf;

namespace {

const pl::ShapeDtype kBlock{{8, 128}, pl::f32};

pl::PallasCall addNumber(float number, std::atomic<int>* traces = nullptr) {
  return pl::pallas_call(
      [=](pl::Ref x, pl::Ref o) {
        if (traces) ++*traces;
        o[_] = x[_] + number;
      },
      {.out_shape = kBlock, .name = "add_number"});
}

float first(const pl::Array& a) { return *a.as<float>(); }

TEST(Robustness, AnExceptionOfTheUserPassesThroughAndLeavesTheThreadClean) {
  bool broken = true;
  const auto call = pl::pallas_call(
      [&](pl::Ref x, pl::Ref o) {
        pl::when(pl::program_id(0) == 0, [&] {
          if (broken) throw std::runtime_error("out of tea");
          o[_] = x[_] * 3;
        });
      },
      {.out_shape = kBlock, .grid = {1}});
  EXPECT_THROW(call(pl::ones({8, 128})), std::runtime_error);
  EXPECT_EQ(codeOf([] { pl::program_id(0); }), "SM6106") << "no kernel is being traced";
  EXPECT_EQ(first(pl::ones({2}) + 1), 2) << "ops compute again";
  broken = false;
  EXPECT_EQ(first(call(pl::ones({8, 128}))), 3) << "the same call is traced anew";
}

TEST(Robustness, AnExceptionInAnIndexMapLeavesTheThreadClean) {
  const pl::BlockSpec broken{{8, 128}, [](auto i) {
                               if (i.rank() == 0) throw std::runtime_error("no map");
                               return std::tuple{i, 0};
                             }};
  const auto call = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
                                    {.out_shape = kBlock, .grid = {1}, .in_specs = {broken}});
  EXPECT_THROW(call(pl::ones({8, 128})), std::runtime_error);
  EXPECT_EQ(codeOf([] { pl::program_id(0); }), "SM6106");
}

TEST(Robustness, AnErrorCaughtInAKernelLeavesItUsable) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        EXPECT_EQ(codeOf([&] { o[_] = x[{0, 0, 0}]; }), "SM6108");
        o[_] = x[_] + 1;
      },
      {.out_shape = kBlock});
  EXPECT_EQ(first(call(pl::ones({8, 128}))), 2);
}

TEST(Robustness, ThreadsTraceAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) right += first(addNumber(float(t * 100 + i))(pl::ones({8, 128}))) == t * 100 + i + 1;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 20);
}

TEST(Robustness, OneCallIsUsedFromManyThreads) {
  std::atomic<int> traces{0}, right{0};
  const auto call = addNumber(5, &traces);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) right += first(call(pl::full({8, 128}, float(t)))) == t + 5;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 20);
  EXPECT_EQ(traces, 1);
}

TEST(Robustness, ThreadsHaveSettingsOfTheirOwn) {
  const auto call = addNumber(1);
  const auto run = [&](const char* semantics) {
    pl::Settings settings;
    pl::unwrap(settings.set("semantics", semantics));
    pl::use_settings(settings);
    for (int i = 0; i < 5; ++i) ASSERT_EQ(first(call(pl::ones({8, 128}))), 2);
  };
  std::thread a(run, "tpu"), b(run, "hlo");
  a.join();
  b.join();
}

/// The machine counts its instructions; native code counts nothing.
TEST(Robustness, ChecksAreCompiledInOnTheCpuTarget) {
  const auto add = addNumber(3);
  const auto reads_undefined = pl::pallas_call([](pl::Ref, pl::Ref o, pl::Ref scratch) { o[_] = scratch[_]; },
                                               {.out_shape = kBlock, .scratch_shapes = {pl::vmem({8, 128}, pl::f32)}});
  const pl::Array x = pl::ones({8, 128});
  pl::Settings cpu;
  ASSERT_TRUE(cpu.set("target", "cpu"));
  pl::use_settings(cpu);
  EXPECT_EQ(first(add(x)), 4);
  const auto clean = add.check(x);
  const auto wrong = reads_undefined.check(x);
  EXPECT_EQ(first(add(x)), 4);
  pl::use_settings(pl::Settings());
  EXPECT_EQ(first(clean.results[0]), 4);
  EXPECT_TRUE(clean.findings.empty());
  EXPECT_EQ(clean.statistics.instructions, 0);
  EXPECT_GT(add.check(x).statistics.instructions, 0);
  ASSERT_EQ(wrong.findings.size(), 1u);
  EXPECT_EQ(wrong.findings[0].diagnostic.str(), reads_undefined.check(x).findings[0].diagnostic.str());
}

TEST(Robustness, AGridOfManyPrograms) {
  const auto count = pl::pallas_call(
      [](pl::Ref o) {
        pl::when(pl::program_id(0) == 0, [&] { o[0] = 0; });
        o[0] = o[0] + 1;
      },
      {.out_shape = pl::ShapeDtype{{1}, pl::i32}, .grid = {1 << 16}, .out_specs = {pl::BlockSpec(pl::smem)}});
  const pl::Array n = count();
  EXPECT_EQ(*n.as<int32_t>(), 1 << 16);
}

TEST(Robustness, NothingToDo) {
  const pl::Array empty = pl::zeros({0, 128});
  EXPECT_EQ((empty + 1).shape(), (pl::Shape{0, 128})) << "ops on arrays without elements";
  const pl::BlockSpec rows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const auto none = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
                                    {.out_shape = kBlock, .grid = {0}, .in_specs = {rows}, .out_specs = {rows}});
  const pl::Array y = none(pl::ones({8, 128}));
  EXPECT_EQ(y.shape(), (pl::Shape{8, 128})) << "a grid without programs writes nothing";
}

// --- Caching ---------------------------------------------------------------------------------------------------------

TEST(Caching, SJ7_ACallIsTracedOncePerSignature) {
  int traces = 0;
  const auto twice = pl::pallas_call(
      [&](pl::Ref x, pl::Ref o) {
        ++traces;
        o[_] = pl::astype(x[_], pl::f32) * 2;
      },
      {.out_shape = kBlock});
  EXPECT_EQ(traces, 0) << "making the call traces nothing";
  EXPECT_EQ(first(twice(pl::ones({8, 128}))), 2);
  EXPECT_EQ(first(twice(pl::full({8, 128}, 4.0f))), 8);
  EXPECT_EQ(traces, 1);
  EXPECT_EQ(first(twice(pl::ones({8, 128}, pl::i32))), 2);
  EXPECT_EQ(traces, 2) << "another dtype is another signature";
  const auto copy = twice;
  copy(pl::ones({8, 128}));
  copy.lower(pl::ones({8, 128}));
  copy.check(pl::ones({8, 128}));
  EXPECT_EQ(traces, 2) << "copies share what was traced";
}

TEST(Caching, SJ7_AChangedClosureIsTracedAgain) {
  std::atomic<int> traces{0};
  EXPECT_EQ(first(addNumber(1, &traces)(pl::zeros({8, 128}))), 1);
  EXPECT_EQ(first(addNumber(2, &traces)(pl::zeros({8, 128}))), 2);
  EXPECT_EQ(traces, 2);
}

// --- Cost ------------------------------------------------------------------------------------------------------------

// The numbers are those of jax.experimental.pallas.estimate_cost (JAX 0.12) for the same arithmetic on whole arrays.
TEST(Cost, SL5_ElementwiseOpsAreOneFlopPerElement) {
  const pl::BlockSpec rows{{256, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref y, pl::Ref o) { o[_] = x[_] + y[_] * 2; },
      {.out_shape = pl::ShapeDtype{{1024, 128}, pl::f32}, .grid = {4}, .in_specs = {rows, rows}, .out_specs = {rows}});
  EXPECT_EQ(pl::estimate_cost(call, pl::zeros({1024, 128}), pl::zeros({1024, 128})),
            (pl::CostEstimate{.flops = 262144, .transcendentals = 0, .bytes_accessed = 1572864}));
}

TEST(Cost, SL5_TranscendentalsAreCountedApart) {
  const auto exponential =
      pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = pl::exp(x[_]) + 1; }, {.out_shape = kBlock});
  EXPECT_EQ(pl::estimate_cost(exponential, pl::zeros({8, 128})),
            (pl::CostEstimate{.flops = 1024, .transcendentals = 1024, .bytes_accessed = 8192}));
  const auto gate = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = pl::tanh(x[_]) * pl::logistic(x[_]) - x[_]; },
                                    {.out_shape = pl::ShapeDtype{{64, 128}, pl::f32}});
  EXPECT_EQ(pl::estimate_cost(gate, pl::zeros({64, 128})),
            (pl::CostEstimate{.flops = 16384, .transcendentals = 16384, .bytes_accessed = 65536}));
}

TEST(Cost, SL5_AProductIsTwoMNK) {
  const auto dot = pl::pallas_call(
      [](pl::Ref x, pl::Ref y, pl::Ref o) { o[_] = pl::dot(x[_], y[_], {.preferred_element_type = pl::f32}); },
      {.out_shape = pl::ShapeDtype{{256, 384}, pl::f32}});
  EXPECT_EQ(pl::estimate_cost(dot, pl::zeros({256, 512}, pl::bf16), pl::zeros({512, 384}, pl::bf16)),
            (pl::CostEstimate{.flops = 100663296, .transcendentals = 0, .bytes_accessed = 1048576}));
  const auto dense = pl::pallas_call(
      [](pl::Ref x, pl::Ref y, pl::Ref b, pl::Ref o) { o[_] = pl::maximum(pl::dot(x[_], y[_]) + b[_], 0); },
      {.out_shape = pl::ShapeDtype{{128, 256}, pl::f32}});
  EXPECT_EQ(pl::estimate_cost(dense, pl::zeros({128, 128}), pl::zeros({128, 256}), pl::zeros({1, 256})),
            (pl::CostEstimate{.flops = 8454144, .transcendentals = 0, .bytes_accessed = 328704}));
}

TEST(Cost, SL5_LoopsMultiplyAndTheUserMayKnowBetter) {
  const auto kernel = [](pl::Ref x, pl::Ref o) { pl::loop(0, 8, [&](const pl::Array& i) { o[i] = x[i] + 1.0f; }); };
  EXPECT_EQ(pl::estimate_cost(pl::pallas_call(kernel, {.out_shape = kBlock}), pl::zeros({8, 128})).flops, 1024);
  const pl::CostEstimate told{.flops = 7, .transcendentals = 8, .bytes_accessed = 9};
  EXPECT_EQ(
      pl::estimate_cost(pl::pallas_call(kernel, {.out_shape = kBlock, .cost_estimate = told}), pl::zeros({8, 128})),
      told);
}

// --- Printing --------------------------------------------------------------------------------------------------------

TEST(Printing, M1_TheKernelAsTracedReadsLikeAJaxpr) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref y, pl::Ref o) {
        const pl::Array doubled = x[_] * 2;  // a statement each: C++ may compute arguments in any order
        o[_] = pl::maximum(doubled, y[_]);
        pl::when(pl::program_id(0) == 1, [&] { o[pl::ds(0, 4)] = pl::exp(x[pl::ds(4, 4)]); });
      },
      {.out_shape = kBlock, .grid = {2}, .in_specs = {pl::BlockSpec(), pl::BlockSpec()}});
  EXPECT_EQ(call.lower(pl::ones({8, 128}), pl::ones({8, 128})).traced(),
            R"({ lambda ; a:Ref{float32[8,128]} b:Ref{float32[8,128]} c:Ref{float32[8,128]}. let
    d:f32[8,128] <- a[...]
    e:f32[8,128] = broadcast_in_dim[broadcast_dimensions=()] 2.0:f32[]
    f:f32[8,128] = mul d e
    g:f32[8,128] <- b[...]
    h:f32[8,128] = max f g
    c[...] <- h
    i:i32[] = program_id[axis=0]
    j:bool[] = eq i 1:i32[]
    cond j
    {
      k:f32[4,128] <- a[4:4+4,:]
      l:f32[4,128] = exp k
      c[0:0+4,:] <- l
    }
    {
    }
  in () }
)");
}

TEST(Robustness, ReshapesTakeOneOpenSizeAndNoNegativeOnes) {
  const auto reshaped = [](pl::Shape shape, pl::Shape from = {8, 128}) {
    return codeOf([&] {
      pl::pallas_call([&](pl::Ref x, pl::Ref o) { x.reshape(shape); }, {.out_shape = pl::ShapeDtype{from, pl::f32}})
          .lower(pl::zeros(from, pl::f32));
    });
  };
  EXPECT_EQ(reshaped({4, 256}), "");
  EXPECT_EQ(reshaped({-1, 256}), "");
  EXPECT_EQ(reshaped({-2, -512}), "SM6114");
  EXPECT_EQ(reshaped({-1, -1}), "SM6114");
  EXPECT_EQ(reshaped({-1, 3}), "SM6114");
  EXPECT_EQ(reshaped({-1, 0}, {0, 128}), "SM6114");
  EXPECT_EQ(reshaped({int64_t{1} << 33, int64_t{1} << 33}, {0, 128}), "SM6114");
  const pl::Array x = pl::ones({8, 128});
  EXPECT_EQ(pl::reshape(x, {-1, 256}).shape(), (pl::Shape{4, 256}));
  for (const pl::Shape& wrong : {pl::Shape{-2, -512}, pl::Shape{-1, -1}, pl::Shape{-1, 0}})
    EXPECT_EQ(codeOf([&] { pl::reshape(x, wrong); }), "SM6303");
}

#if defined(__x86_64__)
/// XLA's threads flush denormals to zero, and so do programs linked with -ffast-math.
TEST(Robustness, DenormalsSurviveInHostsThatFlushThem) {
  constexpr float kTiny = 1.5e-38F, kHalf = 7.5e-39F;
  const auto halved = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] * 0.5; },
                                      {.out_shape = pl::ShapeDtype{{4096, 1024}, pl::f32},
                                       .grid = {64},
                                       .in_specs = {{{64, 1024}, [](auto i) { return std::tuple{i, 0}; }}},
                                       .out_specs = {{{64, 1024}, [](auto i) { return std::tuple{i, 0}; }}},
                                       .compiler_params = {.dimension_semantics = {pl::parallel}}});
  const pl::Array x = pl::full({4096, 1024}, kTiny);
  constexpr unsigned kFlush = 0x8040;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | kFlush);
  const pl::Array byKernel = halved(x), byOp = pl::jit([](const pl::Array& v) { return v * 0.5; })(x),
                  now = pl::full({4}, kTiny) * 0.5;
  EXPECT_EQ(_mm_getcsr() & kFlush, kFlush) << "the host's mode is its own";
  _mm_setcsr(before);
  for (int64_t i = 0; i < 4096; ++i) {
    ASSERT_EQ(byKernel.as<float>()[i * 1024], kHalf) << i;
    ASSERT_EQ(byOp.as<float>()[i * 1024], kHalf) << i;
  }
  EXPECT_EQ(now.as<float>()[0], kHalf);
}
#endif

TEST(Robustness, ADefinedBoolThatDecidesMakesTheResultDefined) {
  const auto masked = [](bool both) {
    return pl::pallas_call(
        [=](pl::Ref ids, pl::Ref x, pl::Ref o) {
          const pl::Array inside = pl::broadcasted_iota(pl::i32, {8, 128}, 1) < 48, same = ids[_] == 1;
          const pl::Array chosen = both ? same & inside : !(!inside | !same);
          o[_] = pl::where(chosen, x[_], 0.0f);
        },
        {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32},
         .grid = {1},
         .in_specs = {{{8, 128}, [](auto i) { return std::tuple{0, i}; }},
                      {{8, 128}, [](auto i) { return std::tuple{0, i}; }}},
         .out_specs = {{{8, 128}, [](auto i) { return std::tuple{0, i}; }}}});
  };
  for (const bool both : {true, false})
    for (const char* target : {"interpret", "cpu"}) {
      pl::Settings settings;
      pl::unwrap(settings.set("target", target));
      const auto report = masked(both).with(settings).check(pl::ones({8, 48}, pl::i32), pl::ones({8, 48}));
      EXPECT_TRUE(report.findings.empty()) << target << report.findings[0].diagnostic.str();
    }
}

}  // namespace
