// Kernels with memory between their steps.
#include "Cases.h"

namespace smalti::gradients {
namespace {

/// x [16, 256] times y's [256, 128], over two blocks of k: `finish` makes the result of the sums.
Case products(std::string name, int count, std::function<Array(const Arrays&)> finish) {
  const auto kernel = [=](const std::vector<Ref>& refs) {
    const Ref x = refs[0], o = refs[1 + count];
    const auto sumOf = [&](int i) { return refs[2 + count + i]; };
    for (int i = 0; i < count; ++i) {
      when(program_id(1) == 0, [&] { sumOf(i)[_] = zeros_like(sumOf(i)); });
      sumOf(i)[_] += dot(x[_], refs[1 + i][_]);
    }
    when(program_id(1) == 1, [&] {
      Arrays sums;
      for (int i = 0; i < count; ++i) sums.push_back(sumOf(i)[_]);
      o[_] = finish(sums);
    });
  };
  Call call{.out_shape = ShapeDtype{{16, 128}, f32},
            .grid = {2, 2},
            .in_specs = {block(8, 128)},
            .out_specs = {{{8, 128}, [](auto i, auto) { return std::tuple{i, 0}; }}}};
  Case c{std::move(name), "scratch", {numbers({16, 256}, 30)}, {}};
  for (int i = 0; i < count; ++i) {
    call.in_specs.push_back({{128, 128}, [](auto, auto k) { return std::tuple{k, 0}; }});
    call.scratch_shapes.push_back(vmem({8, 128}, f32));
    c.inputs.push_back(numbers({256, 128}, 31 + i, 0.125f));
  }
  const PallasCall one =
      count == 1 ? pallas_call([=](Ref x, Ref y, Ref o, Ref s) { kernel({x, y, o, s}); }, call)
                 : pallas_call([=](Ref x, Ref y, Ref z, Ref o, Ref s, Ref t) { kernel({x, y, z, o, s, t}); }, call);
  c.run = [=](const Arrays& x) { return all(one.run({x.begin(), x.end()})); };
  return c;
}

/// A state that each block of rows changes, and is written out.
Case recurrence(std::string name, std::function<Array(const Array&, const Array&)> next) {
  const auto call = pallas_call(
      [=](Ref x, Ref o, Ref state) {
        when(program_id(0) == 0, [&] { state[_] = zeros_like(state); });
        state[_] = next(state[_], x[_]);
        o[_] = state[_];
      },
      {.out_shape = ShapeDtype{{32, 128}, f32},
       .grid = {4},
       .in_specs = {rows(8, 128)},
       .out_specs = {rows(8, 128)},
       .scratch_shapes = {vmem({8, 128}, f32)}});
  return {std::move(name), "scratch", {numbers({32, 128}, 40)}, [=](const Arrays& x) { return all(call(x[0])); }};
}

Array top(const Array& x) { return max(x, {.axes = {1}, .keepdims = true}); }
Array keepSum(const Array& x) { return sum(x, {.axes = {1}, .keepdims = true}); }

}  // namespace

std::vector<Case> accumulatorCases() {
  std::vector<Case> cases{
      products("matmul_scratch", 1, [](const Arrays& s) { return s[0]; }),
      products("matmul_gelu", 1, [](const Arrays& s) { return gelu(s[0]); }),
      products("matmul_softmax", 1, [](const Arrays& s) { return softmax(s[0]); }),
      products("gated_matmul", 2, [](const Arrays& s) { return silu(s[0]) * s[1]; }),
      recurrence("running_sum", [](const Array& s, const Array& x) { return s + x; }),
      recurrence("moving_average", [](const Array& s, const Array& x) { return 0.75f * s + 0.25f * x * x; }),
      recurrence("recurrent_tanh", [](const Array& s, const Array& x) { return tanh(0.5f * s + x); }),
      recurrence("running_product", [](const Array& s, const Array& x) { return (1 + s) * x; }),
      recurrence("running_maximum", [](const Array& s, const Array& x) { return maximum(s, x); }),
  };
  const auto logsumexp = pallas_call(
      [](Ref x, Ref o, Ref m, Ref l) {
        when(program_id(0) == 0, [&] {
          m[_] = full_like(m, -1e30f);
          l[_] = zeros_like(l);
        });
        const Array next = maximum(m[_], top(x[_]));
        l[_] = l[_] * exp(m[_] - next) + keepSum(exp(x[_] - next));
        m[_] = next;
        when(program_id(0) == 2, [&] { o[_] = m[_] + log(l[_]); });
      },
      {.out_shape = ShapeDtype{{8, 1}, f32},
       .grid = {3},
       .in_specs = {{{8, 128}, [](auto i) { return std::tuple{0, i}; }}},
       .out_specs = {same(8, 1)},
       .scratch_shapes = {vmem({8, 1}, f32), vmem({8, 1}, f32)}});
  cases.push_back(
      {"online_logsumexp", "scratch", {numbers({8, 384}, 41)}, [=](const Arrays& x) { return all(logsumexp(x[0])); }});
  const auto attention = pallas_call(
      [](Ref q, Ref k, Ref v, Ref o, Ref m, Ref l, Ref acc) {
        when(program_id(1) == 0, [&] {
          m[_] = full_like(m, -1e30f);
          l[_] = zeros_like(l);
          acc[_] = zeros_like(acc);
        });
        const Array s = dot_general(q[_], k[_], {{1}, {1}}) * 0.125f;
        const Array next = maximum(m[_], top(s)), p = exp(s - next), old = exp(m[_] - next);
        l[_] = l[_] * old + keepSum(p);
        acc[_] = acc[_] * old + dot(p, v[_]);
        m[_] = next;
        when(program_id(1) == 1, [&] { o[_] = acc[_] / l[_]; });
      },
      {.out_shape = ShapeDtype{{16, 128}, f32},
       .grid = {2, 2},
       .in_specs = {{{8, 128}, [](auto i, auto) { return std::tuple{i, 0}; }},
                    {{128, 128}, [](auto, auto j) { return std::tuple{j, 0}; }},
                    {{128, 128}, [](auto, auto j) { return std::tuple{j, 0}; }}},
       .out_specs = {{{8, 128}, [](auto i, auto) { return std::tuple{i, 0}; }}},
       .scratch_shapes = {vmem({8, 1}, f32), vmem({8, 1}, f32), vmem({8, 128}, f32)}});
  cases.push_back({"online_attention",
                   "scratch",
                   {numbers({16, 128}, 42), numbers({256, 128}, 43), numbers({256, 128}, 44)},
                   [=](const Arrays& x) { return all(attention(x[0], x[1], x[2])); }});
  const auto variance = pallas_call(
      [](Ref x, Ref o, Ref s, Ref q) {
        when(program_id(0) == 0, [&] {
          s[_] = zeros_like(s);
          q[_] = zeros_like(q);
        });
        s[_] += keepSum(x[_]);
        q[_] += keepSum(square(x[_]));
        when(program_id(0) == num_programs(0) - 1, [&] { o[_] = q[_] / 384.0f - square(s[_] / 384.0f); });
      },
      {.out_shape = ShapeDtype{{8, 1}, f32},
       .grid = {3},
       .in_specs = {{{8, 128}, [](auto i) { return std::tuple{0, i}; }}},
       .out_specs = {same(8, 1)},
       .scratch_shapes = {vmem({8, 1}, f32), vmem({8, 1}, f32)}});
  cases.push_back(
      {"variance", "scratch", {numbers({8, 384}, 45)}, [=](const Arrays& x) { return all(variance(x[0])); }});
  const auto scoped = pallas_call(
      [](Ref x, Ref o) {
        const auto body = [&](Ref total) {
          total[_] = zeros_like(total);
          loop(0, 4, [&](const Array& i) { total[_] = tanh(total[_] + x[{ds(i * 8, 8), _}]); });
          o[_] = total[_];
        };
        run_scoped(body, vmem({8, 128}, f32));
      },
      {.out_shape = ShapeDtype{{8, 128}, f32}});
  cases.push_back(
      {"scoped_fold", "scratch", {numbers({32, 128}, 46)}, [=](const Arrays& x) { return all(scoped(x[0])); }});
  return cases;
}

}  // namespace smalti::gradients
