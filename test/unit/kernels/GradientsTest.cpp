// Backward kernels of the library: the gradients of the same functions written in plain ops, and central differences.
#include <gtest/gtest.h>

#include <cmath>

#include "smalti/kernels/gradients.h"
#include "smalti/smalti.h"

namespace smalti::kernels {
namespace {

Array numbers(Shape shape, int seed) { return normal(random_key(seed), std::move(shape)); }

void expectClose(const Array& a, const Array& b, double tolerance) {
  ASSERT_EQ(a.type(), b.type());
  double largest = 1;
  for (int64_t i = 0; i < b.elements(); ++i) largest = std::max<double>(largest, std::abs(b.as<float>()[i]));
  for (int64_t i = 0; i < b.elements(); ++i) ASSERT_NEAR(a.as<float>()[i], b.as<float>()[i], tolerance * largest) << i;
}

/// The derivative along a direction by central differences of the f32 values: the error is theirs, about 1e-3.
template <class F, class... A>
void expectSlope(const F& f, const std::tuple<A...>& at, const std::tuple<A...>& along, double slope) {
  constexpr float h = 1e-2f;
  const auto value = [&](float step) {
    return std::apply(
        [&](const A&... x) {
          return std::apply([&](const A&... d) { return *f(x + step * d...).template as<float>(); }, along);
        },
        at);
  };
  const double measured = (value(h) - value(-h)) / (2.0 * h);
  EXPECT_NEAR(slope, measured, 5e-3 * std::max(1.0, std::abs(measured)));
}

double dot(const Array& a, const Array& b) { return *sum(a * b).as<float>(); }

TEST(Gradients, Matmul) {
  for (const auto& [m, k, n] : {std::tuple{16, 128, 128}, std::tuple{5, 7, 3}, std::tuple{130, 64, 40}}) {
    const auto ours = [](const Array& x, const Array& y) { return sum(sin(matmul_with_gradient(x, y))); };
    const auto plain = [](const Array& x, const Array& y) { return sum(sin(smalti::dot(x, y))); };
    const Array x = numbers({m, k}, 0) / 8, y = numbers({k, n}, 1) / 8;
    const auto [dx, dy] = grad<0, 1>(ours)(x, y);
    const auto [ex, ey] = grad<0, 1>(plain)(x, y);
    expectClose(dx, ex, 1e-5);
    expectClose(dy, ey, 1e-5);
    const auto [jx, jy] = jit(grad<0, 1>(ours))(x, y);
    expectClose(jx, dx, 0);
    expectClose(jy, dy, 0);
  }
}

TEST(Gradients, RmsNorm) {
  for (const int rows : {8, 64, 100, 1}) {
    const auto ours = [](const Array& x, const Array& s) { return sum(sin(rms_norm_with_gradient(x, s))); };
    const auto plain = [](const Array& x, const Array& s) {
      return sum(sin(x * rsqrt(mean(square(x), {.axes = {1}, .keepdims = true}) + 1e-5) * s));
    };
    const Array x = numbers({rows, 96}, 2), s = numbers({96}, 3);
    const auto [dx, ds] = grad<0, 1>(ours)(x, s);
    const auto [ex, es] = grad<0, 1>(plain)(x, s);
    expectClose(dx, ex, 1e-5);
    expectClose(ds, es, 1e-5);
    const Array ax = numbers({rows, 96}, 4) / 10, as = numbers({96}, 5) / 10;
    expectSlope(ours, std::tuple{x, s}, std::tuple{ax, as}, dot(dx, ax) + dot(ds, as));
  }
}

TEST(Gradients, LayerNorm) {
  for (const int rows : {8, 64, 100, 1}) {
    const auto ours = [](const Array& x, const Array& s, const Array& b) {
      return sum(sin(layer_norm_with_gradient(x, s, b)));
    };
    const auto plain = [](const Array& x, const Array& s, const Array& b) {
      const Array centred = x - mean(x, {.axes = {1}, .keepdims = true});
      return sum(sin(centred * rsqrt(mean(square(centred), {.axes = {1}, .keepdims = true}) + 1e-5) * s + b));
    };
    const Array x = numbers({rows, 96}, 2), s = numbers({96}, 3), b = numbers({96}, 4);
    const auto [dx, ds, db] = grad<0, 1, 2>(ours)(x, s, b);
    const auto [ex, es, eb] = grad<0, 1, 2>(plain)(x, s, b);
    expectClose(dx, ex, 1e-5);
    expectClose(ds, es, 1e-5);
    expectClose(db, eb, 1e-5);
    const Array ax = numbers({rows, 96}, 5) / 10, as = numbers({96}, 6) / 10, ab = numbers({96}, 7) / 10;
    expectSlope(ours, std::tuple{x, s, b}, std::tuple{ax, as, ab}, dot(dx, ax) + dot(ds, as) + dot(db, ab));
  }
}

TEST(Gradients, OfExamplesUnderVmap) {
  const auto f = [](const Array& x, const Array& s) { return sum(square(rms_norm_with_gradient(x, s))); };
  const Array x = numbers({3, 8, 96}, 2), s = numbers({96}, 3);
  const Array each = jit(vmap(grad<1>(f), {.in_axes = {0, none}}))(x, s);
  for (int64_t i = 0; i < 3; ++i)
    expectClose(reshape(slice(each, {i, 0}, {i + 1, 96}), {96}),
                grad<1>(f)(reshape(slice(x, {i, 0, 0}, {i + 1, 8, 96}), {8, 96}), s), 1e-6);
}

TEST(Gradients, AttentionWithLogSumsOrWithoutKeys) {
  const Array q = numbers({1, 1, 8, 128}, 0), k = numbers({1, 1, 16, 128}, 1), none = zeros({1, 1, 0, 128});
  const Array first = flash_attention(q, k, k, {.log_sums = true});
  expectClose(flash_attention(q, k, k), first, 0);
  const auto f = [](const Array& q, const Array& k, const Array& v) {
    return sum(flash_attention_with_gradient(q, k, v));
  };
  const auto [dq, dk, dv] = grad<0, 1, 2>(f)(q, none, none);
  expectClose(dq, zeros_like(q), 0);
  EXPECT_EQ(dk.type(), none.type());
}

TEST(Gradients, BackwardKernelsAreFoundToBeRight) {
  const Array x = numbers({100, 128}, 0), s = ones({1, 128}), d = numbers({100, 128}, 1);
  for (const auto& call : {rms_norm_backward_call(x.type()), layer_norm_backward_call(x.type())})
    for (const Finding& f : call.check(x, s, d).findings) ADD_FAILURE() << f.diagnostic.str();
}

}  // namespace
}  // namespace smalti::kernels
