// Loops and branches in kernels (S-I1 … S-I6).
#include <array>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "Helpers.h"

namespace pl = smalti;
using pl::_, pl::testing::codeOf;

namespace {

pl::Array iota(pl::Shape shape) {
  std::vector<float> v(pl::num_elements(shape));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i % 97);
  return pl::array(v, shape);
}

/// Runs `kernel(x, o)` on one block of 8x128.
template <class K>
pl::Array run(const K& kernel, const pl::Array& x = iota({8, 128})) {
  const pl::PallasCall call = pl::pallas_call(kernel, {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  EXPECT_TRUE(call.check(x).findings.empty());
  return call(x);
}

template <class K>
std::string mosaic(const K& kernel) {
  return pl::pallas_call(kernel, {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}}).lower(iota({8, 128})).mosaic();
}

size_t count(const std::string& text, std::string_view what) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++n;
  return n;
}

TEST(Loops, SI1_StaticConditionsEmitNothing) {
  const auto kernel = [](pl::Ref x, pl::Ref o) {
    o[_] = x[_];
    pl::when(false, [&] { o[_] = x[_] * 2; });
  };
  EXPECT_EQ(count(mosaic(kernel), "scf.if"), 0u);
}

TEST(Loops, SI2_CarriesVectorsAndScalarsAndWritesRefsInOrder) {
  const pl::Array z = run([](pl::Ref x, pl::Ref o) {
    o[_] = pl::zeros({8, 128});
    const auto [n, v] = pl::fori_loop(
        0, 5,
        [&](const pl::Array& i, const auto& carry) {
          const auto& [n, v] = carry;
          o[_] += x[_];
          return std::pair{n + i, v + o[_]};
        },
        std::pair{0, x[_].value()});
    o[_] = v + pl::astype(n, pl::f32);
  });
  const pl::Array x = iota({8, 128});
  for (int64_t i = 0; i < z.elements(); ++i) ASSERT_EQ(z.as<float>()[i], x.as<float>()[i] * 16 + 10);
}

TEST(Loops, SI2_WeakInitsTakeTheBodysType) {
  const pl::Array z = run([](pl::Ref x, pl::Ref o) {
    const pl::Array s =
        pl::fori_loop(0, 8, [&](const pl::Array& i, const pl::Array& s) { return s + pl::astype(i, pl::f32); }, 0);
    EXPECT_EQ(s.dtype(), pl::f32);
    o[_] = x[_] + s;
  });
  EXPECT_EQ(z.as<float>()[1], 29);
}

TEST(Loops, SI3_PartialUnrollRunsTheRemainder) {
  for (const int64_t unroll : {1, 2, 3, 4, 7, 9}) {
    const auto kernel = [=](pl::Ref x, pl::Ref o) {
      o[_] = pl::fori_loop(0, 7, [&](const pl::Array& i, const pl::Array& v) { return v * 2 + pl::astype(i, pl::f32); },
                           x[_], {.unroll = unroll});
    };
    const pl::Array z = run(kernel), x = iota({8, 128});
    for (int64_t e = 0; e < z.elements(); ++e) ASSERT_EQ(z.as<float>()[e], x.as<float>()[e] * 128 + 120) << unroll;
    EXPECT_EQ(count(mosaic(kernel), "scf.for"), unroll >= 7 ? 0u : 1u);
  }
}

TEST(Loops, SI3_FullUnrollNeedsStaticBounds) {
  const auto kernel = [](pl::Ref x, pl::Ref o) {
    o[_] = x[_];
    pl::loop(0, 4, [&](const pl::Array&) { o[_] += 1; }, {.unroll = pl::full_unroll});
  };
  EXPECT_EQ(count(mosaic(kernel), "scf.for"), 0u);
  EXPECT_EQ(run(kernel).as<float>()[3], 7);
  EXPECT_EQ(codeOf([] {
              run([](pl::Ref x, pl::Ref o) {
                const pl::Array n = pl::astype(x[{0, 0}], pl::i32);
                pl::loop(0, n, [&](const pl::Array&) { o[_] += 1; }, {.unroll = pl::full_unroll});
              });
            }),
            "SM6123");
}

TEST(Loops, SI4_ProgramIdInsideLoopsAndBranches) {
  const pl::BlockSpec rows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const auto call = pl::pallas_call(
      [](pl::Ref o) {
        o[_] = pl::zeros_like(o);
        pl::loop(0, 3, [&](const pl::Array&) {
          pl::when(pl::program_id(0) == 1, [&] { o[_] += pl::astype(pl::program_id(0) + 1, pl::f32); });
        });
      },
      {.out_shape = pl::ShapeDtype{{24, 128}, pl::f32}, .grid = {3}, .out_specs = {rows}});
  const pl::Array z = call();
  EXPECT_EQ(z.as<float>()[0], 0);
  EXPECT_EQ(z.as<float>()[8 * 128], 6);
  EXPECT_EQ(z.as<float>()[16 * 128], 0);
}

TEST(Loops, SI5_WhileConditionReadsRefs) {
  const auto call = pl::pallas_call(
      [](pl::Ref limit, pl::Ref x, pl::Ref o) {
        const auto [n, v] =
            pl::while_loop([&](const auto& carry) { return carry.first < limit[0]; },
                           [&](const auto& carry) { return std::pair{carry.first + 2, carry.second * 2}; },
                           std::pair{0, x[_].value()});
        o[_] = v;
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .in_specs = {pl::BlockSpec{pl::smem}, pl::BlockSpec{}}});
  const pl::Array z = call(pl::array(std::vector<int32_t>{7}), iota({8, 128}));
  EXPECT_EQ(z.as<float>()[5], 80);
}

TEST(Loops, SI6_TracedBoundsAreRealLoops) {
  for (const int64_t unroll : {1, 2, 3}) {
    const auto call = pl::pallas_call(
        [=](pl::Ref n, pl::Ref o) {
          o[_] = pl::zeros_like(o);
          pl::loop(n[0], n[1], [&](const pl::Array& i) { o[_] += pl::astype(i, pl::f32); }, {.unroll = unroll});
        },
        {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .in_specs = {pl::BlockSpec{pl::smem}}});
    for (const auto& [from, to, sum] : {std::array{2, 7, 20}, {3, 3, 0}, {5, 1, 0}, {0, 2, 1}}) {
      const pl::Array z = call(pl::array(std::vector<int32_t>{from, to}));
      EXPECT_EQ(z.as<float>()[9], static_cast<float>(sum)) << from << " to " << to << " unroll " << unroll;
    }
  }
}

TEST(Loops, StepsCountFromTheLowerBound) {
  const pl::Array z = run([](pl::Ref x, pl::Ref o) {
    o[_] = pl::zeros_like(o);
    pl::loop(1, 8, [&](const pl::Array& i) { o[_] += pl::astype(i, pl::f32); }, {.step = 3});   // 1 4 7
    pl::loop(5, 0, [&](const pl::Array& i) { o[_] += pl::astype(i, pl::f32); }, {.step = -2});  // 5 3 1
  });
  EXPECT_EQ(z.as<float>()[0], 21);
}

TEST(Loops, CarriesThatChangeTheirTypeAreRefused) {
  EXPECT_EQ(codeOf([] {
              run([](pl::Ref x, pl::Ref o) {
                o[_] = pl::fori_loop(
                    0, 3, [&](const pl::Array&, const pl::Array& v) { return pl::astype(v, pl::bf16); }, x[_]);
              });
            }),
            "SM6122");
}

TEST(Loops, ScansThatLoseACarryAreRefused) {
  const auto scan = [] {
    using Arrays = std::vector<pl::Array>;
    return pl::scan([](const Arrays& c, const pl::Array& x) { return std::pair{Arrays{c[0] + x}, x}; },
                    Arrays{pl::zeros({}), pl::ones({})}, pl::arange(4, pl::f32));
  };
  const auto done = pl::attempt([&] { (void)scan(); });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, "SM6122");
  EXPECT_EQ(done.error().message, "the body of a scan returns a different number of values than it carries");
  EXPECT_EQ(done.error().need + " / " + done.error().have, "2 values / 1");
}

// The body gives a weakly typed carry another dtype: it is converted before the scan.
TEST(Loops, ScansConvertWeaklyTypedCarries) {
  const pl::Array xs = pl::ones({4, 3}, pl::bf16);
  const auto f = [&](const pl::Array& x) {
    return pl::scan([](const pl::Array& c, const pl::Array& s) { return std::pair{c + s, s}; }, pl::full({3}, 0), x)
        .first;
  };
  EXPECT_EQ(f(xs).dtype(), pl::bf16);
  EXPECT_EQ(pl::astype(f(xs), pl::f32).as<float>()[1], 4);
  EXPECT_EQ(pl::astype(pl::jit(f)(xs), pl::f32).as<float>()[1], 4);
}

TEST(Loops, StepsAreNumbersOf32Bits) {
  for (const int64_t step : {INT64_MAX, INT64_MIN})
    EXPECT_EQ(codeOf([&] { pl::loop(0, 3, [](const pl::Array&) {}, {.step = step}); }), "SM6121");
}

template <class T>
pl::Array scalarOf(T value) {
  return pl::array(std::vector<T>{value}, {});
}

TEST(Loops, IndicesOfSwitchesAreClampedInEveryDtype) {
  std::vector<std::function<pl::Array()>> branches;
  for (const int i : {0, 1, 2}) branches.emplace_back([i] { return pl::full({}, i); });
  const auto chosen = [&](const pl::Array& index) { return pl::switch_(index, branches); };
  const std::pair<pl::Array, int> cases[] = {
      {scalarOf(UINT64_MAX), 2},       {scalarOf(uint64_t{1} << 63), 2}, {scalarOf(uint64_t{1}), 1},
      {scalarOf(UINT32_MAX), 2},       {scalarOf(INT64_MAX), 2},         {scalarOf(INT64_MIN), 0},
      {scalarOf(int64_t{1} << 32), 2}, {scalarOf(int8_t{-1}), 0},        {scalarOf(uint8_t{255}), 2}};
  for (const auto& [index, branch] : cases) {
    EXPECT_EQ(*chosen(index).as<int32_t>(), branch) << index.type().str();
    EXPECT_EQ(*pl::jit(chosen)(index).as<int32_t>(), branch) << index.type().str();
  }
}

// The index is an i32, which would wrap.
TEST(Loops, BoundsBeyondI32AreRefused) {
  const auto steps = [](const pl::Array& from, const pl::Array& to) {
    return pl::fori_loop(from, to, [](auto, const pl::Array& n) { return n + 1; }, pl::full({}, 0, pl::i32));
  };
  const auto refusal = [](const auto& work) {
    const auto done = pl::attempt([&] { (void)work(); });
    return done ? std::string() : done.error().code + ": " + done.error().message + ", " + done.error().have;
  };
  const auto zero = scalarOf(int32_t{0});
  for (const auto& [bound, have] : {std::pair{scalarOf(uint32_t{1} << 31), "2147483648"},
                                    {scalarOf(int64_t{1} << 32), "4294967296"},
                                    {scalarOf(UINT64_MAX), "9223372036854775807"}}) {
    EXPECT_EQ(refusal([&] { return steps(zero, bound); }),
              std::string("SM6121: the upper bound of a loop is not a number of i32, ") + have);
    EXPECT_EQ(refusal([&] { return pl::jit([&](const pl::Array& x) { return steps(zero, bound) + x; })(zero); }),
              std::string("SM6121: the upper bound of a loop is not a number of i32, ") + have);
    EXPECT_EQ(refusal([&] { return pl::jit(steps)(bound, zero); }),
              "SM6121: the lower bound of a loop is not a number of i32, " + bound.type().str());
  }
  for (const auto& [from, to] :
       {std::pair{scalarOf(int8_t{-3}), scalarOf(uint16_t{4})}, {scalarOf(int16_t{-3}), scalarOf(int32_t{4})}})
    EXPECT_EQ(*pl::jit(steps)(from, to).as<int32_t>(), 7);
  EXPECT_EQ(*steps(scalarOf(int64_t{-3}), scalarOf(uint32_t{4})).as<int32_t>(), 7);
}

pl::Array endlessCond(const pl::Array& x) {
  return pl::cond(pl::sum(x) > 0, [&] { return endlessCond(x - 1); }, [&] { return x; });
}
pl::Array endlessSwitch(const pl::Array& x) {
  return pl::switch_(pl::astype(pl::sum(x), pl::i32),
                     std::vector<std::function<pl::Array()>>{[&] { return x; }, [&] { return endlessSwitch(x); }});
}
pl::Array endlessFor(const pl::Array& x) {
  return pl::fori_loop(0, 2, [](auto, const pl::Array& c) { return endlessFor(c); }, x);
}
pl::Array endlessWhile(const pl::Array& x) {
  return pl::while_loop([](const pl::Array& c) { return pl::sum(c) < 3; },
                        [](const pl::Array& c) { return endlessWhile(c); }, x);
}
pl::Array endlessScan(const pl::Array& x) {
  return pl::scan([](const pl::Array& c, const pl::Array&) { return std::pair{endlessScan(c), c}; }, x, pl::ones({2}))
      .first;
}
void endlessWhen(const pl::Ref& x) {
  pl::when(x[{0, 0}] > 0, [&] { endlessWhen(x); });
}

void endlessScope() {
  pl::run_scoped([](pl::Ref) { endlessScope(); }, pl::vmem({8, 128}, pl::f32));
}

TEST(Loops, EndlessRecursionIsRefused) {
  using F = pl::Array (*)(const pl::Array&);
  for (const F f : {F{endlessCond}, F{endlessSwitch}, F{endlessFor}, F{endlessWhile}, F{endlessScan}}) {
    EXPECT_EQ(codeOf([&] { return pl::jit(f)(pl::ones({4})); }), "SM7106");
    EXPECT_EQ(codeOf([&] { return pl::vmap(f)(pl::ones({2, 4})); }), "SM7106");
    const auto gradient = pl::jit(pl::grad([&](const pl::Array& x) { return pl::sum(f(x)); }));
    EXPECT_EQ(codeOf([&] { return gradient(pl::ones({4})); }), "SM7106");
  }
  EXPECT_EQ(codeOf([] { return run([](pl::Ref x, pl::Ref) { endlessWhen(x); }); }), "SM7106");
  EXPECT_EQ(codeOf([] { return run([](pl::Ref, pl::Ref) { endlessScope(); }); }), "SM7106");
}

// Branches of a switch contain the later ones, which is no recursion.
TEST(Loops, SwitchesMayHaveManyBranches) {
  std::vector<std::function<pl::Array()>> branches;
  for (int i = 0; i < 150; ++i) branches.emplace_back([i] { return pl::full({}, i); });
  const auto f = pl::jit([&](const pl::Array& index) { return pl::switch_(index, branches); });
  EXPECT_EQ(*f(scalarOf(int32_t{140})).as<int32_t>(), 140);
}

pl::Array nested(const pl::Array& x, int depth) {
  if (depth == 0) return x;
  return pl::cond(pl::sum(x) > 0, [&] { return nested(x + 1, depth - 1); }, [&] { return x; });
}
TEST(Loops, RecursionThatEndsIsTraced) {
  EXPECT_EQ(*pl::jit([](const pl::Array& x) { return nested(x, 90); })(pl::full({}, 1, pl::f32)).as<float>(), 91);
  EXPECT_EQ(*nested(pl::full({}, 1, pl::f32), 1000).as<float>(), 1001);  // without a trace, C++'s own
}

// The place of an error in what a scan consists of is the scan.
TEST(Loops, ScansWithoutMemoryNameTheUsersLine) {
  const auto endless = [](const pl::Array& x) {
    return pl::scan(
               [](const pl::Array& c, const std::vector<pl::Array>&) { return std::pair{c, pl::zeros({1 << 20})}; }, x,
               std::vector<pl::Array>{}, {.length = INT32_MAX})
        .second;
  };
  for (const bool jit : {false, true}) {
    const auto done = pl::attempt([&] { jit ? pl::jit(endless)(pl::zeros({})) : endless(pl::zeros({})); });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, "SM1009");
    EXPECT_NE(done.error().place.file.find("LoopsTest.cpp"), std::string::npos) << done.error().str();
  }
}

/// As in JAX, a predicate may be any number, known or traced.
TEST(Loops, FloatsArePredicates) {
  const auto chosen = [](float p) {
    return pl::cond(pl::full({}, p), [] { return pl::full({}, 1); }, [] { return pl::full({}, 2); }).as<int32_t>()[0];
  };
  EXPECT_EQ(chosen(0.5f), 1);
  EXPECT_EQ(chosen(0), 2);
  EXPECT_EQ(codeOf([] { return pl::cond(pl::ones({2}), [] { return pl::ones({}); }, [] { return pl::ones({}); }); }),
            "SM6115");
}

TEST(Loops, WrongBoundsAreRefused) {
  const auto code = [](const auto& body) {
    return codeOf([&] {
      run([&](pl::Ref x, pl::Ref o) {
        o[_] = x[_];
        body(x);
      });
    });
  };
  EXPECT_EQ(code([](pl::Ref x) { pl::loop(0, x[_], [](const pl::Array&) {}); }), "SM6121");
  EXPECT_EQ(code([](pl::Ref) { pl::loop(0, 2.5, [](const pl::Array&) {}); }), "SM6121");
  EXPECT_EQ(code([](pl::Ref) { pl::loop(0, 4, [](const pl::Array&) {}, {.step = 0}); }), "SM6121");
}

TEST(Loops, ValuesFromOutsideServeEveryIteration) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        const pl::Array lane = pl::broadcasted_iota(pl::i32, {8, 128}, 1), half = x[_] * 0.5f;
        const auto [sum, more] = pl::fori_loop(
            0, 4,
            [&](const pl::Array& i, const auto& carry) {
              const auto& [sum, more] = carry;
              return std::tuple{sum + pl::astype(lane + i, pl::f32), more + (half + pl::astype(i, pl::f32))};
            },
            std::tuple{pl::zeros({8, 128}), pl::zeros({8, 128})});
        o[_] = sum + more;
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  const pl::Array x = iota({8, 128});
  for (const char* target : {"interpret", "cpu"}) {
    pl::Settings settings;
    ASSERT_TRUE(settings.set("target", target));
    pl::use_settings(settings);
    const pl::Array o = call(x);
    pl::use_settings(pl::Settings());
    for (int64_t i = 0; i < 1024; ++i)
      ASSERT_EQ(o.as<float>()[i], static_cast<float>(i % 128 * 4 + 12) + 2 * x.as<float>()[i]) << target << ' ' << i;
  }
}

TEST(Loops, BranchesReturnTheValuesAtTheTimeOfReading) {
  // In every second program a branch gives what scratch holds; the other branch must not write there.
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref chosen, pl::Ref after, pl::Ref scratch) {
        scratch[_] = x[_] * 0.25f;
        const pl::Array picked = pl::cond(
            pl::program_id(0) % 2 == 0, [&] { return scratch[_].value(); }, [&] { return pl::maximum(x[_], 50); });
        after[_] = scratch[_];
        scratch[_] = pl::zeros_like(scratch);
        chosen[_] = picked;
      },
      {.out_shape = {pl::ShapeDtype{{24, 128}, pl::f32}, pl::ShapeDtype{{24, 128}, pl::f32}},
       .grid = {3},
       .in_specs = {pl::BlockSpec{{8, 128}, [](auto) { return std::tuple{0, 0}; }}},
       .out_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i, 0}; }},
                     pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i, 0}; }}},
       .scratch_shapes = {pl::vmem({8, 128}, pl::f32)}});
  const pl::Array x = iota({8, 128});
  for (const char* target : {"interpret", "cpu"}) {
    pl::Settings settings;
    ASSERT_TRUE(settings.set("target", target));
    pl::use_settings(settings);
    const auto [chosen, after] = call(x).take<2>();
    pl::use_settings(pl::Settings());
    for (int64_t i = 0; i < 3072; ++i) {
      const float value = x.as<float>()[i % 1024];
      ASSERT_EQ(chosen.as<float>()[i], i / 1024 % 2 == 0 ? value * 0.25f : std::max(value, 50.0f))
          << target << ' ' << i;
      ASSERT_EQ(after.as<float>()[i], value * 0.25f) << target << ' ' << i;
    }
  }
}

TEST(Loops, RunNowOutsideKernels) {
  const pl::Array s = pl::fori_loop(0, 10, [](const pl::Array& i, const pl::Array& s) { return s + i; }, 0);
  EXPECT_EQ(s.as<int32_t>()[0], 45);
}

struct Weights {
  pl::Array w;
  template <class F>
  void visit(F&& f) {
    f(w);
  }
};

/// A carry of every control flow, which adds 1 to all arrays of the structure.
template <class T>
void expectCarried(const T& carry) {
  const auto add = [](const T& c) { return pl::tree_map([](const pl::Array& a) { return a + 1; }, c); };
  const auto sumOf = [](const T& c) {
    float sum = 0;
    pl::tree_map([&](const pl::Array& a) { return sum += *a.as<float>(), a; }, c);
    return sum;
  };
  const float before = sumOf(carry), arrays = sumOf(add(carry)) - before;
  EXPECT_EQ(
      sumOf(pl::fori_loop(0, 2, [&](const pl::Array&, const auto& c) { return add(c); }, carry)), before + 2 * arrays);
  const auto [last, all] =
      pl::scan([&](const auto& c, const pl::Array& x) { return std::pair{add(c), x}; }, carry, pl::ones({3}));
  EXPECT_EQ(sumOf(last), before + 3 * arrays);
  EXPECT_EQ(sumOf(pl::cond(pl::full({}, 1) > 0, [&] { return add(carry); }, [&] { return carry; })), before + arrays);
}

TEST(Loops, CarriesAreStructuresInEachOther) {
  const pl::Array a = pl::full({}, 1.f), b = pl::full({}, 2.f);
  const Weights w{a};
  expectCarried(std::pair{w, b});
  expectCarried(std::tuple{w, b});
  expectCarried(std::vector{w, w});
  expectCarried(std::vector{std::pair{a, b}});
  expectCarried(std::tuple{std::pair{a, b}, a});
  expectCarried(std::array{std::tuple{a, b}});
  expectCarried(std::vector{std::array{a, b}});
  expectCarried(std::pair{std::vector{std::tuple{w, std::array{w, w}}}, b});
}

}  // namespace
