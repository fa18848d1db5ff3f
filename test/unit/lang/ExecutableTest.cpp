// Calls as Executables, settings of one call, and many threads that compile and run.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "Helpers.h"
#include "lang/call/Backend.h"
#include "smalti/smalti.h"

namespace pl = smalti;
using pl::_;
using pl::testing::codeOf;

namespace {

pl::Settings with(std::initializer_list<std::pair<const char*, const char*>> options) {
  pl::Settings settings;
  for (const auto& [name, value] : options) EXPECT_TRUE(settings.set(name, value));
  return settings;
}

/// x times `factor`, in blocks of rows.
pl::PallasCall times(float factor, int64_t rows) {
  const pl::BlockSpec block{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
  return pl::pallas_call([factor](pl::Ref x, pl::Ref o) { o[_] = x[_] * factor; },
                         {.out_shape = pl::ShapeDtype{{rows, 128}, pl::f32},
                          .grid = {rows / 8},
                          .in_specs = {block},
                          .out_specs = {block}});
}

TEST(CallExecutable, GivesWhatTheCallGives) {
  for (const char* target : {"interpret", "cpu"}) {
    const auto call = times(3, 16).with(with({{"target", target}, {"cache", "off"}}));
    const pl::Array x = pl::reshape(pl::arange(16 * 128, pl::f32), {16, 128});
    const pl::Executable executable = call.compile(x);
    EXPECT_EQ(executable.arguments(), std::vector{x.type()});
    EXPECT_EQ(executable.results(), std::vector{x.type()});
    const auto report = executable.execute({{x}});
    ASSERT_TRUE(report) << report.error().str();
    pl::testing::expectEqual(report->results[0], call(x));
    std::vector<pl::Array> outputs{pl::zeros({16, 128})};
    ASSERT_TRUE(executable.execute_into({{x}}, outputs));
    pl::testing::expectEqual(outputs[0], call(x));
    EXPECT_EQ(executable.execute({{pl::zeros({8, 128})}}).error().code, "SM1008");
  }
}

TEST(CallExecutable, TakesAndGivesBools) {
  const auto call = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = pl::logical_not(x[_] != 0); },
                                    {.out_shape = pl::ShapeDtype{{8, 128}, pl::pred}});
  pl::Array x = pl::astype(pl::reshape(pl::arange(8 * 128, pl::i32), {8, 128}) > 500, pl::pred);
  const pl::Executable executable = call.compile(x);
  EXPECT_EQ(executable.arguments()[0].str(), "pred[8,128]");
  EXPECT_EQ(executable.results()[0].str(), "pred[8,128]");
  std::vector<pl::Array> outputs{pl::zeros({8, 128}, pl::pred)};
  const auto report = executable.execute_into({{x}}, outputs);
  ASSERT_TRUE(report) << report.error().str();
  const pl::Array wanted = call(x);
  EXPECT_EQ(std::memcmp(outputs[0].data(), wanted.data(), 8 * 128), 0);
  EXPECT_EQ(outputs[0].as<uint8_t>()[0], 1);
  EXPECT_EQ(outputs[0].as<uint8_t>()[1023], 0);
}

TEST(CallExecutable, TakesGridSizesAsTheCallDoes) {
  const pl::BlockSpec block{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const auto call =
      pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] + 1; }, {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32},
                                                                      .grid = {pl::dynamic},
                                                                      .in_specs = {block},
                                                                      .out_specs = {block}});
  const pl::Array x = pl::zeros({16, 128});
  pl::Array two = pl::zeros({}, pl::i32);
  *two.as<int32_t>() = 2;
  const pl::Executable executable = call.compile(two, x);
  EXPECT_EQ(executable.arguments().size(), 2u);
  const auto report = executable.execute({{two, x}});
  ASSERT_TRUE(report) << report.error().str();
  EXPECT_EQ(report->results[0].as<float>()[16 * 128 - 1], 1);
}

TEST(CallSettings, AreTheCallsOwn) {
  const auto call = times(2, 16);
  const pl::Array x = pl::ones({16, 128});
  const auto limited = call.with(with({{"step-limit", "3"}}));
  EXPECT_EQ(codeOf([&] { return pl::Array(limited(x)); }), "SM4104");
  EXPECT_EQ(pl::Array(call(x)).as<float>()[0], 2);
  // They win over the thread's, and do not change them.
  pl::use_settings(with({{"step-limit", "3"}}));
  EXPECT_EQ(codeOf([&] { return pl::Array(call(x)); }), "SM4104");
  EXPECT_EQ(pl::Array(call.with(pl::Settings())(x)).as<float>()[0], 2);
  EXPECT_EQ(codeOf([&] { return pl::Array(call(x)); }), "SM4104");
  pl::use_settings(pl::Settings());
  EXPECT_EQ(pl::Array(call(x)).as<float>()[0], 2);
}

TEST(CallSettings, LimitTheTime) {
  const auto endless = pl::pallas_call(
      [](pl::Ref o) {
        o[_] = pl::full({8, 128}, 0, pl::i32) +
               pl::while_loop([](auto i) { return i >= 0; }, [](auto i) { return i; }, pl::Array(pl::program_id(0)));
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::i32}, .grid = {1}});
  for (const char* target : {"interpret", "cpu"}) {
    const pl::Settings limits = with({{"target", target}, {"step-limit", "0"}, {"timeout-seconds", "1"}});
    EXPECT_EQ(codeOf([&] { return pl::Array(endless.with(limits)()); }), "SM9012");
    EXPECT_EQ(codeOf([&] { return endless.with(limits).check(); }), "SM9012");
  }
}

TEST(CallSettings, ManyAfterEachOtherCompileOnce) {
  const auto call = times(2, 16);
  const pl::Array x = pl::ones({16, 128});
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(pl::Array(call.with(with({{"seed", std::to_string(i).c_str()}}))(x)).as<float>()[5], 2);
}

/// Each with a factor and a shape of its own, so that each is another kernel.
void callsOnThreads(const char* target, int count, bool lowerHere) {
  std::vector<pl::PallasCall> calls;
  std::vector<pl::Array> inputs, results(static_cast<size_t>(count));
  const pl::Settings settings = with({{"target", target}, {"cache", "off"}});
  for (int i = 0; i < count; ++i) {
    calls.push_back(times(static_cast<float>(i + 1), 8 * (i + 1)).with(settings));
    inputs.push_back(pl::ones({8 * (i + 1), 128}));
    // Lowered by this thread, in its context, where the others compile.
    if (lowerHere) calls.back().lower(inputs.back());
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < calls.size(); ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 3; ++round) results[i] = calls[i](inputs[i]);
    });
  for (std::thread& t : threads) t.join();
  for (size_t i = 0; i < calls.size(); ++i) {
    const float wanted = static_cast<float>(i + 1);
    const auto* out = results[i].as<float>();
    EXPECT_TRUE(std::all_of(out, out + results[i].elements(), [&](float v) { return v == wanted; })) << target << i;
  }
}

TEST(Threads, CompileKernelsOfOneContextAtOnce) {
  for (const char* target : {"interpret", "cpu"})
    for (int round = 0; round < 3; ++round) callsOnThreads(target, 8, /*lowerHere=*/true);
}

TEST(Threads, LowerAndCompileKernelsAtOnce) {
  for (const char* target : {"interpret", "cpu"})
    for (int round = 0; round < 3; ++round) callsOnThreads(target, 8, /*lowerHere=*/false);
}

TEST(Threads, ShareACallWithSettingsOfTheirOwn) {
  const auto call = times(2, 16);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      const char* poison = t % 2 ? "min" : "max";
      pl::use_settings(with({{"target", t < 4 ? "cpu" : "interpret"}, {"poison", poison}, {"cache", "off"}}));
      const pl::Array x = pl::ones({16, 128});
      if (pl::Array(call(x)).as<float>()[77] == 2 && !call.lower(x).mosaic().empty()) ++right;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 8);
}

TEST(Backend, IsRegistered) { EXPECT_NO_THROW(pl::lang::backend()); }

}  // namespace
