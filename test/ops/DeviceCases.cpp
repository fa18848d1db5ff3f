// Collectives and shard_map under transformations, on a line of four devices.
#include <random>

#include "Compositions.h"

namespace smalti::ops::test {
namespace {

const Mesh kLine({{"x", 4}});
const Mesh kSquare({{"x", 2}, {"y", 2}});

/// What a device does with its part, [4, 4], in C++ and in JAX.
struct Step {
  std::string jax;  ///< of v
  std::function<Array(const Array&)> ours;
};

const std::vector<std::pair<int64_t, int64_t>> kRing{{0, 1}, {1, 2}, {2, 3}, {3, 0}}, kShift{{0, 1}, {1, 2}};

std::vector<Step> steps() {
  return {
      {"jnp.sin(v) * 1.5", [](const Array& v) { return sin(v) * 1.5; }},
      {"jnp.tanh(v)", [](const Array& v) { return tanh(v); }},
      {"v * v * 0.5", [](const Array& v) { return v * v * 0.5; }},
      {"v * (1.0 + 0.5 * lax.axis_index('x'))",
       [](const Array& v) { return v * (1.0 + 0.5 * astype(axis_index("x"), f32)); }},
      {"0.5 * lax.psum(v, 'x')", [](const Array& v) { return 0.5 * psum(v, "x"); }},
      {"v - lax.pmean(v, 'x')", [](const Array& v) { return v - pmean(v, "x"); }},
      {"v + lax.ppermute(v, 'x', [(0, 1), (1, 2), (2, 3), (3, 0)])",
       [](const Array& v) { return v + ppermute(v, "x", kRing); }},
      {"v + lax.ppermute(v, 'x', [(0, 1), (1, 2)])", [](const Array& v) { return v + ppermute(v, "x", kShift); }},
      {"lax.psum_scatter(jnp.sin(lax.all_gather(v, 'x', axis=1, tiled=True)), 'x', scatter_dimension=1, tiled=True)",
       [](const Array& v) {
         return psum_scatter(sin(all_gather(v, "x", {.axis = 1, .tiled = true})), "x",
                             {.scatter_dimension = 1, .tiled = true});
       }},
      {"jnp.mean(lax.all_gather(v, 'x', axis=1) ** 2, 1)",
       [](const Array& v) { return mean(square(all_gather(v, "x", {.axis = 1})), 1); }},
      {"v * lax.psum_scatter(v, 'x')", [](const Array& v) { return v * psum_scatter(v, "x"); }},
      {"lax.all_to_all(v, 'x', 0, 1, tiled=True).reshape(4, 4) * 0.5 + v",
       [](const Array& v) { return reshape(all_to_all(v, "x", 0, 1, {.tiled = true}), {4, 4}) * 0.5 + v; }},
      // JAX does not transpose an all_to_all that moves an axis, and has no pbroadcast on a CPU: the same by other
      // means.
      {"v * lax.all_to_all(v.T, 'x', 0, 0, tiled=True)", [](const Array& v) { return v * all_to_all(v, "x", 1, 0); }},
      {"v * lax.all_gather(v, 'x')[2]", [](const Array& v) { return v * pbroadcast(v, "x", 2); }},
      // JAX has no derivative of pmax and pmin; that of the same by other means is ours.
      {"v * jnp.max(lax.all_gather(v, 'x'), 0)", [](const Array& v) { return v * pmax(v, "x"); }},
      {"v + jnp.min(lax.all_gather(jnp.cos(v), 'x'), 0)", [](const Array& v) { return v + pmin(cos(v), "x"); }},
      {"jax.checkpoint(lambda w: jnp.sin(lax.psum(w, 'x')))(v)",
       [](const Array& v) { return checkpoint([](const Array& w) { return sin(psum(w, "x")); })(v); }},
      {"lax.fori_loop(0, 2, lambda i, w: jnp.sin(lax.ppermute(w, 'x', [(0, 1), (1, 2), (2, 3), (3, 0)])) + w, v)",
       [](const Array& v) {
         return fori_loop(0, 2, [](auto, const Array& w) { return sin(ppermute(w, "x", kRing)) + w; }, v);
       }},
      {"jax.vmap(lambda r: lax.psum(r, 'x') * r)(v)",
       [](const Array& v) { return vmap([](const Array& r) { return psum(r, "x") * r; })(v); }},
      {"jax.grad(lambda w: jnp.sum(lax.psum(jnp.sin(w), 'x') * w))(v)",
       [](const Array& v) { return grad([](const Array& w) { return sum(psum(sin(w), "x") * w); })(v); }},
  };
}

struct Program {
  std::string jax;
  std::function<Array(const Array&)> ours;
};

Program after(const Program& first, const Step& step) {
  return {"(lambda v: " + step.jax + ")(" + first.jax + ")",
          [f = first.ours, g = step.ours](const Array& v) { return g(f(v)); }};
}
Program start() {
  return {"v", [](const Array& v) { return v; }};
}

void onLine(std::vector<Case>& cases, const Program& p, const PartitionSpec& out, const std::string& outText,
            const Array& x) {
  const auto mapped = shard_map(p.ours, kLine, P("x"), out);
  compositions(
      cases, "on_devices(lambda v: " + p.jax + ", LINE, P('x'), " + outText + ")",
      [mapped](const Array& a) { return Array(mapped(a)); }, x, 1e-4);
}

}  // namespace

std::vector<Case> deviceCases() {
  std::vector<Case> cases;
  const Array x = numbers({16, 4}, f32) / 4;
  const std::vector<Step> all = steps();
  for (const Step& step : all) onLine(cases, after(start(), step), P("x"), "P('x')", x);
  std::mt19937 random(7);
  for (int n = 0; n < 12; ++n) {
    Program p = start();
    for (int i = 0; i < 3; ++i) p = after(p, all[random() % all.size()]);
    if (n % 3 == 2)
      onLine(cases, after(p, all[4]), P(), "P()", x);  // the same on all devices
    else
      onLine(cases, p, P("x"), "P('x')", x);
  }
  const auto add = [&](std::string jax, Inputs inputs, std::function<Array(const Inputs&)> op) {
    cases.push_back({std::move(jax), std::move(inputs), std::move(op), 2e-5, false});
  };
  // A value that all devices have whole, from outside; and two axes, of which each array knows one.
  const Array w = numbers({4, 3}, f32, 1) / 4;
  const auto loss = [](const Array& x, const Array& w) {
    const auto f = shard_map([](const Array& v, const Array& w) { return pmean(sum(square(sin(dot(v, w)))), "x"); },
                             kLine, {P("x"), P()}, P());
    return Array(f(x, w));
  };
  const std::string text =
      "on_devices(lambda v, w: lax.pmean(jnp.sum(jnp.sin(v @ w) ** 2), 'x'), LINE, (P('x'), P()), P())";
  add("jax.grad(" + text + ", argnums=1)(a, b)", {x, w}, [=](auto& in) { return grad<1>(loss)(in[0], in[1]); });
  add("jax.jit(jax.grad(" + text + ", argnums=1))(a, b)", {x, w},
      [=](auto& in) { return jit(grad<1>(loss))(in[0], in[1]); });
  add("jax.hessian(lambda b: " + text + "(a, b))(b)", {x, w}, [=](auto& in) {
    const auto g = [&, a = in[0]](const Array& b) { return grad<1>(loss)(a, b); };
    const Array rows = broadcasted_iota(i32, {12, 12}, 0), columns = broadcasted_iota(i32, {12, 12}, 1);
    const Array basis = reshape(astype(rows == columns, f32), {12, 4, 3});
    const auto along = [&](const Array& t) { return jvp(g, std::tuple{in[1]}, std::tuple{t}).second; };
    return reshape(transpose(reshape(vmap(along)(basis), {12, 12})), {4, 3, 4, 3});
  });
  const auto product = shard_map([](const Array& v, const Array& w) { return psum(dot(v, w), "y"); }, kSquare,
                                 {P("x", "y"), P("y", std::nullopt)}, P("x", std::nullopt));
  const std::string products =
      "on_devices(lambda v, w: lax.psum(v @ w, 'y'), SQUARE, (P('x', 'y'), P('y', None)), P('x', None))";
  for (int i = 0; i < 2; ++i)
    add("jax.grad(lambda a, b: jnp.sum(jnp.sin(" + products + "(a, b))), argnums=" + std::to_string(i) + ")(a, b)",
        {x, w}, [=](auto& in) {
          const auto f = [&](const Array& a, const Array& b) { return sum(sin(Array(product(a, b)))); };
          return i == 0 ? grad<0>(f)(in[0], in[1]) : grad<1>(f)(in[0], in[1]);
        });
  add("jax.vmap(" + products + ", in_axes=(0, None))(jnp.stack([a, -a]), b)", {x, w}, [=](auto& in) {
    const auto f = [&](const Array& a, const Array& b) { return Array(product(a, b)); };
    return vmap(f, {.in_axes = {0, none}})(stack({in[0], -in[0]}), in[1]);
  });
  return cases;
}

}  // namespace smalti::ops::test
