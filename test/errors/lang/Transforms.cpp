// What goes wrong with functions that are transformed.
#include "WrongPrograms.h"

namespace pl = smalti;
using pl::_, pl::Array;

namespace {

Array total(const Array& x) { return pl::sum(x * x); }

}  // namespace

// error[SM6124]: scan over arrays of different lengths
//   --> test/errors/lang/Transforms.cpp:21:11
//    21 |   pl::scan([](const Array& c, const std::pair<Array, Array>& x) { return std::pair{c + x.first, x.second}; },
//       |           ^
//   need: 4 steps
//   have: f32[5]
//   help: the leading axis of each scanned array is the steps
WRONG_PROGRAM(scan_over_different_lengths) {
  pl::scan([](const Array& c, const std::pair<Array, Array>& x) { return std::pair{c + x.first, x.second}; },
           pl::zeros({}), std::pair{pl::ones({4}), pl::ones({5})});
}

// error[SM6124]: a scan without arrays needs a number of steps
//   --> test/errors/lang/Transforms.cpp:33:11
//    33 |   pl::scan([](const Array& c, const std::vector<Array>&) { return std::pair{c, c}; }, pl::zeros({}),
//       |           ^
//   need: an array to scan, or a length
//   have: neither
//   help: pass {.length = n}, or use fori_loop
WRONG_PROGRAM(scan_over_nothing) {
  pl::scan([](const Array& c, const std::vector<Array>&) { return std::pair{c, c}; }, pl::zeros({}),
           std::vector<Array>{});
}

// error[SM6122]: the body of a scan changes the type of carry 0
//   --> test/errors/lang/Transforms.cpp:46:11
//    46 |   pl::scan([](const Array& c, const Array& x) { return std::pair{pl::stack({c, x}), x}; }, pl::zeros({}),
//       |           ^
//    in the body of a scan
//   need: f32[]
//   have: f32[2]
//   help: start the scan with the type that the body returns, or convert with astype
WRONG_PROGRAM(scan_changes_its_carry) {
  pl::scan([](const Array& c, const Array& x) { return std::pair{pl::stack({c, x}), x}; }, pl::zeros({}),
           pl::ones({4}));
}

// error[SM7101]: 'bitcast' cannot be differentiated: the bits of a number have no derivative
//   --> test/errors/lang/Transforms.cpp:58:71
//    58 |   pl::grad([](const Array& x) { return pl::sum(pl::bitcast(pl::bitcast(x, pl::bf16), pl::f32)); })(pl::ones({8, 128}));
//       |                                                                       ^
//   need: ops that have a derivative on what the result depends on
//   have: bitcast of f32[8,128]
//   help: give the function around it a derivative of its own with custom_vjp or custom_jvp, or hide the value with stop_gradient
WRONG_PROGRAM(derivative_of_bits) {
  pl::grad([](const Array& x) { return pl::sum(pl::bitcast(pl::bitcast(x, pl::bf16), pl::f32)); })(pl::ones({8, 128}));
}

// error[SM7103]: 'bitcast' cannot be batched: it moves bits between rows, which differ by example
//   --> test/errors/lang/Transforms.cpp:69:51
//    69 |   pl::vmap([](const Array& x) { return pl::bitcast(x, pl::bf16); })(pl::ones({2, 8, 128}));
//       |                                                   ^
//   need: ops that vmap has a rule for
//   have: bitcast
//   help: call the function for each example, or write the batched form by hand
WRONG_PROGRAM(batch_of_bitcasts) {
  pl::vmap([](const Array& x) { return pl::bitcast(x, pl::bf16); })(pl::ones({2, 8, 128}));
}

// error[SM7104]: can't apply forward-mode differentiation (jvp) to a custom_vjp function
//   --> test/errors/lang/Transforms.cpp:80:32
//    80 |   const auto f = pl::custom_vjp([](const Array& x) { return x; }, [](const Array& x) { return std::pair{x, x}; },
//       |                                ^
//   need: a rule for tangents
//   have: one for cotangents
//   help: use grad or vjp, or give the function a custom_jvp
WRONG_PROGRAM(forward_mode_of_custom_vjp) {
  const auto f = pl::custom_vjp([](const Array& x) { return x; }, [](const Array& x) { return std::pair{x, x}; },
                                [](const Array&, const Array& ct) { return ct; });
  pl::jvp(f, std::tuple{pl::ones({4})}, std::tuple{pl::ones({4})});
}

// error[SM7105]: reverse-mode differentiation does not work for a while_loop, or a fori_loop with traced bounds
//   --> test/errors/lang/Transforms.cpp:94:26
//    94 |     return pl::while_loop([](const Array& v) { return v < 100.0; }, [](const Array& v) { return v * v; }, x);
//       |                          ^
//   need: a number of steps known when the function is traced
//   have: one that is computed
//   help: use scan, or fori_loop with C++ integers as bounds; jvp works for any loop
WRONG_PROGRAM(reverse_mode_of_while) {
  pl::grad([](const Array& x) {
    return pl::while_loop([](const Array& v) { return v < 100.0; }, [](const Array& v) { return v * v; }, x);
  })(pl::full({}, 2, pl::f32));
}

// error[SM7105]: reverse-mode differentiation does not work for a while_loop, or a fori_loop with traced bounds
//   --> test/errors/lang/Transforms.cpp:109:51
//   109 |         [&](const Array& x) { return pl::fori_loop(0, n, [](auto, const Array& c) { return pl::sin(c); }, x); })(x);
//       |                                                   ^
//    in function 'main'
//   need: a number of steps known when the function is traced
//   have: one that is computed
//   help: use scan, or fori_loop with C++ integers as bounds; jvp works for any loop
WRONG_PROGRAM(reverse_mode_of_traced_bounds) {
  pl::jit([](const Array& n, const Array& x) {
    return pl::grad(
        [&](const Array& x) { return pl::fori_loop(0, n, [](auto, const Array& c) { return pl::sin(c); }, x); })(x);
  })(pl::full({}, 3, pl::i32), pl::full({}, 2, pl::f32));
}

static Array endless(const Array& x) {
  return pl::jit([](const Array& x) { return endless(x); })(x);
}
// error[SM7106]: transformed functions call each other in an endless recursion
//   --> test/errors/lang/Transforms.cpp:114:17
//   114 |   return pl::jit([](const Array& x) { return endless(x); })(x);
//       |                 ^
//    in function 'main'
//   need: at most 100 transformations inside each other
//   have: one more: a function that transforms itself is traced for ever
//   help: recursion needs a condition that C++ knows; use while_loop for what is computed
WRONG_PROGRAM(recursion) { endless(pl::ones({4})); }

// error[SM7107]: tangent 0 has a different type from its value
//   --> test/errors/lang/Transforms.cpp:133:49
//   133 | WRONG_PROGRAM(tangent_of_another_type) { pl::jvp(total, std::tuple{pl::ones({4})}, std::tuple{pl::ones({5})}); }
//       |                                                 ^
//   need: f32[4]
//   have: f32[5]
//   help: tangents and cotangents have the shape and dtype of the values they belong to
WRONG_PROGRAM(tangent_of_another_type) { pl::jvp(total, std::tuple{pl::ones({4})}, std::tuple{pl::ones({5})}); }

// error[SM7107]: a different number of tangents than values
//   --> test/errors/lang/Transforms.cpp:143:10
//   143 |   pl::jvp([](const std::vector<Array>& x) { return total(x[0]); },
//       |          ^
//   need: 2 tangents
//   have: 1
//   help: give one for each array, in structures of the same form
WRONG_PROGRAM(tangents_of_another_number) {
  pl::jvp([](const std::vector<Array>& x) { return total(x[0]); },
          std::tuple{std::vector{pl::ones({4}), pl::ones({4})}}, std::tuple{pl::ones({4})});
}

// error[SM7107]: cotangent 0 has a different type from its value
//   --> test/errors/lang/Transforms.cpp:156:7
//   156 |   back(pl::ones({4}));
//       |       ^
//   need: f32[]
//   have: f32[4]
//   help: tangents and cotangents have the shape and dtype of the values they belong to
WRONG_PROGRAM(cotangent_of_another_type) {
  const auto [y, back] = pl::vjp(total, pl::ones({4}));
  back(pl::ones({4}));
}

// error[SM7107]: cotangent 0 has a different type from its value
//   --> test/errors/lang/Transforms.cpp:168:21
//   168 |       pl::custom_vjp([](const Array& x) { return pl::sum(x); }, [](const Array& x) { return std::pair{pl::sum(x), x}; },
//       |                     ^
//   need: f32[4]
//   have: f32[]
//   help: tangents and cotangents have the shape and dtype of the values they belong to
WRONG_PROGRAM(custom_vjp_of_another_type) {
  const auto f =
      pl::custom_vjp([](const Array& x) { return pl::sum(x); }, [](const Array& x) { return std::pair{pl::sum(x), x}; },
                     [](const Array&, const Array& ct) { return ct; });
  pl::grad(f)(pl::ones({4}));
}

// error[SM7107]: a different number of cotangents than values
//   --> test/errors/lang/Transforms.cpp:181:32
//   181 |   const auto f = pl::custom_vjp([](const Array& x, const Array& y) { return pl::sum(x * y); },
//       |                                ^
//   need: 2 cotangents
//   have: 1
//   help: give one for each array, in structures of the same form
WRONG_PROGRAM(custom_vjp_forgets_an_argument) {
  const auto f = pl::custom_vjp([](const Array& x, const Array& y) { return pl::sum(x * y); },
                                [](const Array& x, const Array& y) { return std::pair{pl::sum(x * y), y}; },
                                [](const Array& y, const Array& ct) { return ct * y; });
  pl::grad(f)(pl::ones({4}), pl::ones({4}));
}

// error[SM7107]: tangent 0 has a different type from its value
//   --> test/errors/lang/Transforms.cpp:196:21
//   196 |       pl::custom_jvp([](const Array& x) { return pl::sum(x); },
//       |                     ^
//   need: f32[]
//   have: f32[4]
//   help: tangents and cotangents have the shape and dtype of the values they belong to
WRONG_PROGRAM(custom_jvp_of_another_type) {
  const auto f =
      pl::custom_jvp([](const Array& x) { return pl::sum(x); },
                     [](const auto& x, const auto& t) { return std::pair{pl::sum(std::get<0>(x)), std::get<0>(t)}; });
  pl::grad(f)(pl::ones({4}));
}

// error[SM7108]: grad requires floating-point inputs: array 0 is not one
//   --> test/errors/lang/Transforms.cpp:208:47
//   208 | WRONG_PROGRAM(gradient_of_integers) { pl::grad(total)(pl::arange(4, pl::i32)); }
//       |                                               ^
//   need: f32, bf16 or another float
//   have: i32[4]
//   help: name the arguments to differentiate, grad<1>(f), or convert with astype
WRONG_PROGRAM(gradient_of_integers) { pl::grad(total)(pl::arange(4, pl::i32)); }

// error[SM7109]: grad takes functions with one floating-point scalar as result
//   --> test/errors/lang/Transforms.cpp:218:11
//   218 |   pl::grad([](const Array& x) { return x * x; })(pl::ones({4}));
//       |           ^
//   need: f32[]
//   have: f32[4]
//   help: reduce the result with sum or mean; use vjp or jvp for other results, and has_aux for a pair of a loss and something else
WRONG_PROGRAM(gradient_of_an_array) {
  pl::grad([](const Array& x) { return x * x; })(pl::ones({4}));
}

// error[SM7109]: grad takes functions with one floating-point scalar as result
//   --> test/errors/lang/Transforms.cpp:229:11
//   229 |   pl::grad([](const Array& x) { return std::pair{total(x), total(x)}; })(pl::ones({4}));
//       |           ^
//   need: f32[]
//   have: 2 results
//   help: reduce the result with sum or mean; use vjp or jvp for other results, and has_aux for a pair of a loss and something else
WRONG_PROGRAM(gradient_of_several_results) {
  pl::grad([](const Array& x) { return std::pair{total(x), total(x)}; })(pl::ones({4}));
}

// error[SM7109]: grad takes functions with one floating-point scalar as result
//   --> test/errors/lang/Transforms.cpp:240:11
//   240 |   pl::grad([](const Array& x) { return pl::argmax(x, 0); })(pl::ones({4}));
//       |           ^
//   need: f32[]
//   have: i32[]
//   help: reduce the result with sum or mean; use vjp or jvp for other results, and has_aux for a pair of a loss and something else
WRONG_PROGRAM(gradient_of_an_integer_result) {
  pl::grad([](const Array& x) { return pl::argmax(x, 0); })(pl::ones({4}));
}

// error[SM7110]: vmap in_axes has the wrong number of entries
//   --> test/errors/lang/Transforms.cpp:251:11
//   251 |   pl::vmap([](const Array& x, const Array& y, const Array& z) { return x + y + z; }, {.in_axes = {0, 0}})(
//       |           ^
//   need: one for all, 3 for the arguments or 3 for the arrays in them
//   have: 2 entries
//   help: write none for arrays that all examples share
WRONG_PROGRAM(axes_of_another_number) {
  pl::vmap([](const Array& x, const Array& y, const Array& z) { return x + y + z; }, {.in_axes = {0, 0}})(
      pl::ones({2}), pl::ones({2}), pl::ones({2}));
}

// error[SM7110]: vmap in_axes names an axis that array 0 does not have
//   --> test/errors/lang/Transforms.cpp:262:49
//   262 | WRONG_PROGRAM(axis_that_is_not_there) { pl::vmap(total, {.in_axes = {2}})(pl::ones({3, 4})); }
//       |                                                 ^
//   need: an axis in [-2, 2), or none
//   have: axis 2 for f32[3,4]
//   help: axes count from 0, negative ones from the end
WRONG_PROGRAM(axis_that_is_not_there) { pl::vmap(total, {.in_axes = {2}})(pl::ones({3, 4})); }

// error[SM7110]: vmap out_axes names an axis that array 0 does not have
//   --> test/errors/lang/Transforms.cpp:271:53
//   271 | WRONG_PROGRAM(out_axis_that_is_not_there) { pl::vmap(total, {.out_axes = {1}})(pl::ones({3, 4})); }
//       |                                                     ^
//   need: an axis in [-1, 1), or none
//   have: axis 1 for f32[3]
//   help: axes count from 0, negative ones from the end
WRONG_PROGRAM(out_axis_that_is_not_there) { pl::vmap(total, {.out_axes = {1}})(pl::ones({3, 4})); }

// error[SM7110]: vmap has mapped output 0 but out_axes is none
//   --> test/errors/lang/Transforms.cpp:280:52
//   280 | WRONG_PROGRAM(results_differ_by_example) { pl::vmap(total, {.out_axes = {pl::none}})(pl::ones({3, 4})); }
//       |                                                    ^
//   need: a result that is the same for all examples
//   have: f32[3] per example
//   help: say which axis holds the examples
WRONG_PROGRAM(results_differ_by_example) { pl::vmap(total, {.out_axes = {pl::none}})(pl::ones({3, 4})); }

// error[SM7111]: vmap got inconsistent sizes for array axes to be mapped
//   --> test/errors/lang/Transforms.cpp:290:11
//   290 |   pl::vmap([](const Array& x, const Array& y) { return x + y; }, {.in_axes = {0, 1}})(pl::ones({3, 4}),
//       |           ^
//   need: size 3, that of axis 0 of array 0, f32[3,4]
//   have: size 5, that of axis 1 of array 1, f32[4,5]
//   help: map axes of one size, or write none for arrays that all examples share
WRONG_PROGRAM(examples_of_other_sizes) {
  pl::vmap([](const Array& x, const Array& y) { return x + y; }, {.in_axes = {0, 1}})(pl::ones({3, 4}),
                                                                                      pl::ones({4, 5}));
}

// error[SM7111]: vmap must have at least one mapped array
//   --> test/errors/lang/Transforms.cpp:301:41
//   301 | WRONG_PROGRAM(nothing_to_map) { pl::vmap(total, {.in_axes = {pl::none}})(pl::ones({3, 4})); }
//       |                                         ^
//   need: an axis that is not none
//   have: none for every array
//   help: call the function itself, or map an axis
WRONG_PROGRAM(nothing_to_map) { pl::vmap(total, {.in_axes = {pl::none}})(pl::ones({3, 4})); }

// error[SM6105]: a traced value f32[4] is used outside the kernel or function it belongs to
//   --> test/errors/lang/Transforms.cpp:314:10
//   314 |   pl::exp(leaked);
//       |          ^
//   help: write it to an output Ref of the kernel, or return it from the function that is transformed
WRONG_PROGRAM(value_leaked_out_of_grad) {
  Array leaked;
  pl::grad([&](const Array& x) {
    leaked = x;
    return total(x);
  })(pl::ones({4}));
  pl::exp(leaked);
}

// error[SM6119]: the elements of a traced value are accessed: f32[4]
//   --> test/errors/lang/Transforms.cpp:325:52
//   325 |   pl::grad([](const Array& x) { return *x.as<float>() > 0 ? total(x) : total(-x); })(pl::ones({4}));
//       |                                                    ^
//   need: an array outside kernels and functions that are transformed
//   have: a value that is computed later
//   help: print it with debug_print, or write it to an output Ref and look at the result
WRONG_PROGRAM(traced_value_looked_at) {
  pl::grad([](const Array& x) { return *x.as<float>() > 0 ? total(x) : total(-x); })(pl::ones({4}));
}

// error[SM7101]: 'stochastic_round' cannot be differentiated: it rounds at random
//   --> test/errors/lang/Transforms.cpp:337:51
//   337 |     return pl::sum(pl::astype(pl::stochastic_round(x, pl::zeros({8, 128}, pl::u32), pl::bf16), pl::f32));
//       |                                                   ^
//   need: ops that have a derivative on what the result depends on
//   have: stochastic_round of f32[8,128]
//   help: give the function around it a derivative of its own with custom_vjp or custom_jvp, or hide the value with stop_gradient
WRONG_PROGRAM(derivative_of_rounding_at_random) {
  pl::grad([](const Array& x) {
    return pl::sum(pl::astype(pl::stochastic_round(x, pl::zeros({8, 128}, pl::u32), pl::bf16), pl::f32));
  })(pl::ones({8, 128}));
}

// error[SM7112]: this pallas_call cannot be differentiated: it uses prng_seed
//   --> test/errors/lang/Transforms.cpp:349:36
//   349 |   const auto call = pl::pallas_call(
//       |                                    ^
//   need: blocks, scratch, arithmetic and control flow
//   have: it uses prng_seed
//   help: give the function around the call a derivative of its own with custom_vjp or custom_jvp
WRONG_PROGRAM(derivative_of_a_kernel_with_random_bits) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        pl::prng_seed(7);
        o[_] = x[_] * pl::astype(pl::prng_random_bits({8, 128}) > 0, pl::f32);
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  pl::jvp([&](const Array& x) -> Array { return call(x); }, std::tuple{pl::ones({8, 128})},
          std::tuple{pl::ones({8, 128})});
}

// error[SM7113]: reverse mode does not go through this pallas_call: it uses prng_seed
//   --> test/errors/lang/Transforms.cpp:367:36
//   367 |   const auto call = pl::pallas_call(
//       |                                    ^
//   need: blocks, scratch, copies on the device, arithmetic and control flow
//   have: kernel 'kernel'
//   help: write the backward kernel and give both to custom_vjp
WRONG_PROGRAM(gradient_of_a_kernel_with_random_bits) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        pl::prng_seed(7);
        o[_] = x[_] * pl::astype(pl::prng_random_bits({8, 128}) > 0, pl::f32);
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  pl::grad([&](const Array& x) { return pl::sum(Array(call(x))); })(pl::ones({8, 128}));
}

// error[SM7113]: reverse mode does not go through this pallas_call: its grid is computed in the function that is transformed
//   --> test/errors/lang/Transforms.cpp:385:36
//   385 |   const auto call = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = pl::sin(x[_]); },
//       |                                    ^
//    in function 'main'
//   need: blocks, scratch, copies on the device, arithmetic and control flow
//   have: kernel 'kernel'
//   help: write the backward kernel and give both to custom_vjp
WRONG_PROGRAM(gradient_of_a_kernel_with_a_computed_grid) {
  const auto call = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = pl::sin(x[_]); },
                                    {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32}, .grid = {pl::dynamic}});
  const auto f = [&](const Array& n, const Array& x) { return pl::sum(Array(call(n, x))); };
  pl::jit(pl::grad<1>(f))(pl::full({}, 1, pl::i32), pl::ones({16, 128}));
}

// error[SM7114]: this pallas_call cannot be computed in f64: it uses prng_seed
//   --> test/errors/lang/Transforms.cpp:401:36
//   401 |   const auto call = pl::pallas_call(
//       |                                    ^
//   need: blocks, scratch, copies on the device, arithmetic and control flow
//   have: kernel 'kernel'
//   help: call it without numerics f64
WRONG_PROGRAM(a_kernel_that_is_not_computed_in_f64) {
  pl::Settings wide;
  pl::unwrap(wide.set("numerics", "f64"));
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        pl::prng_seed(7);
        o[_] = x[_] * pl::astype(pl::prng_random_bits({8, 128}) > 0, pl::f32);
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  call.with(wide)(pl::ones({8, 128}));
}

// error[SM7113]: reverse mode does not go through this pallas_call: a loop in it computes how many steps it takes
//   --> test/errors/lang/Transforms.cpp:418:36
//   418 |   const auto call = pl::pallas_call(
//       |                                    ^
//   need: loops whose number of steps is known before the kernel runs
//   have: kernel 'kernel'
//   help: write the backward kernel and give both to custom_vjp
WRONG_PROGRAM(gradient_of_a_kernel_with_a_while_loop) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        o[_] = pl::while_loop([](const Array& v) { return pl::max(v) < 100.0; }, [](const Array& v) { return v * v; },
                              x[_]);
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  pl::grad([&](const Array& x) { return pl::sum(Array(call(x))); })(pl::full({8, 128}, 2, pl::f32));
}

// error[SM7114]: this pallas_call cannot be computed in f64: it uses the bits of a float
//   --> test/errors/lang/Transforms.cpp:438:22
//   438 |       pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = pl::bitcast(pl::bitcast(x[_], pl::i32), pl::f32); },
//       |                      ^
//   need: blocks, scratch, copies on the device, arithmetic and control flow
//   have: kernel 'kernel'
//   help: call it without numerics f64
WRONG_PROGRAM(bits_of_floats_in_f64) {
  pl::Settings wide;
  pl::unwrap(wide.set("numerics", "f64"));
  const auto call =
      pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = pl::bitcast(pl::bitcast(x[_], pl::i32), pl::f32); },
                      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  call.with(wide)(pl::ones({8, 128}));
}

// error[SM7115]: tree_map got structures of different numbers of arrays
//   --> test/errors/lang/Transforms.cpp:451:15
//   451 |   pl::tree_map([](const Array& x, const Array& y) { return x + y; }, std::vector{pl::ones({4}), pl::ones({4})},
//       |               ^
//   need: 2 arrays
//   have: 1
//   help: give structures of one form: vectors in them have one size
WRONG_PROGRAM(trees_of_different_sizes) {
  pl::tree_map([](const Array& x, const Array& y) { return x + y; }, std::vector{pl::ones({4}), pl::ones({4})},
               std::vector{pl::ones({4})});
}

// error[SM6124]: a scan has more steps than an i32 counts
//   --> test/errors/lang/Transforms.cpp:463:11
//   463 |   pl::scan([](const Array& c, const std::vector<Array>&) { return std::pair{c, c}; }, pl::zeros({}),
//       |           ^
//   need: 2147483647 steps at most
//   have: 1099511627776
//   help: put a loop inside the step of a shorter scan
WRONG_PROGRAM(scan_of_too_many_steps) {
  pl::scan([](const Array& c, const std::vector<Array>&) { return std::pair{c, c}; }, pl::zeros({}),
           std::vector<Array>{}, {.length = int64_t{1} << 40});
}

static Array endlessBranches(const Array& x) {
  return pl::cond(pl::sum(x) > 0, [&] { return endlessBranches(x); }, [&] { return x; });
}
// error[SM7106]: a function calls itself in a loop or branch in an endless recursion
//   --> test/errors/lang/Transforms.cpp:468:18
//   468 |   return pl::cond(pl::sum(x) > 0, [&] { return endlessBranches(x); }, [&] { return x; });
//       |                  ^
//    in function 'main'
//   need: at most 100 loops, branches and transformations inside each other
//   have: one more: the bodies of loops and both branches of a cond are traced, whatever is computed
//   help: recursion needs a condition that C++ knows; use while_loop for what is computed
WRONG_PROGRAM(recursion_in_a_branch) { pl::jit(endlessBranches)(pl::ones({4})); }

// error[SM7102]: 'mul' is not linear in tangents, which reverse mode needs
//   --> test/errors/lang/Transforms.cpp:490:90
//   490 |       [](const auto& x, const auto& t) { return std::pair{std::get<0>(x), std::get<0>(t) * std::get<0>(t)}; });
//       |                                                                                          ^
//   need: a rule for tangents that is linear in them: sums, and products with values that are no tangents
//   have: mul with a tangent on both sides
//   help: correct the rule of the custom_jvp
WRONG_PROGRAM(product_of_tangents) {
  const auto f = pl::custom_jvp(
      [](const Array& x) { return x; },
      [](const auto& x, const auto& t) { return std::pair{std::get<0>(x), std::get<0>(t) * std::get<0>(t)}; });
  pl::grad([&](const Array& x) { return pl::sum(f(x)); })(pl::ones({4}));
}

// error[SM7107]: the forward function of a custom_vjp gives another type than the function in result 0
//   --> test/errors/lang/Transforms.cpp:503:21
//   503 |       pl::custom_vjp([](const Array& x) { return pl::sum(x); },
//       |                     ^
//   need: f32[]
//   have: i32[]
//   help: compute in it what the function computes
WRONG_PROGRAM(custom_vjp_whose_forward_gives_another_type) {
  const auto f =
      pl::custom_vjp([](const Array& x) { return pl::sum(x); },
                     [](const Array& x) { return std::pair{pl::astype(pl::sum(x), pl::i32), std::tuple<>{}}; },
                     [](std::tuple<>, const Array& ct) { return ct; });
  pl::grad(f)(pl::ones({4}));
}

// error[SM6105]: a function with a custom derivative uses a value f32[] of the vmap or grad around it
//   --> test/errors/lang/Transforms.cpp:519:34
//   519 |     const auto f = pl::custom_vjp([=](const Array& y) { return y * scale; },
//       |                                  ^
//    in a function with a custom derivative
//   need: values of the transformation as arguments only
//   help: pass the value to the function as an argument
WRONG_PROGRAM(custom_derivative_of_a_mapped_value) {
  pl::vmap([](const Array& x) {
    const Array scale = x * 2;
    const auto f = pl::custom_vjp([=](const Array& y) { return y * scale; },
                                  [=](const Array& y) { return std::pair{y * scale, y}; },
                                  [=](const Array&, const Array& cotangent) { return cotangent * scale; });
    return f(x);
  })(pl::ones({4}));
}
