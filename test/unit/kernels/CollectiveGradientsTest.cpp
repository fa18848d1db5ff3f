// Gradients of the library's kernels of several devices: those of the same functions written with collectives outside
// kernels, which test/python/test_device_transforms.py compares with JAX.
#include "smalti/kernels/collective_gradients.h"

#include <gtest/gtest.h>

#include <cmath>

#include "smalti/smalti.h"

namespace smalti::kernels {
namespace {

const Mesh kLine({{"x", 4}});

Array some(Shape shape, int seed) { return normal(random_key(seed), std::move(shape)) / 4; }

void expectNear(const Array& a, const Array& b) {
  ASSERT_EQ(a.type(), b.type());
  for (int64_t i = 0; i < b.elements(); ++i) ASSERT_NEAR(a.as<float>()[i], b.as<float>()[i], 2e-5) << i;
}

/// Of one array, in parts of its rows: the gradients of sum(sin(f(x))) by both.
template <class F, class G>
void expectSameGradient(const F& kernel, const G& plain, const Array& x) {
  const auto gradient = [&](const auto& f) {
    const auto mapped = shard_map([f](const Array& v) { return f(v); }, kLine, P("x"), P("x"));
    return grad([mapped](const Array& a) { return sum(sin(Array(mapped(a)))); })(x);
  };
  expectNear(gradient(kernel), gradient(plain));
}

TEST(CollectiveGradients, OfKernelsThatMoveAndAdd) {
  const Array x = some({16, 128}, 0);
  expectSameGradient([](const Array& v) { return right_permute_with_gradient(v, "x"); },
                     [](const Array& v) { return ppermute(v, "x", {{0, 1}, {1, 2}, {2, 3}, {3, 0}}); }, x);
  for (const GatherPath path : {GatherPath::direct, GatherPath::ring, GatherPath::bidirectional})
    expectSameGradient([path](const Array& v) { return all_gather_rows_with_gradient(v, "x", path); },
                       [](const Array& v) { return all_gather(v, "x", {.tiled = true}); }, x);
  expectSameGradient([](const Array& v) { return reduce_scatter_rows_with_gradient(v, "x"); },
                     [](const Array& v) { return psum_scatter(v, "x", {.tiled = true}); }, x);
  expectSameGradient([](const Array& v) { return all_reduce_rows_with_gradient(v, "x"); },
                     [](const Array& v) { return psum(v, "x"); }, x);
  expectSameGradient([](const Array& v) { return all_to_all_parts_with_gradient(v, "x"); },
                     [](const Array& v) { return all_to_all(v, "x", 0, 0); }, x);
}

TEST(CollectiveGradients, OfProducts) {
  const Array x = some({16, 128}, 1), w = some({512, 128}, 2);
  const auto gradients = [&](const auto& f) {
    const auto mapped =
        shard_map([f](const Array& v, const Array& w) { return f(v, w); }, kLine, {P("x"), P("x")}, P("x"));
    return grad<0, 1>([mapped](const Array& a, const Array& b) { return sum(sin(Array(mapped(a, b)))); })(x, w);
  };
  const DotOptions exact{.precision = Precision::highest};
  {
    const auto [dx, dw] =
        gradients([](const Array& v, const Array& w) { return all_gather_matmul_with_gradient(v, w, "x"); });
    const auto [ex, ew] =
        gradients([=](const Array& v, const Array& w) { return dot(all_gather(v, "x", {.tiled = true}), w, exact); });
    expectNear(dx, ex);
    expectNear(dw, ew);
  }
  const auto [dx, dw] =
      gradients([](const Array& v, const Array& w) { return matmul_reduce_scatter_with_gradient(v, w, "x"); });
  const auto [ex, ew] =
      gradients([=](const Array& v, const Array& w) { return psum_scatter(dot(v, w, exact), "x", {.tiled = true}); });
  expectNear(dx, ex);
  expectNear(dw, ew);
}

TEST(CollectiveGradients, OfRingAttention) {
  const Array q = some({2, 32, 128}, 3), k = some({2, 32, 128}, 4), v = some({2, 32, 128}, 5);
  for (const bool causal : {false, true}) {
    const auto parts = P(std::nullopt, "x");
    const auto ring =
        shard_map([causal](const Array& q, const Array& k,
                           const Array& v) { return ring_attention_with_gradient(q, k, v, "x", {.causal = causal}); },
                  kLine, {parts, parts, parts}, parts);
    const auto ours = [&](const Array& q, const Array& k, const Array& v) { return sum(sin(Array(ring(q, k, v)))); };
    const auto plain = [&](const Array& q, const Array& k, const Array& v) {
      Array s = dot_general(q, k, {{2}, {2}, {0}, {0}}) / std::sqrt(128.0f);
      const Shape square{32, 32};
      if (causal) s = where(broadcasted_iota(i32, square, 0) >= broadcasted_iota(i32, square, 1), s, -1e30f);
      return sum(sin(dot_general(softmax(s), v, {{2}, {1}, {0}, {0}})));
    };
    const auto [dq, dk, dv] = grad<0, 1, 2>(ours)(q, k, v);
    const auto [eq, ek, ev] = grad<0, 1, 2>(plain)(q, k, v);
    expectNear(dq, eq);
    expectNear(dk, ek);
    expectNear(dv, ev);
  }
}

TEST(CollectiveGradients, OfOtherKernelsThatTalkAreRefused) {
  const auto f = shard_map([](const Array& v) { return right_permute(v, "x"); }, kLine, P("x"), P("x"));
  const auto done = attempt([&] { return grad([&](const Array& a) { return sum(Array(f(a))); })(some({16, 128}, 0)); });
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, "SM7113");
  EXPECT_NE(done.error().help.find("custom_vjp"), std::string::npos) << done.error().str();
}

}  // namespace
}  // namespace smalti::kernels
