#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>

#include "smalti/kernels/flash_attention.h"
#include "smalti/kernels/matmul.h"
#include "smalti/kernels/paged_attention.h"
#include "smalti/kernels/tiled_dot.h"
#include "smalti/kernels/vector_add.h"
#include "smalti/smalti.h"

namespace smalti::kernels {
namespace {

/// The settings of a test, put back when it ends.
struct With {
  With(std::string_view option, std::string_view value) {
    Settings s;
    unwrap(s.set(option, value));
    use_settings(s);
  }
  ~With() { use_settings(Settings()); }
};

TEST(Kernels, OperandsThatDoNotFitAreRefused) {
  const auto z = attempt([] { return matmul(zeros({8, 4}), zeros({8, 4})); });
  ASSERT_FALSE(z);
  EXPECT_EQ(z.error().code, "SM6701");
  EXPECT_EQ(z.error().need, "4 rows in the right operand");
  const auto o = attempt([] { return flash_attention(zeros({1, 3, 8, 4}), zeros({1, 2, 8, 4}), zeros({1, 2, 8, 4})); });
  ASSERT_FALSE(o);
  EXPECT_EQ(o.error().code, "SM6701");
}

TEST(Kernels, PagesThatDoNotFitAreRefused) {
  const auto paged = [](const Shape& pages, const PagedAttentionOptions& o) {
    return attempt([&] {
      const Array lengths = array(std::vector<int32_t>{3}), table = unwrap(lengths.reshaped({1, 1}));
      return paged_attention(zeros({1, 2, 8}), zeros(pages), zeros(pages), lengths, table, o);
    });
  };
  EXPECT_TRUE(paged({2, 4, 8, 8}, {}));
  const auto none = paged({2, 4, 8, 8}, {.pages_per_step = 0});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "SM6701");
  EXPECT_EQ(none.error().message, "paged_attention takes one page per step, or more");
  EXPECT_EQ(none.error().need, "pages_per_step >= 1");
  EXPECT_EQ(none.error().have, "0");
  const auto narrow = paged({2, 4, 8, 4}, {});
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().code, "SM6701");
}

/// Equal bits, whether the kernel's function is called or traced with its arrays.
template <class F, class... A>
void expectSameUnderJit(const F& f, const A&... arrays) {
  const Array called = f(arrays...), traced = jit(f)(arrays...);
  ASSERT_EQ(called.type(), traced.type());
  EXPECT_EQ(std::memcmp(called.data(), traced.data(), static_cast<size_t>(called.bytes())), 0);
}

TEST(Kernels, AreTracedLikeOps) {
  const auto ramp = [](const Shape& shape) {
    return reshape(arange(num_elements(shape), f32), shape) / static_cast<float>(num_elements(shape)) - 0.5f;
  };
  expectSameUnderJit([](const Array& x, const Array& y) { return vector_add(x * 2, y); }, ramp({3, 5}), ramp({3, 5}));
  expectSameUnderJit([](const Array& x, const Array& y, const Array& b) { return matmul(x, y, {.bias = b + 1}); },
                     ramp({16, 8}), ramp({8, 24}), ramp({24}));
  const Array q = ramp({1, 2, 16, 8}), segments = reshape(arange(16, i32), {1, 16}) / 5;
  expectSameUnderJit(
      [](const Array& x, const Array& s) {
        return flash_attention(x, x + 1, x * 2, {.query_segments = s + 1, .key_segments = s + 1});
      },
      q, astype(segments, i32));
  expectSameUnderJit([](const Array& x, const Array& pages, const Array& lengths,
                        const Array& table) { return paged_attention(x + 1, pages, pages * 2, lengths, table, {}); },
                     ramp({1, 2, 8}), ramp({2, 4, 8, 8}), array(std::vector<int32_t>{3}),
                     unwrap(array(std::vector<int32_t>{1}).reshaped({1, 1})));
}

TEST(Kernels, AttentionGivesFarKeysNoWeight) {
  // Scores of key 0 … 7 are 0, -30, -60 …: less than 2^-100 and 2^-126 of the largest are among them.
  const int64_t keys = 8;
  Array q = ones({1, 1, 1, 1}), k = zeros({1, 1, keys, 1}), v = zeros({1, 1, keys, 1});
  double total = 0, sum = 0;
  for (int64_t i = 0; i < keys; ++i) {
    k.as<float>()[i] = -30.0f * static_cast<float>(i);
    v.as<float>()[i] = static_cast<float>(1 + i);
    total += std::exp(-30.0 * static_cast<double>(i));
    sum += std::exp(-30.0 * static_cast<double>(i)) * static_cast<double>(1 + i);
  }
  const float wanted = static_cast<float>(sum / total);
  for (const char* target : {"interpret", "cpu"}) {
    const With on("target", target);
    EXPECT_NEAR(flash_attention(q, k, v, {.scale = 1.0f}).as<float>()[0], wanted, 1e-6f) << target;
    // The last key is in a segment of its own, however far the others are, and a query of no segment sees none.
    Array segments = zeros({1, keys}, i32);
    segments.as<int32_t>()[keys - 1] = 1;
    const auto seen = [&](int32_t segment) {
      return flash_attention(q, k, v,
                             {.scale = 1.0f, .query_segments = full({1, 1}, segment), .key_segments = segments})
          .as<float>()[0];
    };
    EXPECT_EQ(seen(1), static_cast<float>(keys)) << target;
    EXPECT_EQ(seen(2), 0.0f) << target;
  }
}

TEST(Kernels, AttentionOfAllKeysAtOnceIsThatOfBlocks) {
  const auto waves = [](float step) {
    Array a = zeros({1, 2, 256, 8});
    for (int64_t i = 0; i < a.elements(); ++i) a.as<float>()[i] = 2 * std::sin(step * static_cast<float>(i));
    return a;
  };
  const Array q = waves(.7f), k = waves(1.3f), v = waves(.3f);
  Array segments = zeros({1, 256}, i32);
  for (int64_t i = 100; i < 256; ++i) segments.as<int32_t>()[i] = i < 150 ? 1 : 2;
  for (const char* target : {"interpret", "cpu"}) {
    const With on("target", target);
    for (const bool causal : {false, true})
      for (const bool cut : {false, true}) {
        AttentionOptions o{.causal = causal};
        if (cut) o.query_segments = o.key_segments = segments;
        const Array whole = flash_attention(q, k, v, o);
        o.block_q = o.block_k = 128;
        const Array blocks = flash_attention(q, k, v, o);
        for (int64_t i = 0; i < whole.elements(); ++i)
          ASSERT_NEAR(whole.as<float>()[i], blocks.as<float>()[i], 2e-6f) << target << causal << cut << i;
      }
  }
}

TEST(Kernels, AttentionOfFewQueriesTakesLongBlocksOfKeys) {
  const Array k = ones({1, 1, 4096, 8});
  for (const int64_t queries : {1, 8, 64}) {
    const Array q = ones({1, 1, queries, 8});
    const std::string text = flash_attention_call(q.type(), k.type(), {}).lower(q, k, k).mosaic();
    EXPECT_EQ(text.find("2048x8x") != text.npos, queries <= 8) << queries;
  }
}

TEST(Kernels, AttentionUnderflowsNowhere) {
  // Some processors stop for hundreds of cycles where a result is denormal. The first step's rescaling is by nearly 0.
  const Array q = ones({1, 1, 16, 8}), k = ones({1, 1, 64, 8}), v = ones({1, 1, 64, 8});
  const With on("target", "cpu");
  for (const bool causal : {false, true})
    for (int call = 0; call < 2; ++call) {  // the first one compiles
      std::feclearexcept(FE_UNDERFLOW);
      flash_attention(q, k, v, {.causal = causal, .block_q = 16, .block_k = 16});
      if (call) EXPECT_FALSE(std::fetestexcept(FE_UNDERFLOW));
    }
}

TEST(Kernels, ActivationIsAnyFunctionOfTheBlock) {
  const Array x = full({4, 8}, 2.0f), y = ones({8, 4});
  const float slope = 3;
  const Array z = matmul(x, y, {.activation = [slope](const Array& block) { return block * slope; }});
  EXPECT_EQ(z.as<float>()[5], 48.0f);
  EXPECT_EQ(Array(matmul(x, y, {.activation = smalti::negative})).as<float>()[0], -16.0f);
}

TEST(Kernels, MatmulMasksNoMiddlingContraction) {
  for (const int64_t k : {500, 640, 768, 1000, 1100}) {
    const Array x = ones({8, k}), y = full({k, 16}, 2.0f);
    EXPECT_EQ(Array(matmul(x, y)).as<float>()[127], 2.0f * static_cast<float>(k));
    const std::string text = matmul_call(x.type(), y.type()).lower(x, y).mosaic();
    EXPECT_EQ(text.find("tpu.iota") != text.npos, k == 1100) << k;
  }
}

TEST(Kernels, ExportNeedsBlocksThatATpuTakes) {
  const Array x = ones({64, 300}), y = ones({300, 64});
  const auto good = matmul_call(x.type(), y.type(), {.block_k = 128}).lower(x, y).stablehlo();
  ASSERT_TRUE(good) << good.error().str();
}

TEST(Kernels, SC10_AliasedWindowHoldsTheOperandOnlyWhereWindowsAreReloaded) {
  const Array x = ones({4096}), start = full({1}, 10.0f);
  {
    const With hlo("semantics", "hlo");
    EXPECT_EQ(tiled_dot(x, x, start, {.start = DotStart::aliased, .block = 1024}).as<float>()[0], 4106.0f);
    EXPECT_EQ(tiled_dot(x, x, start, {.block = 1024}).as<float>()[0], 4106.0f);
  }
  EXPECT_EQ(tiled_dot(x, x, start, {.block = 1024}).as<float>()[0], 4106.0f);
  const RunReport report = tiled_dot_call(x.type(), {.start = DotStart::aliased, .block = 1024}).check(x, x, start);
  EXPECT_FALSE(report.findings.empty());
  EXPECT_NE(report.results[0].as<float>()[0], 4106.0f);
}

}  // namespace
}  // namespace smalti::kernels
