// Modules of batched kernels, whose twins test/python/test_vmap_modules.py makes with JAX.
#include "Cases.h"

namespace smalti::ops::test {
namespace {

const BlockSpec kRows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
const ShapeDtype kTable{{16, 128}, f32};

Array scaled(const Array& x) {
  return pallas_call(
      [](Ref x, Ref o) { o[_] = x[_] * astype(program_id(0) + num_programs(0), f32); },
      {.out_shape = kTable, .grid = {2}, .in_specs = {kRows}, .out_specs = {kRows}, .name = "scaled"})(x);
}
Array product(const Array& x, const Array& y) {
  return pallas_call(
      [](Ref x, Ref y, Ref o, Ref acc) {
        when(program_id(1) == 0, [&] { acc[_] = zeros_like(acc); });
        acc[_] += dot(x[_], y[_]);
        when(program_id(1) == num_programs(1) - 1, [&] { o[_] = acc[_]; });
      },
      {.out_shape = kTable,
       .grid = {2, 2},
       .in_specs = {BlockSpec{{8, 128}, [](auto i, auto k) { return std::tuple{i, k}; }},
                    BlockSpec{{128, 128}, [](auto, auto k) { return std::tuple{k, 0}; }}},
       .out_specs = {BlockSpec{{8, 128}, [](auto i, auto) { return std::tuple{i, 0}; }}},
       .scratch_shapes = {vmem({8, 128}, f32)},
       .name = "product",
       .compiler_params = {.dimension_semantics = {parallel, arbitrary}}})(x, y);
}
Array chosen(const Array& ids, const Array& x) {
  return pallas_call(
      [](Ref ids, Ref x, Ref o) { o[_] = x[_] * astype(ids[program_id(0)], f32); },
      {.out_shape = kTable,
       .grid_spec = GridSpec{.num_scalar_prefetch = 1,
                             .grid = {2},
                             .in_specs = {BlockSpec{{8, 128}, [](auto i, auto ids) { return std::tuple{ids[i], 0}; }}},
                             .out_specs = {BlockSpec{{8, 128}, [](auto i, auto) { return std::tuple{i, 0}; }}}},
       .name = "chosen"})(ids, x);
}
Array updated(const Array& x, const Array& before) {
  return pallas_call([](Ref x, Ref, Ref o) { o[_] = x[_] + 1; }, {.out_shape = kTable,
                                                                  .grid = {1},
                                                                  .in_specs = {kRows, kRows},
                                                                  .out_specs = {kRows},
                                                                  .input_output_aliases = {{1, 0}},
                                                                  .name = "updated"})(x, before);
}
Array whole(const Array& x) {
  return pallas_call([](Ref x, Ref o) { o[_] = x[_] + 1; }, {.out_shape = kTable, .name = "whole"})(x);
}

template <class F, class... A>
std::string moduleOf(const F& f, const A&... a) {
  return unwrap(jit(f).lower(a...).stablehlo());
}

}  // namespace

std::vector<std::pair<std::string, std::string>> vmapModules() {
  const Array ids = ones({2}, i32);
  return {
      {"scaled", moduleOf(vmap(scaled), ones({3, 16, 128}))},
      {"scaled_twice", moduleOf(vmap(vmap(scaled)), ones({2, 3, 16, 128}))},
      {"scaled_once", moduleOf(vmap(scaled), ones({1, 16, 128}))},
      {"product", moduleOf(vmap(product), ones({3, 16, 256}), ones({3, 256, 128}))},
      {"product_shared", moduleOf(vmap(product, {.in_axes = {0, none}}), ones({3, 16, 256}), ones({256, 128}))},
      {"product_shared_twice", moduleOf(vmap(vmap(product, {.in_axes = {none, 0}}), {.in_axes = {0, none}}),
                                        ones({2, 16, 256}), ones({3, 256, 128}))},
      {"chosen_shared", moduleOf(vmap(chosen, {.in_axes = {none, 0}}), ids, ones({3, 16, 128}))},
      {"chosen_differing", moduleOf(vmap(chosen), ones({3, 2}, i32), ones({3, 16, 128}))},
      {"updated", moduleOf(vmap(updated), ones({3, 16, 128}), ones({3, 16, 128}))},
      {"updated_shared", moduleOf(vmap(updated, {.in_axes = {0, none}}), ones({3, 16, 128}), ones({16, 128}))},
      {"whole", moduleOf(vmap(whole), ones({3, 16, 128}))},
  };
}

}  // namespace smalti::ops::test
