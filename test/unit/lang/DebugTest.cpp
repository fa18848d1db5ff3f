// debug_print, debug_check, profiler marks, delay (M2 – M7).
#include <gtest/gtest.h>

#include "Helpers.h"

namespace pl = smalti;
using pl::_, pl::testing::codeOf;

namespace {

const pl::BlockSpec kSmem{pl::smem};

template <class K>
pl::PallasCall onSmem(const K& kernel) {
  return pl::pallas_call(kernel,
                         {.out_shape = pl::ShapeDtype{{1}, pl::i32}, .in_specs = {kSmem}, .out_specs = {kSmem}});
}
const pl::Array kOne = pl::array(std::vector<int32_t>{41});

TEST(Debug, PrintsScalarsAndVectors) {
  const auto call = onSmem([](pl::Ref x, pl::Ref o) {
    o[0] = x[0] + 1;
    pl::debug_print("x is {} and o is {}", x[0], pl::astype(o[0], pl::f32));
    pl::debug_print("plain", x[0]);
    pl::run_scoped(
        [](pl::Ref v) {
          v[_] = pl::zeros_like(v);
          pl::debug_print("v: {}", v[_]);
        },
        pl::vmem({8, 128}, pl::f32));
  });
  const auto report = call.check(kOne);
  ASSERT_EQ(report.log.size(), 3u);
  EXPECT_NE(report.log[0].find("x is 41 and o is 42"), std::string::npos) << report.log[0];
  EXPECT_NE(report.log[1].find("plain"), std::string::npos) << report.log[1];
  EXPECT_NE(report.log[2].find("v: "), std::string::npos) << report.log[2];
}

TEST(Debug, APlainCallPrints) {
  const auto call = onSmem([](pl::Ref x, pl::Ref o) {
    o[0] = x[0];
    pl::debug_print("x is {}", x[0]);
  });
  testing::internal::CaptureStdout();
  call(kOne);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("x is 41\n"), std::string::npos);
}

TEST(Debug, APlainCallReportsEnabledChecks) {
  const auto call = onSmem([](pl::Ref x, pl::Ref o) { pl::when(x[0] < 0, [&] { o[0] = 1; }); });
  pl::Settings settings;
  ASSERT_TRUE(settings.set("check", "on"));
  pl::use_settings(settings);
  testing::internal::CaptureStderr();
  call(kOne);
  pl::use_settings(pl::Settings());
  EXPECT_NE(testing::internal::GetCapturedStderr().find("finding[SM4102]: output 0 depends on"), std::string::npos);
  testing::internal::CaptureStderr();
  call(kOne);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Debug, SL4_ChecksAreCompiledInWhenEnabled) {
  const auto kernel = [](pl::Ref x, pl::Ref o) {
    o[0] = x[0];
    pl::debug_check(x[0] < 10, "x is too large");
  };
  EXPECT_EQ(codeOf([&] { onSmem(kernel)(kOne); }), "");
  const bool before = pl::enable_debug_checks();
  const auto checked = onSmem(kernel);
  EXPECT_NE(codeOf([&] { checked(kOne); }), "");
  EXPECT_EQ(codeOf([&] { checked(pl::array(std::vector<int32_t>{9})); }), "");
  pl::enable_debug_checks(before);
}

TEST(Debug, MarksForTheProfiler) {
  const auto call = onSmem([](pl::Ref x, pl::Ref o) {
    const pl::named_scope scope("my_scope");
    pl::trace_value("x", x[0]);
    pl::delay(100);
    o[0] = x[0];
  });
  const std::string text = call.lower(kOne).mosaic(true);
  for (const char* part : {"\"tpu.trace_start\"() <{level = 10 : i32, message = \"my_scope\"}>", "tpu.trace_value",
                           "label = \"x\"", "tpu.delay", "tpu.trace_stop"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_TRUE(call.check(kOne).findings.empty());
}

TEST(Debug, WrongPrintsAreRefused) {
  const auto code = [](const auto& body) {
    return codeOf([&] {
      onSmem([&](pl::Ref x, pl::Ref o) {
        o[0] = x[0];
        body(x[0].value(), pl::zeros({8, 128}));
      }).lower(kOne);
    });
  };
  using A = const pl::Array&;
  EXPECT_EQ(code([](A x, A) { pl::debug_print("{} {}", x); }), "SM6510");
  EXPECT_EQ(code([](A x, A v) { pl::debug_print("{} {}", x, v); }), "SM6510");
  EXPECT_EQ(code([](A, A v) { pl::debug_print("{} after", v); }), "SM6510");
  EXPECT_EQ(code([](A x, A) { pl::debug_print("{}", pl::astype(x, pl::bf16)); }), "SM6510");
  EXPECT_EQ(code([](A, A v) { pl::trace_value("v", v); }), "SM6511");
  EXPECT_EQ(code([](A x, A) { pl::trace_value("x", pl::astype(x, pl::bf16)); }), "SM6511");
}

}  // namespace
