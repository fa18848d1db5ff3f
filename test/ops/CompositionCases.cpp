// Kernels inside compositions of transformations and control flow. JAX's twins, in plain ops, are in
// test/python/composition_twins.py.
#include "Compositions.h"

namespace smalti::ops::test {
namespace {

const BlockSpec kRows{{2, 6}, [](auto i) { return std::tuple{i, 0}; }};
const BlockSpec kFirst{{2, 6}, [](auto) { return std::tuple{0, 0}; }};
const ShapeDtype kTable{{4, 6}, f32};

Array scaledSine(const Array& x) {
  static const auto call = pallas_call([](Ref x, Ref o) { o[_] = sin(x[_]) * (1.0 + astype(program_id(0), f32)); },
                                       {.out_shape = kTable, .grid = {2}, .in_specs = {kRows}, .out_specs = {kRows}});
  return call(x);
}

/// The same output block in all steps.
Array sumOfBlocks(const Array& x) {
  static const auto call = pallas_call(
      [](Ref x, Ref o) {
        when(program_id(0) == 0, [&] { o[_] = zeros_like(o); });
        o[_] += x[_] * x[_];
      },
      {.out_shape = ShapeDtype{{2, 6}, f32}, .grid = {2}, .in_specs = {kRows}, .out_specs = {kFirst}});
  return call(x);
}

Array product(const Array& x, const Array& y) {
  static const auto call = pallas_call(
      [](Ref x, Ref y, Ref o, Ref acc) {
        when(program_id(1) == 0, [&] { acc[_] = zeros_like(acc); });
        acc[_] += dot(x[_], y[_]);
        when(program_id(1) == num_programs(1) - 1, [&] { o[_] = tanh(acc[_]); });
      },
      {.out_shape = ShapeDtype{{4, 5}, f32},
       .grid = {2, 3},
       .in_specs = {BlockSpec{{2, 2}, [](auto i, auto k) { return std::tuple{i, k}; }},
                    BlockSpec{{2, 5}, [](auto, auto k) { return std::tuple{k, 0}; }}},
       .out_specs = {BlockSpec{{2, 5}, [](auto i, auto) { return std::tuple{i, 0}; }}},
       .scratch_shapes = {vmem({2, 5}, f32)}});
  return call(x, y);
}

/// Block i of the result is block ids[i], times one more than that.
Array chosenBlocks(const Array& ids, const Array& x) {
  static const auto call = pallas_call(
      [](Ref ids, Ref x, Ref o) { o[_] = x[_] * (1.0 + astype(ids[program_id(0)], f32)); },
      {.out_shape = kTable,
       .grid_spec = GridSpec{.num_scalar_prefetch = 1,
                             .grid = {2},
                             .in_specs = {BlockSpec{{2, 6}, [](auto i, auto ids) { return std::tuple{ids[i], 0}; }}},
                             .out_specs = {BlockSpec{{2, 6}, [](auto i, auto) { return std::tuple{i, 0}; }}}}});
  return call(ids, x);
}

/// The first rows are doubled in place, the others stay.
Array doubledHead(const Array& x) {
  static const auto call = pallas_call(
      [](Ref x, Ref o) { o[_] = x[_] * 2; },
      {.out_shape = kTable, .grid = {1}, .in_specs = {kRows}, .out_specs = {kRows}, .input_output_aliases = {{0, 0}}});
  return call(x);
}

/// Blocks come from memory that the kernel copies from itself.
Array pipelined(const Array& x) {
  static const auto call = pallas_call(
      [](Ref x, Ref o) {
        emit_pipeline([](Ref in, Ref out) { out[_] = cos(in[_]) * in[_]; },
                      {.grid = {2}, .in_specs = {kRows}, .out_specs = {kRows}})(x, o);
      },
      {.out_shape = kTable, .in_specs = {BlockSpec(any_space)}, .out_specs = {BlockSpec(any_space)}});
  return call(x);
}

Array attention(const Array& q, const Array& k, const Array& v) {
  static const auto call = pallas_call(
      [](Ref q, Ref k, Ref v, Ref o, Ref m, Ref l, Ref acc) {
        when(program_id(1) == 0, [&] {
          m[_] = full_like(m, -1e30f);
          l[_] = zeros_like(l);
          acc[_] = zeros_like(acc);
        });
        const Array s = dot_general(q[_], k[_], {{1}, {1}});
        const Array top = maximum(m[_], max(s, {.axes = {1}, .keepdims = true}));
        const Array p = exp(s - top), old = exp(m[_] - top);
        l[_] = l[_] * old + sum(p, {.axes = {1}, .keepdims = true});
        acc[_] = acc[_] * old + dot(p, v[_]);
        m[_] = top;
        when(program_id(1) == num_programs(1) - 1, [&] { o[_] = acc[_] / l[_]; });
      },
      {.out_shape = ShapeDtype{{4, 3}, f32},
       .grid = {2, 2},
       .in_specs = {BlockSpec{{2, 3}, [](auto i, auto) { return std::tuple{i, 0}; }},
                    BlockSpec{{2, 3}, [](auto, auto j) { return std::tuple{j, 0}; }},
                    BlockSpec{{2, 3}, [](auto, auto j) { return std::tuple{j, 0}; }}},
       .out_specs = {BlockSpec{{2, 3}, [](auto i, auto) { return std::tuple{i, 0}; }}},
       .scratch_shapes = {vmem({2, 1}, f32), vmem({2, 1}, f32), vmem({2, 3}, f32)}});
  return call(q, k, v);
}

struct State {
  Array value;
  std::pair<Array, Array> sums;
  template <class F>
  void visit(F&& f) {
    f(value, sums);
  }
};

// Functions of one array [4, 6] under all of compositions().

Array steps(const Array& x) {
  const auto step = jit([](const Array& c) { return 0.5 * scaledSine(c) + c; });
  return fori_loop(0, 3, [&](auto, const Array& c) { return step(c); }, x);
}
Array prefetched(const Array& x) {
  const Array ids = array(std::vector<int32_t>{1, 0, 0, 0, 1, 1}, {3, 2});
  const auto body = [](const Array& c, const Array& ids) {
    const Array next = chosenBlocks(ids, sin(c)) * 0.5;
    return std::pair{next, sumOfBlocks(next)};
  };
  const auto [last, sums] = scan(body, x, ids);
  return last + concatenate({sum(sums, 0), zeros({2, 6})});
}
Array remembered(const Array& x) {
  const auto body = [](const State& s, const Array& row) {
    const Array next = checkpoint([](const Array& v) { return scaledSine(v); })(s.value) + row;
    return std::pair{State{next, {s.sums.first + sum(next), s.sums.second * 0.5 + row}}, max(next, 0)};
  };
  const auto [s, tops] = scan(body, State{x, {zeros({}), zeros({6})}}, x);
  return s.value * s.sums.first + s.sums.second + sum(tops, 0);
}
Array branches(const Array& x) {
  return cond(sum(x) > 0, [&] { return scaledSine(x); }, [&] { return pipelined(x) + x; });
}
Array inPlace(const Array& x) { return doubledHead(sin(x)) * x; }
/// The derivative is that of the function of the kernel times 3.
Array tripled(const Array& x) {
  static const auto backward =
      pallas_call([](Ref x, Ref ct, Ref o) { o[_] = 3.0 * ct[_] * cos(x[_]); },
                  {.out_shape = kTable, .grid = {2}, .in_specs = {kRows, kRows}, .out_specs = {kRows}});
  static const auto f =
      custom_vjp([](const Array& x) { return sin(x); }, [](const Array& x) { return std::pair{sin(x), x}; },
                 [](const Array& x, const Array& ct) -> Array { return backward(x, ct); });
  return f(x) * x;
}
Array chosen(const Array& x) {
  return switch_(astype(abs(sum(x)), i32) % 3,
                 {[&] { return scaledSine(x); }, [&] { return doubledHead(x * x); }, [&] { return tanh(x); }});
}
Array closedOver(const Array& x) {
  const auto f = [&](const Array& y) { return sum(scaledSine(x * y)); };
  return grad(f)(x) + vmap([&](const Array& row) { return row * sum(pipelined(x)); })(x);
}

}  // namespace

std::vector<Case> compositionCases() {
  std::vector<Case> cases;
  const Array x = numbers({4, 6}, f32) / 4;
  compositions(cases, "twins.scaled_sine", scaledSine, x);
  compositions(cases, "twins.sum_of_blocks", sumOfBlocks, x);
  compositions(cases, "twins.pipelined", pipelined, x);
  compositions(cases, "twins.steps", steps, x);
  compositions(cases, "twins.prefetched", prefetched, x);
  compositions(cases, "twins.remembered", remembered, x, 1e-4);
  compositions(cases, "twins.branches", branches, x);
  compositions(cases, "twins.in_place", inPlace, x);
  compositions(cases, "twins.chosen", chosen, x);
  compositions(cases, "twins.closed_over", closedOver, x);
  const auto add = [&](std::string jax, Inputs inputs, std::function<Array(const Inputs&)> op) {
    cases.push_back({std::move(jax), std::move(inputs), std::move(op), 2e-5, false});
  };
  // Rules of custom_vjp, which has no forward mode.
  add("jax.jit(jax.vmap(jax.grad(lambda x: jnp.sum(twins.tripled(x)))))(jnp.stack([a, -a]))", {x},
      [](auto& in) { return jit(vmap(grad([](const Array& x) { return sum(tripled(x)); })))(stack({in[0], -in[0]})); });
  add("jax.grad(lambda x: jnp.sum(lax.scan(lambda c, r: (twins.tripled(c) + r, jnp.sum(c)), x, x)[0]))(a)", {x},
      [](auto& in) {
        return grad([](const Array& x) {
          const auto body = [](const Array& c, const Array& r) { return std::pair{tripled(c) + r, sum(c)}; };
          return sum(scan(body, x, x).first);
        })(in[0]);
      });
  // Loops whose number of steps differs by example, with a kernel in each step.
  add("jax.vmap(lambda n, x: lax.fori_loop(0, n, lambda i, c: twins.scaled_sine(c) + c, x))(jnp.arange(3), "
      "jnp.stack([a, -a, 2 * a]))",
      {x}, [](auto& in) {
        const auto f = [](const Array& n, const Array& x) {
          return fori_loop(0, n, [](auto, const Array& c) { return scaledSine(c) + c; }, x);
        };
        return vmap(f)(arange(3), stack({in[0], -in[0], 2 * in[0]}));
      });
  const auto until = [](const Array& x) {
    return while_loop([](const Array& v) { return sum(abs(v)) < 200.0; },
                      [](const Array& v) { return v * 1.5 + 0.1 * scaledSine(v); }, x);
  };
  add("jax.vmap(lambda x: jax.jvp(twins.until, (x,), (jnp.cos(x),))[1])(jnp.stack([a, -a, 2 * a]))", {x},
      [=](auto& in) {
        const auto f = [=](const Array& x) { return jvp(until, std::tuple{x}, std::tuple{cos(x)}).second; };
        return vmap(f)(stack({in[0], -in[0], 2 * in[0]}));
      });
  // Whole Jacobians, forwards and backwards.
  const auto eye = [] {
    const Array rows = broadcasted_iota(i32, {24, 24}, 0), columns = broadcasted_iota(i32, {24, 24}, 1);
    return reshape(astype(rows == columns, f32), {24, 4, 6});
  };
  add("jax.jacrev(twins.sum_of_blocks)(a).reshape(12, 24)", {x}, [](auto& in) {
    const auto [y, back] = vjp(sumOfBlocks, in[0]);
    const Array rows = broadcasted_iota(i32, {12, 12}, 0), columns = broadcasted_iota(i32, {12, 12}, 1);
    return reshape(vmap(back)(reshape(astype(rows == columns, f32), {12, 2, 6})), {12, 24});
  });
  add("jnp.moveaxis(jax.jacfwd(twins.scaled_sine)(a).reshape(4, 6, 24), -1, 0)", {x}, [=](auto& in) {
    const auto along = [&](const Array& t) { return jvp(scaledSine, std::tuple{in[0]}, std::tuple{t}).second; };
    return vmap(along)(eye());
  });
  // Two arguments, one of which all examples share, along other axes than the first.
  const Array y = numbers({6, 5}, f32, 2) / 8;
  for (int i = 0; i < 2; ++i)
    add("jax.grad(lambda a, b: jnp.sum(jax.vmap(twins.product, in_axes=(1, None), out_axes=-1)("
        "jnp.stack([a, -a, 2 * a], 1), b) ** 2), argnums=" +
            std::to_string(i) + ")(a, b)",
        {x, y}, [i](auto& in) {
          const auto f = [](const Array& a, const Array& b) {
            const auto each = vmap(product, {.in_axes = {1, none}, .out_axes = {-1}});
            return sum(square(each(stack({a, -a, 2 * a}, 1), b)));
          };
          return i == 0 ? grad<0>(f)(in[0], in[1]) : grad<1>(f)(in[0], in[1]);
        });
  // Numbers that tell blocks of each example apart; and of all examples.
  add("jax.vmap(twins.chosen_blocks)(jnp.array([[0, 1], [1, 1], [1, 0]]), jnp.stack([a, -a, 2 * a]))", {x},
      [](auto& in) {
        return vmap(chosenBlocks)(array(std::vector<int32_t>{0, 1, 1, 1, 1, 0}, {3, 2}),
                                  stack({in[0], -in[0], 2 * in[0]}));
      });
  add("jax.vmap(twins.chosen_blocks, in_axes=(0, None))(jnp.array([[0, 1], [1, 1], [1, 0]]), a)", {x}, [](auto& in) {
    return vmap(chosenBlocks, {.in_axes = {0, none}})(array(std::vector<int32_t>{0, 1, 1, 1, 1, 0}, {3, 2}), in[0]);
  });
  // Multi-head, multi-query and batched attention by nested vmap.
  const Array q = numbers({2, 4, 3, 3}, f32) / 4, k = numbers({2, 4, 3, 3}, f32, 1) / 4,
              v = numbers({2, 4, 3, 3}, f32, 2) / 4;  // batch, length, heads, size
  const Array k1 = numbers({2, 4, 3}, f32, 3) / 4, v1 = numbers({2, 4, 3}, f32, 4) / 4;
  add("jax.vmap(jax.vmap(twins.attention, in_axes=(1, 1, 1), out_axes=1))(a, b, c)", {q, k, v}, [](auto& in) {
    return jit(vmap(vmap(attention, {.in_axes = {1, 1, 1}, .out_axes = {1}})))(in[0], in[1], in[2]);
  });
  add("jax.vmap(jax.vmap(twins.attention, in_axes=(1, None, None), out_axes=1))(a, b, c)", {q, k1, v1}, [](auto& in) {
    return vmap(vmap(attention, {.in_axes = {1, none, none}, .out_axes = {1}}))(in[0], in[1], in[2]);
  });
  add("jax.grad(lambda k: jnp.sum(jax.vmap(jax.vmap(twins.attention, in_axes=(1, None, None), out_axes=1))(a, k, c) "
      "** 2))(b)",
      {q, k1, v1}, [](auto& in) {
        return grad([&](const Array& k) {
          const auto each = vmap(vmap(attention, {.in_axes = {1, none, none}, .out_axes = {1}}));
          return sum(square(each(in[0], k, in[2])));
        })(in[1]);
      });
  return cases;
}

}  // namespace smalti::ops::test
