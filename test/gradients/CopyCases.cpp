// Kernels that copy by themselves.
#include "Cases.h"

namespace smalti::gradients {

std::vector<Case> copyCases() {
  std::vector<Case> cases;
  const auto copied = pallas_call(
      [](Ref x, Ref o, Ref buffer, Ref sem) {
        loop(0, 3, [&](const Array& i) {
          const auto in = make_async_copy(x.at(ds(i * 8, 8)), buffer, sem);
          in.start();
          in.wait();
          buffer[_] = cos(buffer[_]);
          const auto out = make_async_copy(buffer, o.at(ds(i * 8, 8)), sem);
          out.start();
          out.wait();
        });
      },
      {.out_shape = ShapeDtype{{24, 128}, f32},
       .in_specs = {BlockSpec(any_space)},
       .out_specs = {BlockSpec(any_space)},
       .scratch_shapes = {vmem({8, 128}, f32), semaphore_type::dma()}});
  cases.push_back(
      {"copied_rows", "copies scratch", {numbers({24, 128}, 60)}, [=](const Arrays& x) { return all(copied(x[0])); }});
  const auto pipeline = pallas_call(
      [](Ref x, Ref y, Ref o) {
        emit_pipeline([](Ref x, Ref y, Ref o) { o[_] = x[_] * sin(y[_]); },
                      {.grid = {3}, .in_specs = {rows(8, 128), rows(8, 128)}, .out_specs = {rows(8, 128)}})(x, y, o);
      },
      {.out_shape = ShapeDtype{{24, 128}, f32},
       .in_specs = {BlockSpec(any_space), BlockSpec(any_space)},
       .out_specs = {BlockSpec(any_space)}});
  cases.push_back({"pipeline", "copies", {numbers({24, 128}, 61), numbers({24, 128}, 62)}, [=](const Arrays& x) {
                     return all(pipeline(x[0], x[1]));
                   }});
  const auto pipelinedMatmul = pallas_call(
      [](Ref x, Ref y, Ref o) {
        emit_pipeline(
            [](Ref x, Ref y, Ref o) {
              when(program_id(0) == 0, [&] { o[_] = zeros_like(o); });
              o[_] += dot(x[_], y[_]);
            },
            {.grid = {2},
             .in_specs = {{{8, 128}, [](auto k) { return std::tuple{0, k}; }}, rows(128, 128)},
             .out_specs = {same(8, 128)}})(x, y, o);
      },
      {.out_shape = ShapeDtype{{8, 128}, f32},
       .in_specs = {BlockSpec(any_space), BlockSpec(any_space)},
       .out_specs = {BlockSpec(any_space)}});
  cases.push_back(
      {"pipelined_matmul", "copies revisited", {numbers({8, 256}, 63), numbers({256, 128}, 64)}, [=](const Arrays& x) {
         return all(pipelinedMatmul(x[0], x[1]));
       }});
  return cases;
}

}  // namespace smalti::gradients
