// What goes wrong with traced values: captured, leaked, looked at.
#include "WrongPrograms.h"

namespace pl = smalti;
using pl::_;

namespace {

void run(pl::Kernel kernel, pl::Call extra = {}) {
  extra.out_shape = pl::ShapeDtype{{8, 128}, pl::f32};
  pl::pallas_call(std::move(kernel), std::move(extra))(pl::zeros({8, 128}));
}

}  // namespace

// error[SM6104]: the kernel captures an array constant, f32[128]
//   --> test/errors/lang/Tracing.cpp:25:49
//    25 |   run([=](pl::Ref x, pl::Ref o) { o[_] = x[_] + bias; });
//       |                                                 ^
//    in kernel 'kernel'
//   need: scalars only; arrays reach a kernel as inputs
//   help: pass the array as an input of the pallas_call
WRONG_PROGRAM(captured_array) {
  const pl::Array bias = pl::ones({128});
  run([=](pl::Ref x, pl::Ref o) { o[_] = x[_] + bias; });
}

// error[SM6105]: a traced value f32[8,128] is used outside the kernel or function it belongs to
//   --> test/errors/lang/Tracing.cpp:36:10
//    36 |   pl::exp(leaked);
//       |          ^
//   help: write it to an output Ref of the kernel, or return it from the function that is transformed
WRONG_PROGRAM(value_leaked_out_of_its_kernel) {
  pl::Array leaked;
  run([&](pl::Ref x, pl::Ref o) { leaked = x[_] + 1; });
  pl::exp(leaked);
}

// error[SM6105]: a traced value f32[8,128] is used in kernel 'kernel', to which it does not belong
//   --> test/errors/lang/Tracing.cpp:48:42
//    48 |   run([&](pl::Ref x, pl::Ref o) { o[_] = leaked; });
//       |                                          ^
//    in kernel 'kernel'
//   help: pass the value as an input of the pallas_call
WRONG_PROGRAM(value_leaked_into_another_kernel) {
  pl::Array leaked;
  run([&](pl::Ref x, pl::Ref o) { leaked = x[_] + 1; });
  run([&](pl::Ref x, pl::Ref o) { o[_] = leaked; });
}

// error[SM6105]: a traced value f32[8,128] is used after the block that computed it has ended
//   --> test/errors/lang/Tracing.cpp:62:16
//    62 |         o[_] = y;
//       |                ^
//    in kernel 'kernel'
//   help: return the value from the loop or branch (as a carry or result), or write it to a Ref
WRONG_PROGRAM(value_leaked_out_of_when) {
  run(
      [](pl::Ref x, pl::Ref o) {
        pl::Array y;
        pl::when(pl::program_id(0) == 0, [&] { y = x[_] * 2; });
        o[_] = y;
      },
      {.grid = {2}});
}

// error[SM6118]: an Array is used before it has a value
//   --> test/errors/lang/Tracing.cpp:78:23
//    78 |     o[_] = total + x[_];
//       |                       ^
//    in kernel 'kernel'
//   need: an array that was assigned
//   have: Array()
//   help: give it a value first, such as zeros(shape, dtype)
WRONG_PROGRAM(array_without_a_value) {
  run([](pl::Ref x, pl::Ref o) {
    pl::Array total;
    o[_] = total + x[_];
  });
}

// error[SM6118]: an Array is used before it has a value
//   --> test/errors/lang/Tracing.cpp:89:55
//    89 | WRONG_PROGRAM(array_without_a_value_outside) { pl::exp(pl::Array()); }
//       |                                                       ^
//   need: an array that was assigned
//   have: Array()
//   help: give it a value first, such as zeros(shape, dtype)
WRONG_PROGRAM(array_without_a_value_outside) { pl::exp(pl::Array()); }

// error[SM6106]: 'program_id' exists inside kernels only
//   --> test/errors/lang/Tracing.cpp:96:60
//    96 | WRONG_PROGRAM(program_id_outside_a_kernel) { pl::program_id(0); }
//       |                                                            ^
//   help: call it in a function that is passed to pallas_call
WRONG_PROGRAM(program_id_outside_a_kernel) { pl::program_id(0); }

// error[SM6107]: program id: 0 was passed, but user did not provide a grid
//   --> test/errors/lang/Tracing.cpp:107:62
//   107 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[_] + pl::program_id(0); });
//       |                                                              ^
//    in kernel 'kernel'
//   need: a grid
//   have: axis 0
//   help: give the pallas_call a grid
WRONG_PROGRAM(program_id_without_a_grid) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[_] + pl::program_id(0); });
}

// error[SM6107]: user passed in program id with axis: 1, but grid only has length: 1
//   --> test/errors/lang/Tracing.cpp:119:62
//   119 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[_] + pl::program_id(1); }, {.grid = {2}});
//       |                                                              ^
//    in kernel 'kernel'
//   need: an axis from 0 to 0
//   have: axis 1
//   help: the grid's axes count from 0
WRONG_PROGRAM(program_id_of_a_missing_axis) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[_] + pl::program_id(1); }, {.grid = {2}});
}

// error[SM6107]: user passed in program id with axis: -1, but grid only has length: 1
//   --> test/errors/lang/Tracing.cpp:131:64
//   131 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[_] + pl::num_programs(-1); }, {.grid = {2}});
//       |                                                                ^
//    in kernel 'kernel'
//   need: an axis from 0 to 0
//   have: axis -1
//   help: the grid's axes count from 0
WRONG_PROGRAM(num_programs_of_a_negative_axis) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[_] + pl::num_programs(-1); }, {.grid = {2}});
}

// error[SM6107]: the grid has no axis named 'rows'
//   --> test/errors/lang/Tracing.cpp:143:62
//   143 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[_] + pl::axis_index("rows"); }, {.grid = {{"row", 2}}});
//       |                                                              ^
//    in kernel 'kernel'
//   need: one of its 1 axes
//   have: rows
//   help: name the axes: .grid = {{"i", 4}, {"j", 2}}
WRONG_PROGRAM(axis_of_another_name) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[_] + pl::axis_index("rows"); }, {.grid = {{"row", 2}}});
}

// error[SM6107]: the grid has no axis named 'i'
//   --> test/errors/lang/Tracing.cpp:155:61
//   155 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[_] + pl::axis_size("i"); }, {.grid = {2}});
//       |                                                             ^
//    in kernel 'kernel'
//   need: one of its 1 axes
//   have: i
//   help: name the axes: .grid = {{"i", 4}, {"j", 2}}
WRONG_PROGRAM(axis_name_in_a_grid_without_names) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[_] + pl::axis_size("i"); }, {.grid = {2}});
}

// error[SM6115]: a condition is not a scalar
//   --> test/errors/lang/Tracing.cpp:167:42
//   167 |   run([](pl::Ref x, pl::Ref o) { pl::when(x[_] > 0, [&] { o[_] = x[_]; }); });
//       |                                          ^
//    in kernel 'kernel'
//   need: a scalar pred
//   have: pred[8,128]
//   help: reduce it with any or all, or select with where
WRONG_PROGRAM(condition_that_is_a_vector) {
  run([](pl::Ref x, pl::Ref o) { pl::when(x[_] > 0, [&] { o[_] = x[_]; }); });
}

// error[SM6116]: the branches of a cond give different types in result 0
//   --> test/errors/lang/Tracing.cpp:182:21
//   182 |             pl::cond(pl::program_id(0) == 0, [&] { return pl::astype(x[_], pl::bf16); }, [&] { return x[_].value(); });
//       |                     ^
//    in kernel 'kernel'
//   need: bf16[8,128]
//   have: f32[8,128]
//   help: convert them to one shape and dtype with astype and broadcast_to
WRONG_PROGRAM(branches_of_different_dtypes) {
  run(
      [](pl::Ref x, pl::Ref o) {
        o[_] =
            pl::cond(pl::program_id(0) == 0, [&] { return pl::astype(x[_], pl::bf16); }, [&] { return x[_].value(); });
      },
      {.grid = {2}});
}

// error[SM6116]: the branches of a cond give different numbers of results
//   --> test/errors/lang/Tracing.cpp:200:21
//   200 |             pl::cond(pl::program_id(0) == 0, [&] { return Values{x[_], x[_]}; }, [&] { return Values{x[_]}; });
//       |                     ^
//    in kernel 'kernel'
//   need: 2 results
//   have: 1
//   help: return as many values from each branch
WRONG_PROGRAM(branches_of_different_lengths) {
  run(
      [](pl::Ref x, pl::Ref o) {
        using Values = std::vector<pl::Array>;
        const Values y =
            pl::cond(pl::program_id(0) == 0, [&] { return Values{x[_], x[_]}; }, [&] { return Values{x[_]}; });
        o[_] = y[0];
      },
      {.grid = {2}});
}

// error[SM6117]: a switch without branches
//   --> test/errors/lang/Tracing.cpp:215:45
//   215 |   run([](pl::Ref x, pl::Ref o) { pl::switch_(pl::program_id(0), std::vector<std::function<void()>>{}); },
//       |                                             ^
//    in kernel 'kernel'
//   need: at least one branch
//   have: none
//   help: give a function for each index from 0
WRONG_PROGRAM(switch_without_branches) {
  run([](pl::Ref x, pl::Ref o) { pl::switch_(pl::program_id(0), std::vector<std::function<void()>>{}); },
      {.grid = {2}});
}

// error[SM6117]: the index of a switch is not an integer scalar
//   --> test/errors/lang/Tracing.cpp:228:45
//   228 |   run([](pl::Ref x, pl::Ref o) { pl::switch_(x[{0, 0}], {[&] { o[_] = x[_]; }, [&] { o[_] = 0; }}); });
//       |                                             ^
//    in kernel 'kernel'
//   need: an i32 scalar
//   have: f32[]
//   help: convert it with astype(…, i32)
WRONG_PROGRAM(switch_by_floats) {
  run([](pl::Ref x, pl::Ref o) { pl::switch_(x[{0, 0}], {[&] { o[_] = x[_]; }, [&] { o[_] = 0; }}); });
}

// error[SM6216]: a pallas_call is called inside a kernel
//   --> test/errors/lang/Tracing.cpp:242:47
//   242 |   run([=](pl::Ref x, pl::Ref o) { o[_] = inner(x[_])[0]; });
//       |                                               ^
//    in kernel 'kernel'
//   need: a call outside kernels, with arrays
//   have: an operand traced as f32[8,128]
//   help: kernels do not call kernels: use emit_pipeline, or inline the body
WRONG_PROGRAM(kernel_that_calls_a_kernel) {
  const auto inner = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
                                     {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .name = "inner"});
  run([=](pl::Ref x, pl::Ref o) { o[_] = inner(x[_])[0]; });
}

// error[SM6216]: a pallas_call is called inside a kernel
//   --> test/errors/lang/Tracing.cpp:257:47
//   257 |   run([=](pl::Ref x, pl::Ref o) { o[_] = inner(y)[0]; });
//       |                                               ^
//    in kernel 'kernel'
//   need: a call outside kernels, with arrays
//   have: an operand f32[8,128]
//   help: kernels do not call kernels: use emit_pipeline, or inline the body
WRONG_PROGRAM(kernel_that_calls_a_kernel_with_arrays) {
  const pl::Array y = pl::ones({8, 128});
  const auto inner = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
                                     {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .name = "inner"});
  run([=](pl::Ref x, pl::Ref o) { o[_] = inner(y)[0]; });
}

// error[SM6401]: an atomic update of a Ref in vmem
//   --> test/errors/lang/Tracing.cpp:269:48
//   269 |   run([](pl::Ref x, pl::Ref o) { pl::atomic_add(o.at(0), x[0]); });
//       |                                                ^
//    in kernel 'kernel'
//   need: a Ref in ANY or HBM, which all programs share
//   have: a Ref in vmem
//   help: programs do not share it: read, compute and write it, or give its BlockSpec .memory_space = any
WRONG_PROGRAM(atomic_add) {
  run([](pl::Ref x, pl::Ref o) { pl::atomic_add(o.at(0), x[0]); });
}

// error[SM6402]: 'parallel_loop' is in kernels for SparseCores only
//   --> test/errors/lang/Tracing.cpp:281:51
//   281 |   run([](pl::Ref x, pl::Ref o) { pl::parallel_loop(0, 8, [&](auto i) { o[i] = x[i]; }); });
//       |                                                   ^
//    in kernel 'kernel'
//   need: an op that a TensorCore has
//   have: parallel_loop
//   help: use loop or fori_loop; the compiler orders what does not depend
WRONG_PROGRAM(parallel_loop) {
  run([](pl::Ref x, pl::Ref o) { pl::parallel_loop(0, 8, [&](auto i) { o[i] = x[i]; }); });
}

// error[SM6402]: 'optimization_barrier' is in kernels for GPUs only
//   --> test/errors/lang/Tracing.cpp:293:65
//   293 |   run([](pl::Ref x, pl::Ref o) { o[_] = pl::optimization_barrier(x[_] * 2) + 1; });
//       |                                                                 ^
//    in kernel 'kernel'
//   need: an op that a TensorCore has
//   have: optimization_barrier
//   help: leave it out: reads and writes of Refs stay in order
WRONG_PROGRAM(optimization_barrier_in_a_kernel) {
  run([](pl::Ref x, pl::Ref o) { o[_] = pl::optimization_barrier(x[_] * 2) + 1; });
}

// error[SM6402]: 'empty' is for arrays outside kernels
//   --> test/errors/lang/Tracing.cpp:305:57
//   305 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[_] + pl::empty({8, 128}); });
//       |                                                         ^
//    in kernel 'kernel'
//   need: memory of the kernel
//   have: empty of shape [8, 128]
//   help: scratch_shapes, run_scoped or empty_ref give memory that is not initialised
WRONG_PROGRAM(empty_array_in_a_kernel) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[_] + pl::empty({8, 128}); });
}

// error[SM6221]: a call of a kernel with `dynamic` grid axes begins with their sizes
//   --> test/errors/lang/Tracing.cpp:318:7
//   318 |   call(pl::zeros({8, 128}));
//       |       ^
//   need: 1 i32 scalar, then the arrays
//   have: f32[8,128]
//   help: call(n, x): a size for each `dynamic` of the grid, in its order
WRONG_PROGRAM(call_without_its_grid_size) {
  const auto call = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
                                    {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .grid = {pl::dynamic}});
  call(pl::zeros({8, 128}));
}

// error[SM6221]: a call of a kernel with `dynamic` grid axes begins with their sizes
//   --> test/errors/lang/Tracing.cpp:331:7
//   331 |   call(1.5, pl::zeros({8, 128}));
//       |       ^
//   need: 1 i32 scalar, then the arrays
//   have: f32[]
//   help: call(n, x): a size for each `dynamic` of the grid, in its order
WRONG_PROGRAM(call_with_a_grid_size_of_floats) {
  const auto call = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_]; },
                                    {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .grid = {pl::dynamic}});
  call(1.5, pl::zeros({8, 128}));
}

// error[SM6508]: Number of device ids must match the number of mesh axes, but got 2 ids for a 0D mesh
//   --> test/errors/lang/Tracing.cpp:343:80
//   343 |   pl::pallas_call([](pl::Ref x, pl::Ref o, pl::Ref sem) { pl::async_remote_copy(x, o, sem, sem, {0, 1}).wait(); },
//       |                                                                                ^
//    in kernel 'kernel'
//   need: one integer, the number of the device
//   have: a call without a mesh
//   help: tell the call what devices there are: .mesh = {{"x", 2}, {"y", 4}}
WRONG_PROGRAM(device_of_a_mesh_that_is_not_there) {
  pl::pallas_call([](pl::Ref x, pl::Ref o, pl::Ref sem) { pl::async_remote_copy(x, o, sem, sem, {0, 1}).wait(); },
                  {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32},
                   .in_specs = {pl::BlockSpec(pl::any_space)},
                   .out_specs = {pl::BlockSpec(pl::any_space)},
                   .scratch_shapes = {pl::semaphore_type::dma()}})(pl::zeros({8, 128}));
}

// error[SM6119]: the elements of a traced value are accessed: f32[]
//   --> test/errors/lang/Tracing.cpp:358:76
//   358 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[_] * *x[{0, 0}].value().as<float>(); });
//       |                                                                            ^
//   need: an array outside kernels and functions that are transformed
//   have: a value that is computed later
//   help: print it with debug_print, or write it to an output Ref and look at the result
WRONG_PROGRAM(elements_of_a_traced_value) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[_] * *x[{0, 0}].value().as<float>(); });
}

// error[SM6121]: the upper bound of a loop is not a number of i32
//   --> test/errors/lang/Tracing.cpp:370:56
//   370 |   pl::jit([](const pl::Array& n) { return pl::fori_loop(0, n, [](auto i, auto c) { return c + i; }, 0); })(
//       |                                                        ^
//    in function 'main'
//   need: at least -2147483648 and at most 2147483647
//   have: i64[]
//   help: convert it with astype(…, i32), which wraps larger numbers
WRONG_PROGRAM(bound_of_64_bits) {
  pl::jit([](const pl::Array& n) { return pl::fori_loop(0, n, [](auto i, auto c) { return c + i; }, 0); })(
      pl::full({}, 3, pl::i64));
}

// error[SM6121]: the upper bound of a loop is not a number of i32
//   --> test/errors/lang/Tracing.cpp:382:11
//   382 |   pl::loop(0, int64_t{1} << 32, [](auto) {});
//       |           ^
//   need: at least -2147483648 and at most 2147483647
//   have: 4294967296
//   help: count from 0, and add the start to the index in the body
WRONG_PROGRAM(bound_beyond_32_bits) {
  pl::loop(0, int64_t{1} << 32, [](auto) {});
}

// error[SM6105]: a traced value f32[8] is used after the block that computed it has ended
//   --> test/errors/lang/Tracing.cpp:397:22
//   397 |           kept = x * 2;
//       |                      ^
//    in function 'main'
//   help: return the value from the loop or branch (as a carry or result), or write it to a Ref
WRONG_PROGRAM(function_returns_a_value_of_a_branch) {
  pl::jit([](const pl::Array& x) {
    pl::Array kept;
    pl::cond(
        pl::sum(x) > 0,
        [&] {
          kept = x * 2;
          return x;
        },
        [&] { return x; });
    return kept;
  })(pl::ones({8}));
}

// error[SM6125]: an array of 'reshape' has too many dimensions
//   --> test/errors/lang/Tracing.cpp:414:51
//   414 |   for (int n = 0; n < 16; ++n) x = pl::expand_dims(x, 0);
//       |                                                   ^
//   need: at most 16 dimensions
//   have: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4]
//   help: reshape it: combine dimensions, or drop those of size 1
WRONG_PROGRAM(more_dimensions_than_arrays_have) {
  pl::Array x = pl::ones({4});
  for (int n = 0; n < 16; ++n) x = pl::expand_dims(x, 0);
  pl::sum(x);
}

// error[SM6125]: an array of 'reduce_sum' has too many dimensions
//   --> test/errors/lang/Tracing.cpp:427:10
//   427 |   pl::sum(pl::array(values, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4}));
//       |          ^
//   need: at most 16 dimensions
//   have: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4]
//   help: reshape it: combine dimensions, or drop those of size 1
WRONG_PROGRAM(an_operand_of_too_many_dimensions) {
  const std::vector<float> values(4);
  pl::sum(pl::array(values, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4}));
}
