// Kernels that scalars steer: which block comes, where it goes, how much of it counts.
#include "Cases.h"

namespace smalti::gradients {

std::vector<Case> prefetchCases() {
  std::vector<Case> cases;
  const auto gather = pallas_call([](Ref, Ref x, Ref o) { o[_] = sin(x[_]); },
                                  {.out_shape = ShapeDtype{{32, 128}, f32},
                                   .grid = {4},
                                   .in_specs = {{{8, 128}, [](auto i, auto n) { return std::tuple{n[i], 0}; }}},
                                   .out_specs = {{{8, 128}, [](auto i, auto) { return std::tuple{i, 0}; }}},
                                   .num_scalar_prefetch = 1});
  cases.push_back({"gathered_blocks", "prefetch", {whole({2, 0, 2, 1}), numbers({24, 128}, 50)}, [=](const Arrays& x) {
                     return all(gather(x[0], x[1]));
                   }});
  const auto scatter = pallas_call([](Ref, Ref x, Ref o) { o[_] = x[_] * x[_]; },
                                   {.out_shape = ShapeDtype{{32, 128}, f32},
                                    .grid = {4},
                                    .in_specs = {{{8, 128}, [](auto i, auto) { return std::tuple{i, 0}; }}},
                                    .out_specs = {{{8, 128}, [](auto i, auto n) { return std::tuple{n[i], 0}; }}},
                                    .num_scalar_prefetch = 1});
  cases.push_back({"scattered_blocks", "prefetch", {whole({3, 0, 2, 1}), numbers({32, 128}, 51)}, [=](const Arrays& x) {
                     return all(scatter(x[0], x[1]));
                   }});
  const auto experts =
      pallas_call([](Ref, Ref x, Ref w, Ref o) { o[_] = tanh(dot(x[_], w[_])); },
                  {.out_shape = ShapeDtype{{24, 128}, f32},
                   .grid = {3},
                   .in_specs = {{{8, 128}, [](auto i, auto) { return std::tuple{i, 0}; }},
                                {{squeezed, 128, 128}, [](auto i, auto e) { return std::tuple{e[i], 0, 0}; }}},
                   .out_specs = {{{8, 128}, [](auto i, auto) { return std::tuple{i, 0}; }}},
                   .num_scalar_prefetch = 1});
  cases.push_back({"experts",
                   "prefetch",
                   {whole({1, 0, 1}), numbers({24, 128}, 52), numbers({2, 128, 128}, 53, 0.125f)},
                   [=](const Arrays& x) { return all(experts(x[0], x[1], x[2])); }});
  const auto lengths = pallas_call(
      [](Ref n, Ref x, Ref o) {
        const Array column = broadcasted_iota(i32, {8, 128}, 1);
        o[_] = where(column < n[program_id(0)], exp(x[_]), 0);
      },
      {.out_shape = ShapeDtype{{24, 128}, f32},
       .grid = {3},
       .in_specs = {{{8, 128}, [](auto i, auto) { return std::tuple{i, 0}; }}},
       .out_specs = {{{8, 128}, [](auto i, auto) { return std::tuple{i, 0}; }}},
       .num_scalar_prefetch = 1});
  cases.push_back({"masked_lengths", "prefetch", {whole({100, 0, 128}), numbers({24, 128}, 54)}, [=](const Arrays& x) {
                     return all(lengths(x[0], x[1]));
                   }});
  const auto segments = pallas_call(
      [](Ref n, Ref x, Ref o) {
        const Array i = program_id(0);
        when(i == 0 || n[i] != n[maximum(i - 1, 0)], [&] { o[_] = zeros_like(o); });
        o[_] += x[_] * x[_];
      },
      {.out_shape = ShapeDtype{{16, 128}, f32},
       .grid = {5},
       .in_specs = {{{8, 128}, [](auto i, auto) { return std::tuple{i, 0}; }}},
       .out_specs = {{{8, 128}, [](auto i, auto n) { return std::tuple{n[i], 0}; }}},
       .num_scalar_prefetch = 1});
  cases.push_back(
      {"segment_sums", "prefetch revisited", {whole({0, 0, 1, 1, 1}), numbers({40, 128}, 55)}, [=](const Arrays& x) {
         return all(segments(x[0], x[1]));
       }});
  const auto chosen =
      pallas_call([](Ref n, Ref x,
                     Ref o) { o[_] = cond(n[program_id(0)] > 0, [&] { return sin(x[_]); }, [&] { return x[_] * 3; }); },
                  {.out_shape = ShapeDtype{{24, 128}, f32},
                   .grid = {3},
                   .in_specs = {{{8, 128}, [](auto i, auto) { return std::tuple{i, 0}; }}},
                   .out_specs = {{{8, 128}, [](auto i, auto) { return std::tuple{i, 0}; }}},
                   .num_scalar_prefetch = 1});
  cases.push_back({"chosen_functions", "prefetch", {whole({1, 0, 1}), numbers({24, 128}, 56)}, [=](const Arrays& x) {
                     return all(chosen(x[0], x[1]));
                   }});
  const auto dynamicGrid =
      pallas_call([](Ref x, Ref o) { o[_] = x[_] * x[_]; }, {.out_shape = ShapeDtype{{32, 128}, f32},
                                                             .grid = {dynamic},
                                                             .in_specs = {rows(8, 128)},
                                                             .out_specs = {rows(8, 128)},
                                                             .input_output_aliases = {{0, 0}}});
  cases.push_back(
      {"first_blocks", "", {numbers({32, 128}, 57)}, [=](const Arrays& x) { return all(dynamicGrid(2, x[0])); }});
  // Any other index than 0 chooses the last Ref.
  const auto selected = pallas_call(
      [](Ref n, Ref x, Ref o, Ref a, Ref b) {
        a[_] = zeros_like(a);
        b[_] = zeros_like(b);
        sync_copy(x, select_ref(n[0], {a, b}));
        o[_] = b[_] * b[_] + a[_];
      },
      {.out_shape = ShapeDtype{{8, 128}, f32},
       .in_specs = {BlockSpec()},
       .scratch_shapes = {vmem({8, 128}, f32), vmem({8, 128}, f32)},
       .num_scalar_prefetch = 1});
  cases.push_back({"selected_last", "prefetch", {whole({-1}), numbers({8, 128}, 60)}, [=](const Arrays& x) {
                     return all(selected(x[0], x[1]));
                   }});
  // The later steps fetch what the earlier ones have written back.
  const auto refetched = pallas_call([](Ref x, Ref o) { o[_] = x[_] * x[_]; },
                                     {.out_shape = ShapeDtype{{64, 128}, f32},
                                      .grid = {8},
                                      .in_specs = {{{8, 128}, [](auto i) { return std::tuple{i % 4, 0}; }}},
                                      .out_specs = {{{8, 128}, [](auto i) { return std::tuple{i, 0}; }}},
                                      .input_output_aliases = {{0, 0}}});
  cases.push_back(
      {"refetched_blocks", "", {numbers({64, 128}, 58)}, [=](const Arrays& x) { return all(refetched(x[0])); }});
  // A step that has the block of the step before does not fetch it again.
  const auto kept = pallas_call([](Ref x, Ref o) { o[_] = x[_] * x[_]; },
                                {.out_shape = ShapeDtype{{32, 128}, f32},
                                 .grid = {4},
                                 .in_specs = {{{8, 128}, [](auto i) { return std::tuple{div(i, 2), 0}; }}},
                                 .out_specs = {{{8, 128}, [](auto i) { return std::tuple{i, 0}; }}},
                                 .input_output_aliases = {{0, 0}}});
  cases.push_back({"kept_blocks", "", {numbers({32, 128}, 59)}, [=](const Arrays& x) { return all(kept(x[0])); }});
  return cases;
}

}  // namespace smalti::gradients
