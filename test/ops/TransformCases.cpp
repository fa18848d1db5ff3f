#include "Compositions.h"

namespace smalti::ops::test {
namespace {

using In = const Inputs&;

Array waves(const Array& x) { return sum(sin(x) * x); }
constexpr const char* kWaves = "(lambda x: jnp.sum(jnp.sin(x) * x))";

Array looped(const Array& x) {
  return fori_loop(0, 4, [](auto i, const Array& c) { return sin(c) * (1.0 + 0.25 * astype(i, f32)); }, x);
}
constexpr const char* kLooped =
    "(lambda x: lax.fori_loop(0, 4, lambda i, c: jnp.sin(c) * (1.0 + 0.25 * i.astype(jnp.float32)), x))";

/// A recurrence with two carries, one of which is not a float, and stacked results.
Array recurrence(const Array& x) {
  const auto [carry, ys] = scan(
      [](const std::pair<Array, Array>& c, const Array& x) {
        const Array next = tanh(c.first * x + 0.5 + 0.125 * astype(c.second, f32));
        return std::pair{std::pair{next, c.second + 1}, next * x};
      },
      std::pair{ones({}, f32), zeros({}, i32)}, x);
  return carry.first + sum(ys * ys);
}
constexpr const char* kRecurrence =
    "(lambda x: (lambda r: r[0][0] + jnp.sum(r[1] ** 2))(lax.scan(lambda c, x: (lambda n: ((n, c[1] + 1), n * x))("
    "jnp.tanh(c[0] * x + 0.5 + 0.125 * c[1].astype(jnp.float32))), (jnp.float32(1), jnp.int32(0)), x)))";

Array nested(const Array& x) {
  const auto [total, ys] = scan(
      [&](const Array& c, const Array& row) {
        const auto [inner, zs] = scan([&](const Array& d, const Array& e) { return std::pair{d * cos(e) + c, d + e}; },
                                      c, row, {.reverse = true});
        return std::pair{sin(inner), sum(zs)};
      },
      full({}, 0.5, f32), x);
  return total + sum(ys);
}
constexpr const char* kNested =
    "(lambda x: (lambda r: r[0] + jnp.sum(r[1]))(lax.scan(lambda c, row: (lambda q: (jnp.sin(q[0]), jnp.sum(q[1])))("
    "lax.scan(lambda d, e: (d * jnp.cos(e) + c, d + e), c, row, reverse=True)), jnp.float32(0.5), x)))";

Array branched(const Array& x) {
  return cond(sum(x) > 0, [&] { return sum(x * x * x); }, [&] { return sum(cos(x)); });
}
constexpr const char* kBranched =
    "(lambda x: lax.cond(jnp.sum(x) > 0, lambda: jnp.sum(x * x * x), lambda: jnp.sum(jnp.cos(x))))";

Array doubled(const Array& x) {
  return while_loop([](const Array& v) { return sum(abs(v)) < 50.0; }, [](const Array& v) { return v * 2 + 0.125; }, x);
}
constexpr const char* kDoubled =
    "(lambda x: lax.while_loop(lambda v: jnp.sum(jnp.abs(v)) < 50, lambda v: v * 2 + 0.125, x))";

Array attention(const Array& q, const Array& k, const Array& v) { return dot(softmax(dot(q, transpose(k))), v); }
constexpr const char* kAttention = "(lambda q, k, v: jax.nn.softmax(q @ k.T) @ v)";

}  // namespace

std::vector<Case> transformCases() {
  std::vector<Case> cases;
  const Array x = numbers({5}, f32), m = numbers({3, 4}, f32, 1);
  compositions(cases, kWaves, waves, x);
  compositions(cases, kLooped, looped, x);
  compositions(cases, kRecurrence, recurrence, x);
  compositions(cases, kNested, nested, m);
  compositions(cases, kBranched, branched, x);
  const auto add = [&](std::string jax, Inputs inputs, std::function<Array(In)> op) {
    cases.push_back({std::move(jax), std::move(inputs), std::move(op), 2e-5, false});
  };
  add(with("jax.jvp(@f, (a,), (jnp.ones_like(a),))[1]", kDoubled), {x},
      [](In in) { return jvp(doubled, std::tuple{in[0]}, std::tuple{ones_like(in[0])}).second; });
  add(with("jax.vmap(@f)(jnp.stack([a, a / 8, -a * 4]))", kDoubled), {x},
      [](In in) { return vmap(doubled)(stack({in[0], in[0] / 8, -in[0] * 4})); });
  add("jax.vmap(lambda n: lax.fori_loop(0, n, lambda i, c: c * 2.0 + i, 1.0))(a)", {astype(arange(5, i32), i32)},
      [](In in) {
        return vmap([](const Array& n) {
          return fori_loop(0, n, [](auto i, const Array& c) { return c * 2.0 + astype(i, f32); }, full({}, 1, f32));
        })(in[0]);
      });
  const Array q = numbers({4, 6}, f32) / 4, k = numbers({5, 6}, f32, 2) / 4, v = numbers({5, 3}, f32, 3);
  for (int i = 0; i < 3; ++i)
    add(with("jax.grad(lambda q, k, v: jnp.sum(@f(q, k, v) ** 2), argnums=" + std::to_string(i) + ")(a, b, c)",
             kAttention),
        {q, k, v}, [i](In in) {
          const auto f = [](const Array& q, const Array& k, const Array& v) { return sum(square(attention(q, k, v))); };
          const auto [a, b, c] = grad<0, 1, 2>(f)(in[0], in[1], in[2]);
          return i == 0 ? a : i == 1 ? b : c;
        });
  const Array qs = numbers({4, 2, 6}, f32), ks = numbers({5, 2, 6}, f32, 2);
  add(with("jax.vmap(@f, in_axes=(1, 1, None), out_axes=2)(a, b, c)", kAttention), {qs, ks, v},
      [](In in) { return vmap(attention, {.in_axes = {1, 1, none}, .out_axes = {2}})(in[0], in[1], in[2]); });
  add(with("jax.vmap(@f, in_axes=(-2, -2, None), out_axes=-1)(a, b, c)", kAttention), {qs, ks, v},
      [](In in) { return vmap(attention, {.in_axes = {-2, -2, none}, .out_axes = {-1}})(in[0], in[1], in[2]); });
  const Array table = numbers({6, 3}, f32),
              ids = array(std::span<const int32_t>(std::vector<int32_t>{5, 0, 5, 2}), {2, 2});
  add("jnp.take(a, b, axis=0)", {table, ids}, [](In in) { return take(in[0], in[1]); });
  add("jnp.take(a, b, axis=1)", {numbers({2, 6, 3}, f32), ids}, [](In in) { return take(in[0], in[1], 1); });
  add("lax.dynamic_slice(a, (b, 1), (2, 2))", {table, full({}, 3, i32)},
      [](In in) { return dynamic_slice(in[0], {in[1], 1}, {2, 2}); });
  add("lax.dynamic_slice(a, (b, 1), (2, 2))", {table, full({}, 9, i32)},
      [](In in) { return dynamic_slice(in[0], {in[1], 1}, {2, 2}); });
  add("lax.dynamic_update_slice(a, b, (c, 1))", {table, numbers({2, 2}, f32, 4), full({}, 3, i32)},
      [](In in) { return dynamic_update_slice(in[0], in[1], {in[2], 1}); });
  return cases;
}

}  // namespace smalti::ops::test
