// What goes wrong with kernels and the arrays they are called with.
#include "WrongPrograms.h"

namespace pl = smalti;
using pl::_;

namespace {

const pl::ShapeDtype kOut{{8, 128}, pl::f32};
void copy(const pl::Ref& x, const pl::Ref& o) { o[_] = x[_]; }

}  // namespace

// error[SM6215]: the kernel takes the wrong number of Refs
//   --> test/errors/lang/Calls.cpp:23:18
//    23 |   pl::pallas_call([](pl::Ref x) { x[_] = x[_] + 1; }, {.out_shape = kOut, .name = "scale"})(pl::zeros({8, 128}));
//       |                  ^
//    in kernel 'scale'
//   need: 2 Refs: 0 scalar prefetch, 1 input, 1 output, 0 scratch
//   have: a kernel of 1
//   help: a kernel takes a Ref for each, in this order; inputs are the arrays it is called with
WRONG_PROGRAM(kernel_without_its_output) {
  pl::pallas_call([](pl::Ref x) { x[_] = x[_] + 1; }, {.out_shape = kOut, .name = "scale"})(pl::zeros({8, 128}));
}

// error[SM6215]: the kernel takes the wrong number of Refs
//   --> test/errors/lang/Calls.cpp:35:18
//    35 |   pl::pallas_call(copy, {.out_shape = kOut, .scratch_shapes = {pl::vmem({8, 128}, pl::f32)}})(pl::zeros({8, 128}));
//       |                  ^
//    in kernel 'kernel'
//   need: 3 Refs: 0 scalar prefetch, 1 input, 1 output, 1 scratch
//   have: a kernel of 2
//   help: a kernel takes a Ref for each, in this order; inputs are the arrays it is called with
WRONG_PROGRAM(kernel_without_its_scratch) {
  pl::pallas_call(copy, {.out_shape = kOut, .scratch_shapes = {pl::vmem({8, 128}, pl::f32)}})(pl::zeros({8, 128}));
}

// error[SM6215]: the kernel takes the wrong number of Refs
//   --> test/errors/lang/Calls.cpp:47:35
//    47 |   const auto add = pl::pallas_call([](pl::Ref x, pl::Ref y, pl::Ref o) { o[_] = x[_] + y[_]; }, {.out_shape = kOut});
//       |                                   ^
//    in kernel 'kernel'
//   need: 2 Refs: 0 scalar prefetch, 1 input, 1 output, 0 scratch
//   have: a kernel of 3
//   help: a kernel takes a Ref for each, in this order; inputs are the arrays it is called with
WRONG_PROGRAM(call_without_an_operand) {
  const auto add = pl::pallas_call([](pl::Ref x, pl::Ref y, pl::Ref o) { o[_] = x[_] + y[_]; }, {.out_shape = kOut});
  add(pl::zeros({8, 128}));
}

// error[SM6203]: `in_specs` and the inputs do not match
//   --> test/errors/lang/Calls.cpp:59:36
//    59 |   const auto call = pl::pallas_call(copy, {.out_shape = kOut, .in_specs = {pl::BlockSpec()}, .name = "copy"});
//       |                                    ^
//   need: 2 block specs, one per input
//   have: 1
//   help: give one BlockSpec per array that the call is given; BlockSpec() takes the whole array
WRONG_PROGRAM(call_with_an_operand_too_many) {
  const auto call = pl::pallas_call(copy, {.out_shape = kOut, .in_specs = {pl::BlockSpec()}, .name = "copy"});
  call(pl::zeros({8, 128}), pl::zeros({8, 128}));
}

// error[SM6206]: Block shape for input 0 must have the same number of dimensions as the array shape
//   --> test/errors/lang/Calls.cpp:71:77
//    71 |   const pl::BlockSpec rows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
//       |                                                                             ^
//   need: 1 dimension, for array shape [8]
//   have: 2 dimensions
//   help: give one size per axis of the array; squeezed takes an axis away
WRONG_PROGRAM(operand_of_another_shape) {
  const pl::BlockSpec rows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const auto call = pl::pallas_call(copy, {.out_shape = kOut, .grid = {1}, .in_specs = {rows}, .out_specs = {rows}});
  call(pl::zeros({8, 128}));
  call(pl::zeros({8}));
}

// error[SM6112]: a value of the wrong dtype is stored into a Ref
//   --> test/errors/lang/Calls.cpp:10:52
//    10 | void copy(const pl::Ref& x, const pl::Ref& o) { o[_] = x[_]; }
//       |                                                    ^
//    in kernel 'kernel'
//   need: f32
//   have: bf16
//   help: convert it: astype(value, f32)
WRONG_PROGRAM(operand_of_another_dtype) {
  const auto call = pl::pallas_call(copy, {.out_shape = kOut});
  call(pl::zeros({8, 128}, pl::bf16));
}

// error[SM6118]: an Array is used before it has a value
//   --> test/errors/lang/Calls.cpp:97:84
//    97 | WRONG_PROGRAM(operand_without_a_value) { pl::pallas_call(copy, {.out_shape = kOut})(pl::Array()); }
//       |                                                                                    ^
//   need: an array that was assigned
//   have: Array()
//   help: give it a value first, such as zeros(shape, dtype)
WRONG_PROGRAM(operand_without_a_value) { pl::pallas_call(copy, {.out_shape = kOut})(pl::Array()); }

// error[SM6218]: The Pallas TPU lowering supports only blocks of rank >= 1: input 0
//   --> test/errors/lang/Calls.cpp:107:18
//   107 |   pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = pl::full_like(o, x[_]); }, {.out_shape = kOut})(3.0f);
//       |                  ^
//   need: an array with axes, or a scalar in SMEM
//   have: f32[] in VMEM
//   help: pass the scalar in SMEM with BlockSpec(smem) and read it as x[_], or pass it by scalar prefetch
WRONG_PROGRAM(operand_that_is_a_number) {
  pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = pl::full_like(o, x[_]); }, {.out_shape = kOut})(3.0f);
}

// error[SM6219]: 64-bit types are not supported: input 0
//   --> test/errors/lang/Calls.cpp:118:18
//   118 |   pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = pl::astype(x[_], pl::f32); },
//       |                  ^
//   need: a dtype of at most 32 bits
//   have: f64[8,128]
//   help: convert outside the kernel: astype(x, f32) or astype(x, i32)
WRONG_PROGRAM(operand_of_64_bits) {
  pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = pl::astype(x[_], pl::f32); },
                  {.out_shape = kOut})(pl::zeros({8, 128}, pl::f64));
}

// error[SM6219]: 64-bit types are not supported: output 0
//   --> test/errors/lang/Calls.cpp:130:18
//   130 |   pl::pallas_call([](pl::Ref o) { o[_] = 1; }, {.out_shape = pl::ShapeDtype{{8, 128}, pl::i64}})();
//       |                  ^
//   need: a dtype of at most 32 bits
//   have: i64[8,128]
//   help: convert outside the kernel: astype(x, f32) or astype(x, i32)
WRONG_PROGRAM(output_of_64_bits) {
  pl::pallas_call([](pl::Ref o) { o[_] = 1; }, {.out_shape = pl::ShapeDtype{{8, 128}, pl::i64}})();
}

// error[SM6220]: output 0 has a negative size
//   --> test/errors/lang/Calls.cpp:141:18
//   141 |   pl::pallas_call([](pl::Ref o) { o[_] = 1; }, {.out_shape = pl::ShapeDtype{{-8, 128}, pl::f32}})();
//       |                  ^
//   need: sizes of at least 0
//   have: shape [-8, 128]
//   help: check how the shape is computed
WRONG_PROGRAM(output_of_negative_size) {
  pl::pallas_call([](pl::Ref o) { o[_] = 1; }, {.out_shape = pl::ShapeDtype{{-8, 128}, pl::f32}})();
}

// error[SM6220]: scratch 0 has a negative size
//   --> test/errors/lang/Calls.cpp:152:18
//   152 |   pl::pallas_call([](pl::Ref o, pl::Ref s) { o[_] = 1; },
//       |                  ^
//   need: sizes of at least 0
//   have: shape [-8, 128]
//   help: check how the shape is computed
WRONG_PROGRAM(scratch_of_negative_size) {
  pl::pallas_call([](pl::Ref o, pl::Ref s) { o[_] = 1; },
                  {.out_shape = kOut, .scratch_shapes = {pl::vmem({-8, 128}, pl::f32)}})();
}

// error[SM3013]: semaphores live in semaphore memory, and nothing else does
//   --> test/errors/lang/Calls.cpp:165:18
//   165 |   pl::pallas_call([](pl::Ref o, pl::Ref s) { o[_] = 1; },
//       |                  ^
//    in kernel 'kernel'
//    in scratch 0
//   need: memory space semaphore_mem
//   have: dma_semaphore[2] in vmem
WRONG_PROGRAM(semaphores_in_vmem) {
  pl::pallas_call([](pl::Ref o, pl::Ref s) { o[_] = 1; },
                  {.out_shape = kOut, .scratch_shapes = {pl::vmem({2}, pl::DType::dma_semaphore)}})();
}

// error[SM1009]: out of memory for an array of type f32[1099511627776,1099511627776]
//   --> test/errors/lang/Calls.cpp:178:18
//   178 |   pl::pallas_call([](pl::Ref o) {}, {.out_shape = pl::ShapeDtype{{int64_t{1} << 40, int64_t{1} << 40}, pl::f32},
//       |                  ^
//    in kernel 'kernel'
//    in output 0
//   need: more bytes than 64 bits count
//   help: use smaller arrays, or a machine with more memory
WRONG_PROGRAM(output_that_no_memory_holds) {
  pl::pallas_call([](pl::Ref o) {}, {.out_shape = pl::ShapeDtype{{int64_t{1} << 40, int64_t{1} << 40}, pl::f32},
                                     .out_specs = {pl::BlockSpec(pl::any_space)}})();
}

// error[SM6201]: a call gives a different number of results
//   --> test/errors/lang/Calls.cpp:191:22
//   191 |       pl::pallas_call([](pl::Ref x, pl::Ref o, pl::Ref p) { o[_] = x[_], p[_] = x[_]; }, {.out_shape = {kOut, kOut}});
//       |                      ^
//   need: 1 result
//   have: 2
//   help: take<N>() with that number, or results[i]
WRONG_PROGRAM(one_array_of_two_results) {
  const auto call =
      pl::pallas_call([](pl::Ref x, pl::Ref o, pl::Ref p) { o[_] = x[_], p[_] = x[_]; }, {.out_shape = {kOut, kOut}});
  const pl::Array y = call(pl::zeros({8, 128}));
}

// error[SM6201]: a call gives a different number of results
//   --> test/errors/lang/Calls.cpp:203:41
//   203 |   const auto [a, b, c] = pl::pallas_call(copy, {.out_shape = kOut})(pl::zeros({8, 128})).take<3>();
//       |                                         ^
//   need: 3 results
//   have: 1
//   help: take<N>() with that number, or results[i]
WRONG_PROGRAM(three_arrays_of_one_result) {
  const auto [a, b, c] = pl::pallas_call(copy, {.out_shape = kOut})(pl::zeros({8, 128})).take<3>();
}

// error[SM6201]: a call gives a different number of results
//   --> test/errors/lang/Calls.cpp:214:39
//   214 |   const auto results = pl::pallas_call(copy, {.out_shape = kOut})(pl::zeros({8, 128}));
//       |                                       ^
//   need: 2 results
//   have: 1
//   help: take<N>() with that number, or results[i]
WRONG_PROGRAM(a_result_that_is_not_there) {
  const auto results = pl::pallas_call(copy, {.out_shape = kOut})(pl::zeros({8, 128}));
  pl::exp(results[1]);
}

// error[SM6108]: an index has more entries than the Ref has axes
//   --> test/errors/lang/Calls.cpp:231:27
//   231 |         o[_] = x[{0, 0, 0}];
//       |                           ^
//    in kernel 'again'
//   need: at most 2 entries
//   have: 3 for shape [8, 128]
//   help: leave entries out
WRONG_PROGRAM(collapsed_after_an_error) {
  int calls = 0;
  const auto call = pl::pallas_call(
      [&](pl::Ref x, pl::Ref o) {
        if (++calls == 1) throw pl::Error({.code = "SM9999", .message = "not yet", .place = {}});
        o[_] = x[{0, 0, 0}];
      },
      {.out_shape = kOut, .name = "again"});
  try {
    call(pl::zeros({8, 128}));
  } catch (const pl::Error&) {
  }
  call(pl::zeros({8, 128}));
}

// error[SM1011]: semantics cannot be 'python'
//   need: tpu|hlo
//   help: semantics: the TPU's contract for windows, or that of interpret=True (padding, preloaded outputs)
WRONG_PROGRAM(option_that_is_unknown) {
  pl::Settings settings;
  pl::unwrap(settings.set("semantics", "python"));
}
