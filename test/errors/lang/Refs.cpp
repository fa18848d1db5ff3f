// What goes wrong with Refs: reading, writing, indexing, slicing.
#include "WrongPrograms.h"

namespace pl = smalti;
using pl::_;

namespace {

/// Calls `kernel` with one array of shape [8, 128] and an output like it.
void run(pl::Kernel kernel, pl::Call extra = {}) {
  if (extra.out_shape.empty()) extra.out_shape = pl::ShapeDtype{{8, 128}, pl::f32};
  pl::pallas_call(std::move(kernel), std::move(extra))(pl::zeros({8, 128}));
}

}  // namespace

// error[SM6103]: a Ref is passed to an op
//   --> test/errors/lang/Refs.cpp:26:45
//    26 |   run([](pl::Ref x, pl::Ref o) { o[_] = x + 1; });
//       |                                             ^
//    in kernel 'kernel'
//   need: the value it holds
//   have: Ref f32[8,128]
//   help: did you forget to read it? ref[_] is its value
WRONG_PROGRAM(ref_passed_to_an_op) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x + 1; });
}

// error[SM6103]: a Ref is passed to an op
//   --> test/errors/lang/Refs.cpp:38:41
//    38 |   run([](pl::Ref x, pl::Ref o) { o[_] = x; });
//       |                                         ^
//    in kernel 'kernel'
//   need: the value it holds
//   have: Ref f32[8,128]
//   help: did you forget to read it? ref[_] is its value
WRONG_PROGRAM(ref_stored_into_a_ref) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x; });
}

// error[SM6105]: an empty Ref is used
//   --> test/errors/lang/Refs.cpp:48:52
//    48 |   run([](pl::Ref x, pl::Ref o) { o[_] = pl::Ref()[_]; });
//       |                                                    ^
//    in kernel 'kernel'
//   help: use a Ref only inside the kernel or run_scoped that it was passed to
WRONG_PROGRAM(empty_ref) {
  run([](pl::Ref x, pl::Ref o) { o[_] = pl::Ref()[_]; });
}

// error[SM6108]: an index has more entries than the Ref has axes
//   --> test/errors/lang/Refs.cpp:60:52
//    60 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[{0, 0, 0}]; });
//       |                                                    ^
//    in kernel 'kernel'
//   need: at most 2 entries
//   have: 3 for shape [8, 128]
//   help: leave entries out
WRONG_PROGRAM(too_many_indices) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[{0, 0, 0}]; });
}

// error[SM6108]: an index holds more than one _
//   --> test/errors/lang/Refs.cpp:72:52
//    72 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[{_, 0, _}]; });
//       |                                                    ^
//    in kernel 'kernel'
//   need: at most one _ (Python's ...)
//   have: 2
//   help: write all_of for a whole axis (Python's :)
WRONG_PROGRAM(two_ellipses) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[{_, 0, _}]; });
}

// error[SM6109]: out of bound index: axis 0 of a Ref of shape [8, 128]
//   --> test/errors/lang/Refs.cpp:84:44
//    84 |   run([](pl::Ref x, pl::Ref o) { o[0] = x[8]; });
//       |                                            ^
//    in kernel 'kernel'
//   need: elements 0 to 7
//   have: element 8
//   help: take a smaller slice, or a larger block
WRONG_PROGRAM(index_beyond_the_block) {
  run([](pl::Ref x, pl::Ref o) { o[0] = x[8]; });
}

// error[SM6109]: out of bound index: axis 0 of a Ref of shape [8, 128]
//   --> test/errors/lang/Refs.cpp:96:55
//    96 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[pl::ds(4, 8)]; });
//       |                                                       ^
//    in kernel 'kernel'
//   need: elements 0 to 7
//   have: elements 4 to 11
//   help: take a smaller slice, or a larger block
WRONG_PROGRAM(slice_beyond_the_block) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[pl::ds(4, 8)]; });
}

// error[SM6109]: out of bound index: axis 0 of a Ref of shape [8, 128]
//   --> test/errors/lang/Refs.cpp:108:72
//   108 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[pl::ds(pl::program_id(0), 16)]; }, {.grid = {2}});
//       |                                                                        ^
//    in kernel 'kernel'
//   need: elements 0 to 7
//   have: elements 0 to 15
//   help: take a smaller slice, or a larger block
WRONG_PROGRAM(slice_longer_than_the_axis) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[pl::ds(pl::program_id(0), 16)]; }, {.grid = {2}});
}

// error[SM6111]: the stride of a slice of axis 0 is negative
//   --> test/errors/lang/Refs.cpp:120:59
//   120 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[pl::ds(0, 8, -1)]; });
//       |                                                           ^
//    in kernel 'kernel'
//   need: stride >= 0
//   have: stride -1
//   help: slice forward and reverse the value
WRONG_PROGRAM(negative_stride) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[pl::ds(0, 8, -1)]; });
}

// error[SM6110]: the index of axis 0 of a Ref is not an integer scalar
//   --> test/errors/lang/Refs.cpp:132:69
//   132 |   run([](pl::Ref x, pl::Ref o) { o[0] = x[pl::exp(pl::program_id(0))]; }, {.grid = {1}});
//       |                                                                     ^
//    in kernel 'kernel'
//   need: an integer, a traced i32 scalar, ds(start, size), all_of or _
//   have: f32[]
//   help: convert the index: astype(i, i32)
WRONG_PROGRAM(index_of_floats) {
  run([](pl::Ref x, pl::Ref o) { o[0] = x[pl::exp(pl::program_id(0))]; }, {.grid = {1}});
}

// error[SM6110]: the index of axis 0 of a Ref is not an integer scalar
//   --> test/errors/lang/Refs.cpp:144:56
//   144 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[pl::arange(8)]; });
//       |                                                        ^
//    in kernel 'kernel'
//   need: an integer, a traced i32 scalar, ds(start, size), all_of or _
//   have: i32[8]
//   help: indexing by arrays is not done on a TPU: use take_along_axis on the value
WRONG_PROGRAM(index_by_a_vector) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[pl::arange(8)]; });
}

// error[SM6401]: a Ref is read or written with a slice of traced size
//   --> test/errors/lang/Refs.cpp:156:71
//   156 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[pl::ds(0, pl::program_id(0))]; }, {.grid = {1}});
//       |                                                                       ^
//    in kernel 'kernel'
//   need: a static size
//   have: ds(start, traced size)
//   help: traced sizes are for DMA: copy with make_async_copy, or mask a slice of static size
WRONG_PROGRAM(slice_of_traced_size) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[pl::ds(0, pl::program_id(0))]; }, {.grid = {1}});
}

// error[SM6112]: a value of the wrong dtype is stored into a Ref
//   --> test/errors/lang/Refs.cpp:168:37
//   168 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[_]; }, {.out_shape = pl::ShapeDtype{{8, 128}, pl::bf16}});
//       |                                     ^
//    in kernel 'kernel'
//   need: bf16
//   have: f32
//   help: convert it: astype(value, bf16)
WRONG_PROGRAM(another_dtype_stored) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[_]; }, {.out_shape = pl::ShapeDtype{{8, 128}, pl::bf16}});
}

// error[SM6301]: a value cannot be broadcast to the shape it is needed in
//   --> test/errors/lang/Refs.cpp:180:37
//   180 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[pl::ds(0, 4)]; });
//       |                                     ^
//    in kernel 'kernel'
//   need: shape [8, 128], or axes of size 1
//   have: shape [4, 128]
//   help: reshape the value, or take a slice of the target
WRONG_PROGRAM(another_shape_stored) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[pl::ds(0, 4)]; });
}

// error[SM6301]: a value cannot be broadcast to the shape it is needed in
//   --> test/errors/lang/Refs.cpp:192:37
//   192 |   run([](pl::Ref x, pl::Ref o) { o[0] = x[_]; });
//       |                                     ^
//    in kernel 'kernel'
//   need: shape [128], or axes of size 1
//   have: shape [8, 128]
//   help: reshape the value, or take a slice of the target
WRONG_PROGRAM(another_rank_stored) {
  run([](pl::Ref x, pl::Ref o) { o[0] = x[_]; });
}

// error[SM6301]: a value cannot be broadcast to the shape it is needed in
//   --> test/errors/lang/Refs.cpp:204:43
//   204 |   run([](pl::Ref x, pl::Ref o) { pl::store(o, x[_], x[pl::ds(0, 4)] > 0); });
//       |                                           ^
//    in kernel 'kernel'
//   need: shape [8, 128], or axes of size 1
//   have: shape [4, 128]
//   help: reshape the value, or take a slice of the target
WRONG_PROGRAM(mask_of_another_shape) {
  run([](pl::Ref x, pl::Ref o) { pl::store(o, x[_], x[pl::ds(0, 4)] > 0); });
}

// error[SM6401]: masked swap with non-32-bit data
//   --> test/errors/lang/Refs.cpp:216:43
//   216 |   run([](pl::Ref x, pl::Ref o) { pl::store(o, pl::astype(x[_], pl::bf16), x[_] > 0); },
//       |                                           ^
//    in kernel 'kernel'
//   need: a Ref of 32-bit elements
//   have: 16 bits
//   help: select with where, and store unmasked
WRONG_PROGRAM(masked_store_of_16_bits) {
  run([](pl::Ref x, pl::Ref o) { pl::store(o, pl::astype(x[_], pl::bf16), x[_] > 0); },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::bf16}});
}

// error[SM6302]: a store takes a mask of pred
//   --> test/errors/lang/Refs.cpp:229:43
//   229 |   run([](pl::Ref x, pl::Ref o) { pl::store(o, x[_], x[_]); });
//       |                                           ^
//    in kernel 'kernel'
//   need: pred
//   have: f32[8,128]
//   help: compare: store(ref, value, mask != 0)
WRONG_PROGRAM(mask_that_is_no_pred) {
  run([](pl::Ref x, pl::Ref o) { pl::store(o, x[_], x[_]); });
}

// error[SM6113]: bitcast of a Ref of one axis changes the width of its elements
//   --> test/errors/lang/Refs.cpp:241:56
//   241 |   run([](pl::Ref x, pl::Ref o) { o[_] = x.at(0).bitcast(pl::bf16)[_]; });
//       |                                                        ^
//    in kernel 'kernel'
//   need: rows of axis -2 times 32 bits divisible by 16 bits
//   have: shape [128] of f32
//   help: bitcast to a type of the same width, or take a block with more rows
WRONG_PROGRAM(bitcast_of_one_axis) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x.at(0).bitcast(pl::bf16)[_]; });
}

// error[SM6113]: the second-minor axis cannot be perfectly packed or unpacked
//   --> test/errors/lang/Refs.cpp:253:71
//   253 |   run([](pl::Ref x, pl::Ref o, pl::Ref narrow) { o[_] = narrow.bitcast(pl::f32)[_]; },
//       |                                                                       ^
//    in kernel 'kernel'
//   need: rows of axis -2 times 8 bits divisible by 32 bits
//   have: shape [7, 128] of i8
//   help: bitcast to a type of the same width, or take a block with more rows
WRONG_PROGRAM(bitcast_that_does_not_pack) {
  run([](pl::Ref x, pl::Ref o, pl::Ref narrow) { o[_] = narrow.bitcast(pl::f32)[_]; },
      {.scratch_shapes = {pl::vmem({7, 128}, pl::i8)}});
}

// error[SM6114]: reshape of a Ref to a different number of elements
//   --> test/errors/lang/Refs.cpp:266:50
//   266 |   run([](pl::Ref x, pl::Ref o) { o[_] = x.reshape({16, 128})[_]; });
//       |                                                  ^
//    in kernel 'kernel'
//   need: 1024 elements
//   have: shape [16, 128]
//   help: keep the number of elements; one axis may be -1
WRONG_PROGRAM(reshape_to_more_elements) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x.reshape({16, 128})[_]; });
}

// error[SM6401]: Loads are only allowed on VMEM and SMEM references
//   --> test/errors/lang/Refs.cpp:278:44
//   278 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[_]; }, {.in_specs = {pl::BlockSpec(pl::any_space)}});
//       |                                            ^
//    in kernel 'kernel'
//   need: a Ref in VMEM or SMEM
//   have: a Ref in ANY or HBM
//   help: copy it to VMEM scratch with make_async_copy or sync_copy
WRONG_PROGRAM(ref_in_any_is_read) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[_]; }, {.in_specs = {pl::BlockSpec(pl::any_space)}});
}

// error[SM6401]: Loads and stores are only allowed on VMEM and SMEM references
//   --> test/errors/lang/Refs.cpp:290:37
//   290 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[_]; }, {.out_specs = {pl::BlockSpec(pl::hbm)}});
//       |                                     ^
//    in kernel 'kernel'
//   need: a Ref in VMEM or SMEM
//   have: a Ref in ANY or HBM
//   help: copy it to VMEM scratch with make_async_copy or sync_copy
WRONG_PROGRAM(ref_in_hbm_is_written) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[_]; }, {.out_specs = {pl::BlockSpec(pl::hbm)}});
}

// error[SM6401]: Can only load scalars from SMEM
//   --> test/errors/lang/Refs.cpp:302:44
//   302 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[_]; }, {.in_specs = {pl::BlockSpec(pl::smem)}});
//       |                                            ^
//    in kernel 'kernel'
//   need: an index of one element, x[i]
//   have: a slice of shape [8, 128]
//   help: read element by element in a loop
WRONG_PROGRAM(vector_read_from_smem) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[_]; }, {.in_specs = {pl::BlockSpec(pl::smem)}});
}

// error[SM6401]: Can only store scalars to SMEM
//   --> test/errors/lang/Refs.cpp:314:37
//   314 |   run([](pl::Ref x, pl::Ref o) { o[_] = x[_]; }, {.out_specs = {pl::BlockSpec(pl::smem)}});
//       |                                     ^
//    in kernel 'kernel'
//   need: an index of one element, o[i] = v
//   have: a slice of shape [8, 128]
//   help: write element by element in a loop
WRONG_PROGRAM(vector_stored_to_smem) {
  run([](pl::Ref x, pl::Ref o) { o[_] = x[_]; }, {.out_specs = {pl::BlockSpec(pl::smem)}});
}

// error[SM6401]: Loads are only allowed on VMEM and SMEM references
//   --> test/errors/lang/Refs.cpp:326:62
//   326 |   run([](pl::Ref x, pl::Ref o, pl::Ref s) { o[_] = x[_] + s[0]; }, {.scratch_shapes = {pl::semaphore_type::dma({2})}});
//       |                                                              ^
//    in kernel 'kernel'
//   need: a Ref in VMEM or SMEM
//   have: a semaphore
//   help: use semaphore_read, semaphore_signal and semaphore_wait
WRONG_PROGRAM(semaphore_is_read) {
  run([](pl::Ref x, pl::Ref o, pl::Ref s) { o[_] = x[_] + s[0]; }, {.scratch_shapes = {pl::semaphore_type::dma({2})}});
}

// error[SM6401]: Cannot store scalars to VMEM
//   --> test/errors/lang/Refs.cpp:338:62
//   338 |   run([](pl::Ref x, pl::Ref o) { o[{pl::program_id(0), 0}] = 1.0f; }, {.grid = {1}});
//       |                                                              ^
//    in kernel 'kernel'
//   need: a slice, o[ds(i, 1)] = …
//   have: one element
//   help: store a slice, or put the Ref in SMEM
WRONG_PROGRAM(scalar_stored_to_vmem) {
  run([](pl::Ref x, pl::Ref o) { o[{pl::program_id(0), 0}] = 1.0f; }, {.grid = {1}});
}

// error[SM6105]: a Ref is used outside the kernel or scope it belongs to
//   --> test/errors/lang/Refs.cpp:350:48
//   350 |   run([&](pl::Ref x, pl::Ref o) { o[_] = kept[_]; });
//       |                                                ^
//    in kernel 'kernel'
//   help: use a Ref only inside the kernel or run_scoped that it was passed to
WRONG_PROGRAM(ref_kept_after_its_kernel) {
  pl::Ref kept;
  run([&](pl::Ref x, pl::Ref o) { kept = x; });
  run([&](pl::Ref x, pl::Ref o) { o[_] = kept[_]; });
}

// error[SM6106]: 'reading a Ref' exists inside kernels only
//   --> test/errors/lang/Refs.cpp:361:9
//   361 |   kept[_];
//       |         ^
//   help: call it in a function that is passed to pallas_call
WRONG_PROGRAM(ref_read_outside_a_kernel) {
  pl::Ref kept;
  run([&](pl::Ref x, pl::Ref o) { kept = x; });
  kept[_];
}
