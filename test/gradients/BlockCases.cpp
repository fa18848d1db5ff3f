// Kernels without memory between their steps, and with output blocks that steps come back to.
#include "Cases.h"

namespace smalti::gradients {
namespace {

const ShapeDtype kOut{{16, 256}, f32};

Case elementwise(std::string name, std::function<Array(const Array&)> f) {
  const auto call =
      pallas_call([f](Ref x, Ref o) { o[_] = f(x[_]); },
                  {.out_shape = kOut, .grid = {2, 2}, .in_specs = {block(8, 128)}, .out_specs = {block(8, 128)}});
  return {std::move(name), "", {numbers({16, 256}, 1)}, [=](const Arrays& x) { return all(call(x[0])); }};
}

Array keepSum(const Array& x) { return sum(x, {.axes = {1}, .keepdims = true}); }

Case byRows(std::string name, std::function<Array(const Array&)> f) {
  const auto call =
      pallas_call([f](Ref x, Ref o) { o[_] = f(x[_]); },
                  {.out_shape = kOut, .grid = {2}, .in_specs = {rows(8, 256)}, .out_specs = {rows(8, 256)}});
  return {std::move(name), "", {numbers({16, 256}, 2)}, [=](const Arrays& x) { return all(call(x[0])); }};
}

/// A result of one block that every step reads and writes.
Case folded(std::string name, std::function<Array(const Array&, const Array&)> f) {
  const auto call = pallas_call(
      [f](Ref x, Ref o) {
        when(program_id(0) == 0, [&] { o[_] = zeros_like(o); });
        o[_] = f(o[_], x[_]);
      },
      {.out_shape = ShapeDtype{{8, 128}, f32}, .grid = {3}, .in_specs = {rows(8, 128)}, .out_specs = {same(8, 128)}});
  return {std::move(name), "revisited", {numbers({24, 128}, 3)}, [=](const Arrays& x) { return all(call(x[0])); }};
}

}  // namespace

std::vector<Case> blockCases() {
  std::vector<Case> cases{
      elementwise("scaled_sine", [](const Array& x) { return sin(x) * 2; }),
      elementwise("gelu", [](const Array& x) { return gelu(x); }),
      elementwise("relu_squared", [](const Array& x) { return square(relu(x)); }),
      elementwise("horner",
                  [](const Array& x) {
                    return fori_loop(0, 4, [&](auto, const Array& c) { return c * x * 0.5f + 1; }, ones_like(x));
                  }),
      elementwise("alternating",
                  [](const Array& x) {
                    return cond(program_id(0) == program_id(1), [&] { return sin(x); }, [&] { return x * x; });
                  }),
      elementwise("two_sided", [](const Array& x) { return where(x > 0, log1p(abs(x)), exp(x) - 1); }),
      byRows("row_softmax", [](const Array& x) { return softmax(x); }),
      byRows("row_norm",
             [](const Array& x) {
               const Array centred = x - keepSum(x) / 256.0f;
               return centred * rsqrt(keepSum(centred * centred) / 256.0f + 1e-3f);
             }),
      byRows("log_softmax",
             [](const Array& x) {
               const Array top = max(x, {.axes = {1}, .keepdims = true});
               return x - top - log(keepSum(exp(x - top)));
             }),
      byRows("rolled", [](const Array& x) { return roll(x, 3, 1) * x; }),
      folded("folded_sum", [](const Array& o, const Array& x) { return o + sin(x); }),
      folded("folded_tanh", [](const Array& o, const Array& x) { return tanh(o + x); }),
      folded("folded_product", [](const Array& o, const Array& x) { return (o + 1) * x; }),
      folded("folded_maximum", [](const Array& o, const Array& x) { return maximum(o, x); }),
  };
  const auto product = pallas_call(
      [](Ref x, Ref y, Ref o) { o[_] = x[_] * y[_]; },
      {.out_shape = kOut, .grid = {2, 2}, .in_specs = {block(8, 128), block(8, 128)}, .out_specs = {block(8, 128)}});
  cases.push_back({"product", "", {numbers({16, 256}, 4), numbers({16, 256}, 5)}, [=](const Arrays& x) {
                     return all(product(x[0], x[1]));
                   }});
  const auto transposed = pallas_call([](Ref x, Ref o) { o[_] = transpose(x[_]); },
                                      {.out_shape = ShapeDtype{{256, 128}, f32},
                                       .grid = {2},
                                       .in_specs = {{{128, 128}, [](auto i) { return std::tuple{0, i}; }}},
                                       .out_specs = {rows(128, 128)}});
  cases.push_back({"transposed", "", {numbers({128, 256}, 6)}, [=](const Arrays& x) { return all(transposed(x[0])); }});
  const auto reversed = pallas_call([](Ref x, Ref o) { o[_] = x[_] * x[_]; },
                                    {.out_shape = ShapeDtype{{32, 128}, f32},
                                     .grid = {4},
                                     .in_specs = {{{8, 128}, [](auto i) { return std::tuple{3 - i, 0}; }}},
                                     .out_specs = {rows(8, 128)}});
  cases.push_back({"reversed", "", {numbers({32, 128}, 7)}, [=](const Arrays& x) { return all(reversed(x[0])); }});
  const auto biased =
      pallas_call([](Ref x, Ref b, Ref o) { o[_] = tanh(x[_] + b[_]); }, {.out_shape = ShapeDtype{{32, 128}, f32},
                                                                          .grid = {4},
                                                                          .in_specs = {rows(8, 128), same(1, 128)},
                                                                          .out_specs = {rows(8, 128)}});
  cases.push_back({"biased", "", {numbers({32, 128}, 8), numbers({1, 128}, 9)}, [=](const Arrays& x) {
                     return all(biased(x[0], x[1]));
                   }});
  const auto outer = pallas_call([](Ref x, Ref y, Ref o) { o[_] = x[_] * y[_]; },
                                 {.out_shape = kOut,
                                  .grid = {2, 2},
                                  .in_specs = {{{8, 1}, [](auto i, auto) { return std::tuple{i, 0}; }},
                                               {{1, 128}, [](auto, auto j) { return std::tuple{0, j}; }}},
                                  .out_specs = {block(8, 128)}});
  cases.push_back({"outer", "", {numbers({16, 1}, 10), numbers({1, 256}, 11)}, [=](const Arrays& x) {
                     return all(outer(x[0], x[1]));
                   }});
  const auto squeezedBlocks =
      pallas_call([](Ref x, Ref o) { o[_] = exp(x[_]); },
                  {.out_shape = ShapeDtype{{3, 8, 128}, f32},
                   .grid = {3},
                   .in_specs = {{{squeezed, 8, 128}, [](auto i) { return std::tuple{i, 0, 0}; }}},
                   .out_specs = {{{squeezed, 8, 128}, [](auto i) { return std::tuple{i, 0, 0}; }}}});
  cases.push_back(
      {"squeezed", "", {numbers({3, 8, 128}, 12)}, [=](const Arrays& x) { return all(squeezedBlocks(x[0])); }});
  const auto halves = pallas_call(
      [](Ref x, Ref o) {
        o[{ds(0, 4), _}] = x[{ds(4, 4), _}] * 3;
        o[{ds(4, 4), _}] = x[{ds(0, 4), _}] * x[{ds(4, 4), _}];
      },
      {.out_shape = ShapeDtype{{8, 128}, f32}});
  cases.push_back({"halves", "", {numbers({8, 128}, 13)}, [=](const Arrays& x) { return all(halves(x[0])); }});
  const auto strided = pallas_call(
      [](Ref x, Ref o) {
        o[_] = x[_];
        o[{ds(0, 8, 2), _}] = x[{ds(1, 8, 2), _}] * x[{ds(0, 8, 2), _}];
      },
      {.out_shape = ShapeDtype{{16, 128}, f32}});
  cases.push_back({"strided", "", {numbers({16, 128}, 14)}, [=](const Arrays& x) { return all(strided(x[0])); }});
  const auto slabs = pallas_call(
      [](Ref x, Ref o) { loop(0, 4, [&](const Array& i) { o[{ds(i * 8, 8), _}] = sin(x[{ds((3 - i) * 8, 8), _}]); }); },
      {.out_shape = ShapeDtype{{32, 128}, f32}});
  cases.push_back({"slabs", "", {numbers({32, 128}, 15)}, [=](const Arrays& x) { return all(slabs(x[0])); }});
  const auto edges =
      pallas_call([](Ref x, Ref o) { o[_] = x[_] * x[_] * x[_]; }, {.out_shape = ShapeDtype{{20, 200}, f32},
                                                                    .grid = {3, 2},
                                                                    .in_specs = {block(8, 128)},
                                                                    .out_specs = {block(8, 128)}});
  cases.push_back({"edges", "", {numbers({20, 200}, 16)}, [=](const Arrays& x) { return all(edges(x[0])); }});
  const auto edgeWeights = pallas_call([](Ref x, Ref w, Ref o) { o[_] = x[_] / keepSum(square(x[_])) * w[_]; },
                                       {.out_shape = ShapeDtype{{20, 128}, f32},
                                        .grid = {3},
                                        .in_specs = {rows(8, 128), same(1, 128)},
                                        .out_specs = {rows(8, 128)}});
  cases.push_back({"edge_weights", "", {numbers({20, 128}, 21), numbers({1, 128}, 22)}, [=](const Arrays& x) {
                     return all(edgeWeights(x[0], x[1]));
                   }});
  const auto edgeSum = pallas_call(
      [](Ref x, Ref o) {
        when(program_id(0) == 0, [&] { o[_] = zeros_like(o); });
        const Array row = broadcasted_iota(i32, {8, 128}, 0) + program_id(0) * 8;
        o[_] += sum(where(row < 20, square(x[_]), 0), {.axes = {0}, .keepdims = true});
      },
      {.out_shape = ShapeDtype{{1, 128}, f32}, .grid = {3}, .in_specs = {rows(8, 128)}, .out_specs = {same(1, 128)}});
  cases.push_back(
      {"edge_sum", "revisited", {numbers({20, 128}, 17)}, [=](const Arrays& x) { return all(edgeSum(x[0])); }});
  const auto moments = pallas_call(
      [](Ref x, Ref s, Ref q) {
        when(program_id(0) == 0, [&] {
          s[_] = zeros_like(s);
          q[_] = zeros_like(q);
        });
        s[_] += keepSum(x[_]);
        q[_] += keepSum(square(x[_]));
      },
      {.out_shape = {ShapeDtype{{8, 1}, f32}, ShapeDtype{{8, 1}, f32}},
       .grid = {3},
       .in_specs = {{{8, 128}, [](auto i) { return std::tuple{0, i}; }}},
       .out_specs = {same(8, 1), same(8, 1)}});
  cases.push_back(
      {"moments", "revisited", {numbers({8, 384}, 18)}, [=](const Arrays& x) { return all(moments(x[0]), 2); }});
  const auto matmul = pallas_call(
      [](Ref x, Ref y, Ref o) {
        when(program_id(2) == 0, [&] { o[_] = zeros_like(o); });
        o[_] += dot(x[_], y[_]);
      },
      {.out_shape = kOut,
       .grid = {2, 2, 2},
       .in_specs = {{{8, 128}, [](auto i, auto, auto k) { return std::tuple{i, k}; }},
                    {{128, 128}, [](auto, auto j, auto k) { return std::tuple{k, j}; }}},
       .out_specs = {{{8, 128}, [](auto i, auto j, auto) { return std::tuple{i, j}; }}}});
  cases.push_back(
      {"matmul_revisited", "revisited", {numbers({16, 256}, 19), numbers({256, 256}, 20)}, [=](const Arrays& x) {
         return all(matmul(x[0], x[1]));
       }});
  return cases;
}

}  // namespace smalti::gradients
