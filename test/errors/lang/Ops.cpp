// What goes wrong with ops, inside kernels and on whole arrays.
#include "WrongPrograms.h"

namespace pl = smalti;
using pl::_;

namespace {

void run(pl::Kernel kernel) {
  pl::pallas_call(std::move(kernel), {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}})(pl::zeros({8, 128}));
}

}  // namespace

// error[SM6301]: 'add' cannot broadcast its operands to one shape
//   --> test/errors/lang/Ops.cpp:24:66
//    24 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[_] + pl::zeros({3, 128}); });
//       |                                                                  ^
//    in kernel 'kernel'
//   need: trailing axes that are equal, or 1
//   have: shapes [8, 128] and [3, 128]
//   help: add an axis of size 1 with expand_dims; a reduction keeps its own with {.keepdims = true}
WRONG_PROGRAM(shapes_that_do_not_broadcast) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[_] + pl::zeros({3, 128}); });
}

// error[SM6301]: 'multiply' cannot broadcast its operands to one shape
//   --> test/errors/lang/Ops.cpp:34:89
//    34 | WRONG_PROGRAM(shapes_that_do_not_broadcast_outside) { pl::zeros({8, 128}) * pl::ones({8}); }
//       |                                                                                         ^
//   need: trailing axes that are equal, or 1
//   have: shapes [8, 128] and [8]
//   help: add an axis of size 1 with expand_dims; a reduction keeps its own with {.keepdims = true}
WRONG_PROGRAM(shapes_that_do_not_broadcast_outside) { pl::zeros({8, 128}) * pl::ones({8}); }

// error[SM6301]: 'where' cannot broadcast its operands to one shape
//   --> test/errors/lang/Ops.cpp:45:50
//    45 |   run([](pl::Ref x, pl::Ref o) { o[_] = pl::where(x[_] > 0, x[_], pl::zeros({8, 64})); });
//       |                                                  ^
//    in kernel 'kernel'
//   need: trailing axes that are equal, or 1
//   have: shapes [8, 128] and [8, 128] and [8, 64]
//   help: add an axis of size 1 with expand_dims; a reduction keeps its own with {.keepdims = true}
WRONG_PROGRAM(three_shapes_that_do_not_broadcast) {
  run([](pl::Ref x, pl::Ref o) { o[_] = pl::where(x[_] > 0, x[_], pl::zeros({8, 64})); });
}

// error[SM6301]: a value cannot be broadcast to the shape it is needed in
//   --> test/errors/lang/Ops.cpp:55:63
//    55 | WRONG_PROGRAM(broadcast_to_a_smaller_shape) { pl::broadcast_to(pl::zeros({8, 128}), {128}); }
//       |                                                               ^
//   need: shape [128], or axes of size 1
//   have: shape [8, 128]
//   help: reshape the value, or take a slice of the target
WRONG_PROGRAM(broadcast_to_a_smaller_shape) { pl::broadcast_to(pl::zeros({8, 128}), {128}); }

// error[SM6302]: 'add' has no implicit conversion between f8e4m3fn and f32
//   --> test/errors/lang/Ops.cpp:64:94
//    64 | WRONG_PROGRAM(floats_of_8_bits_mixed) { pl::zeros({8}, pl::f8e4m3fn) + pl::zeros({8}, pl::f32); }
//       |                                                                                              ^
//   need: operands of one dtype
//   have: f8e4m3fn and f32
//   help: convert one of them with astype
WRONG_PROGRAM(floats_of_8_bits_mixed) { pl::zeros({8}, pl::f8e4m3fn) + pl::zeros({8}, pl::f32); }

// error[SM6302]: 'compare' has no implicit conversion of 3000000000 to i32
//   --> test/errors/lang/Ops.cpp:73:68
//    73 | WRONG_PROGRAM(number_that_i32_has_not) { pl::zeros({8}, pl::i32) < 3000000000u; }
//       |                                                                    ^
//   need: a number that i32 has
//   have: 3000000000
//   help: convert the other operand with astype, to u32 or i64; or write the negative number with these bits
WRONG_PROGRAM(number_that_i32_has_not) { pl::zeros({8}, pl::i32) < 3000000000u; }

// error[SM6302]: 'and' does not take f32
//   --> test/errors/lang/Ops.cpp:84:48
//    84 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[_] & 1; });
//       |                                                ^
//    in kernel 'kernel'
//   need: integers or pred
//   have: f32
//   help: convert the operand with astype
WRONG_PROGRAM(bits_of_floats) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[_] & 1; });
}

// error[SM6302]: 'shift_left' does not take f32
//   --> test/errors/lang/Ops.cpp:96:49
//    96 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[_] << 1; });
//       |                                                 ^
//    in kernel 'kernel'
//   need: integers
//   have: f32
//   help: convert the operand with astype
WRONG_PROGRAM(shift_of_floats) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[_] << 1; });
}

// error[SM6302]: 'popcnt' does not take f32
//   --> test/errors/lang/Ops.cpp:108:61
//   108 |   run([](pl::Ref x, pl::Ref o) { o[_] = pl::population_count(x[_]); });
//       |                                                             ^
//    in kernel 'kernel'
//   need: integers
//   have: f32
//   help: convert the operand with astype
WRONG_PROGRAM(bits_of_a_float_counted) {
  run([](pl::Ref x, pl::Ref o) { o[_] = pl::population_count(x[_]); });
}

// error[SM6302]: 'not' does not take f32
//   --> test/errors/lang/Ops.cpp:118:53
//   118 | WRONG_PROGRAM(complement_of_floats) { ~pl::zeros({8}); }
//       |                                                     ^
//   need: integers or pred
//   have: f32
//   help: convert the operand with astype
WRONG_PROGRAM(complement_of_floats) { ~pl::zeros({8}); }

// error[SM6303]: an array is made from a different number of elements than its shape has
//   --> test/errors/lang/Ops.cpp:127:63
//   127 | WRONG_PROGRAM(elements_that_do_not_fill_the_shape) { pl::array(std::vector<float>(100), {8, 16}); }
//       |                                                               ^
//   need: 128 elements
//   have: 100
//   help: pass the shape of the data
WRONG_PROGRAM(elements_that_do_not_fill_the_shape) { pl::array(std::vector<float>(100), {8, 16}); }

// error[SM6220]: 'zeros' of a shape with a negative size
//   --> test/errors/lang/Ops.cpp:136:50
//   136 | WRONG_PROGRAM(zeros_of_negative_size) { pl::zeros({8, -128}); }
//       |                                                  ^
//   need: sizes of at least 0
//   have: shape [8, -128]
//   help: check how the shape is computed
WRONG_PROGRAM(zeros_of_negative_size) { pl::zeros({8, -128}); }

// error[SM6220]: 'broadcasted_iota' of a shape with a negative size
//   --> test/errors/lang/Ops.cpp:145:53
//   145 | WRONG_PROGRAM(range_of_negative_length) { pl::arange(-1); }
//       |                                                     ^
//   need: sizes of at least 0
//   have: shape [-1]
//   help: check how the shape is computed
WRONG_PROGRAM(range_of_negative_length) { pl::arange(-1); }

// error[SM1009]: out of memory for an array of type f32[1099511627776,1099511627776]
//   --> test/errors/lang/Ops.cpp:153:54
//   153 | WRONG_PROGRAM(array_that_no_memory_holds) { pl::zeros({int64_t{1} << 40, int64_t{1} << 40}); }
//       |                                                      ^
//   need: more bytes than 64 bits count
//   help: use smaller arrays, or a machine with more memory
WRONG_PROGRAM(array_that_no_memory_holds) { pl::zeros({int64_t{1} << 40, int64_t{1} << 40}); }

// error[SM6305]: 'broadcasted_iota' has no axis 2
//   --> test/errors/lang/Ops.cpp:164:61
//   164 |   run([](pl::Ref x, pl::Ref o) { o[_] = pl::broadcasted_iota(pl::f32, {8, 128}, 2); });
//       |                                                             ^
//    in kernel 'kernel'
//   need: an axis in [-2, 2)
//   have: axis 2 of an operand of rank 2
//   help: name an axis the operand has
WRONG_PROGRAM(iota_of_a_missing_axis) {
  run([](pl::Ref x, pl::Ref o) { o[_] = pl::broadcasted_iota(pl::f32, {8, 128}, 2); });
}

// error[SM6304]: 'dot' of operands whose sizes do not match
//   --> test/errors/lang/Ops.cpp:176:48
//   176 |   run([](pl::Ref x, pl::Ref o) { o[_] = pl::dot(x[_], x[_]); });
//       |                                                ^
//    in kernel 'kernel'
//   need: 128 rows in the right operand
//   have: shapes [8, 128] and [8, 128]
//   help: transpose or reshape an operand
WRONG_PROGRAM(product_of_sizes_that_do_not_match) {
  run([](pl::Ref x, pl::Ref o) { o[_] = pl::dot(x[_], x[_]); });
}

// error[SM6304]: 'dot' of operands whose sizes do not match
//   --> test/errors/lang/Ops.cpp:186:45
//   186 | WRONG_PROGRAM(product_of_a_scalar) { pl::dot(pl::zeros({8, 128}), 2.0f); }
//       |                                             ^
//   need: operands of rank 1 or 2
//   have: shapes [8, 128] and []
//   help: transpose or reshape an operand
WRONG_PROGRAM(product_of_a_scalar) { pl::dot(pl::zeros({8, 128}), 2.0f); }

// error[SM6304]: 'dot_general' of operands whose sizes do not match
//   --> test/errors/lang/Ops.cpp:196:18
//   196 |   pl::dot_general(pl::zeros({8, 128}), pl::zeros({64, 8}), {.lhs_contracting = {1}, .rhs_contracting = {0}});
//       |                  ^
//   need: equal contracting axes: 1 of the left and 0 of the right
//   have: shapes [8, 128] and [64, 8]
//   help: transpose or reshape an operand
WRONG_PROGRAM(contraction_of_axes_that_differ) {
  pl::dot_general(pl::zeros({8, 128}), pl::zeros({64, 8}), {.lhs_contracting = {1}, .rhs_contracting = {0}});
}

// error[SM6305]: 'dot_general' has no axis 2
//   --> test/errors/lang/Ops.cpp:207:18
//   207 |   pl::dot_general(pl::zeros({8, 128}), pl::zeros({128, 8}), {.lhs_contracting = {2}, .rhs_contracting = {0}});
//       |                  ^
//   need: an axis in [-2, 2)
//   have: axis 2 of an operand of rank 2
//   help: name an axis the operand has
WRONG_PROGRAM(contraction_of_a_missing_axis) {
  pl::dot_general(pl::zeros({8, 128}), pl::zeros({128, 8}), {.lhs_contracting = {2}, .rhs_contracting = {0}});
}

// error[SM6306]: bitcast_convert_type cannot change the width of elements
//   --> test/errors/lang/Ops.cpp:217:67
//   217 | WRONG_PROGRAM(bitcast_to_another_width) { pl::bitcast_convert_type(pl::zeros({8, 128}), pl::bf16); }
//       |                                                                   ^
//   need: 32 bits
//   have: 16 bits
//   help: use bitcast, which packs along the second-minor axis
WRONG_PROGRAM(bitcast_to_another_width) { pl::bitcast_convert_type(pl::zeros({8, 128}), pl::bf16); }

// error[SM6401]: Unsigned integer dtype u8 is not supported for dot_general
//   --> test/errors/lang/Ops.cpp:228:60
//   228 |   pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = pl::dot(x[_], x[_], {.preferred_element_type = pl::i32}); },
//       |                                                            ^
//    in kernel 'kernel'
//   need: floats or signed integers
//   have: u8
//   help: the matrix unit reads integers as signed: astype first
WRONG_PROGRAM(product_of_unsigned_integers) {
  pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = pl::dot(x[_], x[_], {.preferred_element_type = pl::i32}); },
                  {.out_shape = pl::ShapeDtype{{128, 128}, pl::i32}})(pl::zeros({128, 128}, pl::u8));
}

// error[SM6219]: 64-bit types are not supported: 'convert' gives i64[8,128]
//   --> test/errors/lang/Ops.cpp:241:62
//   241 |   run([](pl::Ref x, pl::Ref o) { o[_] = pl::astype(pl::astype(x[_], pl::i64) + 1, pl::f32); });
//       |                                                              ^
//    in kernel 'kernel'
//   need: a dtype of at most 32 bits
//   have: i64[8,128]
//   help: compute in i32 or f32
WRONG_PROGRAM(integers_become_64_bits) {
  run([](pl::Ref x, pl::Ref o) { o[_] = pl::astype(pl::astype(x[_], pl::i64) + 1, pl::f32); });
}

// error[SM6401]: 'expm1' cannot be in a kernel
//   --> test/errors/lang/Ops.cpp:253:50
//   253 |   run([](pl::Ref x, pl::Ref o) { o[_] = pl::expm1(x[_]); });
//       |                                                  ^
//    in kernel 'kernel'
//   need: an op that the TPU's vector or scalar units have
//   have: expm1
//   help: compute it outside, or from other ops
WRONG_PROGRAM(expm1_in_a_kernel) {
  run([](pl::Ref x, pl::Ref o) { o[_] = pl::expm1(x[_]); });
}

// error[SM6401]: Reductions over unsigned integers not implemented
//   --> test/errors/lang/Ops.cpp:266:59
//   266 |       [](pl::Ref x, pl::Ref o) { o[_] = pl::astype(pl::max(x[_], {.axes = {0}, .keepdims = true}), pl::f32); },
//       |                                                           ^
//    in kernel 'kernel'
//   need: i32 or a float
//   have: u32
//   help: convert the operand with astype(x, i32)
WRONG_PROGRAM(maximum_of_unsigned_integers) {
  pl::pallas_call(
      [](pl::Ref x, pl::Ref o) { o[_] = pl::astype(pl::max(x[_], {.axes = {0}, .keepdims = true}), pl::f32); },
      {.out_shape = pl::ShapeDtype{{1, 128}, pl::f32}})(pl::zeros({8, 128}, pl::u32));
}

// error[SM6304]: einsum cannot read "ij,jk,kl->il"
//   --> test/errors/lang/Ops.cpp:277:57
//   277 | WRONG_PROGRAM(einsum_with_too_few_operands) { pl::einsum("ij,jk,kl->il", pl::zeros({8, 128}), pl::zeros({128, 8})); }
//       |                                                         ^
//   need: 2 operands
//   have: "ij,jk,kl->il"
//   help: write it as "ij,jk->ik"
WRONG_PROGRAM(einsum_with_too_few_operands) { pl::einsum("ij,jk,kl->il", pl::zeros({8, 128}), pl::zeros({128, 8})); }

// error[SM6302]: 'randint' does not take f32
//   --> test/errors/lang/Ops.cpp:286:47
//   286 | WRONG_PROGRAM(randint_of_floats) { pl::randint(pl::random_key(0), {8, 128}, 0, 10, pl::f32); }
//       |                                               ^
//   need: 8-, 16- or 32-bit integers
//   have: f32
//   help: convert the operand with astype
WRONG_PROGRAM(randint_of_floats) { pl::randint(pl::random_key(0), {8, 128}, 0, 10, pl::f32); }

// error[SM6303]: the tiles of a sample_block do not make up its block
//   --> test/errors/lang/Ops.cpp:296:19
//   296 |   pl::sample_block([](const pl::Key& key, const pl::Shape& shape) { return pl::uniform(key, shape); },
//       |                   ^
//   need: as many axes everywhere, and tile sizes that divide the block's
//   have: block [16, 128], tile [12, 128], total [64, 128]
//   help: choose a tile size that divides every block size that you will use, so that the numbers do not depend on it
WRONG_PROGRAM(tiles_that_do_not_make_up_a_block) {
  pl::sample_block([](const pl::Key& key, const pl::Shape& shape) { return pl::uniform(key, shape); },
                   pl::random_key(0), {16, 128}, {12, 128}, {64, 128}, {0, 0});
}

// error[SM6301]: 'concatenate' of arrays that differ in more than axis 0
//   --> test/errors/lang/Ops.cpp:307:69
//   307 | WRONG_PROGRAM(concatenated_arrays_of_other_widths) { pl::concatenate({pl::zeros({8, 128}), pl::zeros({8, 64})}, 0); }
//       |                                                                     ^
//   need: shape [8, 128], but for axis 0
//   have: shape [8, 64]
//   help: pad, slice or reshape the array
WRONG_PROGRAM(concatenated_arrays_of_other_widths) { pl::concatenate({pl::zeros({8, 128}), pl::zeros({8, 64})}, 0); }

// error[SM6301]: 'stack' of arrays of different shapes
//   --> test/errors/lang/Ops.cpp:316:58
//   316 | WRONG_PROGRAM(stacked_arrays_of_other_shapes) { pl::stack({pl::zeros({8, 128}), pl::zeros({8, 64})}, 0); }
//       |                                                          ^
//   need: shape [8, 128]
//   have: shape [8, 64]
//   help: pad, slice or reshape the array
WRONG_PROGRAM(stacked_arrays_of_other_shapes) { pl::stack({pl::zeros({8, 128}), pl::zeros({8, 64})}, 0); }

// error[SM6307]: 'stack' of no arrays
//   --> test/errors/lang/Ops.cpp:325:43
//   325 | WRONG_PROGRAM(nothing_stacked) { pl::stack({}, 0); }
//       |                                           ^
//   need: one or more arrays
//   have: none
//   help: pass at least one array
WRONG_PROGRAM(nothing_stacked) { pl::stack({}, 0); }

// error[SM6220]: 'array' of a shape with a negative size
//   --> test/errors/lang/Ops.cpp:334:52
//   334 | WRONG_PROGRAM(array_of_a_negative_size) { pl::array(std::vector<float>{}, {-1}); }
//       |                                                    ^
//   need: sizes of at least 0
//   have: shape [-1]
//   help: check how the shape is computed
WRONG_PROGRAM(array_of_a_negative_size) { pl::array(std::vector<float>{}, {-1}); }

// error[SM6307]: 'concatenate' of no arrays
//   --> test/errors/lang/Ops.cpp:343:58
//   343 | WRONG_PROGRAM(concatenation_of_nothing) { pl::concatenate({}); }
//       |                                                          ^
//   need: one or more arrays
//   have: none
//   help: pass at least one array
WRONG_PROGRAM(concatenation_of_nothing) { pl::concatenate({}); }

// error[SM6307]: 'take' of elements of an empty axis
//   --> test/errors/lang/Ops.cpp:352:50
//   352 | WRONG_PROGRAM(take_from_an_empty_axis) { pl::take(pl::zeros({0, 3}), pl::arange(2)); }
//       |                                                  ^
//   need: an axis with elements, or no indices
//   have: axis 0 of f32[0,3]
//   help: check how the array is made
WRONG_PROGRAM(take_from_an_empty_axis) { pl::take(pl::zeros({0, 3}), pl::arange(2)); }

// error[SM6302]: 'Key' does not take f32
//   --> test/errors/lang/Ops.cpp:361:58
//   361 | WRONG_PROGRAM(key_of_floats) { pl::uniform(pl::Key(1.5, 2), {8, 128}); }
//       |                                                          ^
//   need: u32, the words that key_data gives
//   have: f32
//   help: convert the operand with astype
WRONG_PROGRAM(key_of_floats) { pl::uniform(pl::Key(1.5, 2), {8, 128}); }

// error[SM6220]: 'split' of a key into a negative number of keys
//   --> test/errors/lang/Ops.cpp:370:51
//   370 | WRONG_PROGRAM(negative_number_of_keys) { pl::split(pl::random_key(1), -1); }
//       |                                                   ^
//   need: a count of at least 0
//   have: -1
//   help: check how the count is computed
WRONG_PROGRAM(negative_number_of_keys) { pl::split(pl::random_key(1), -1); }
