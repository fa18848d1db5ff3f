// What goes wrong with grids, block specs, index maps and aliases.
#include "WrongPrograms.h"

namespace pl = smalti;
using pl::_;

namespace {

void copy(const pl::Ref& x, const pl::Ref& o) { o[_] = x[_]; }
const pl::ShapeDtype kOut{{64, 128}, pl::f32};
const pl::BlockSpec kRows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};

/// Calls a copy with these specs and an array of shape [64, 128].
void run(pl::Call call, pl::Location at = pl::Location::current()) {
  if (call.out_shape.empty()) call.out_shape = kOut;
  pl::pallas_call(copy, std::move(call), at)(pl::zeros({64, 128}));
}

}  // namespace

// error[SM6206]: Block shape for input 0 must have the same number of dimensions as the array shape
//   --> test/errors/lang/Specs.cpp:29:77
//    29 |   run({.grid = {8}, .in_specs = {pl::BlockSpec{{8}, [](auto i) { return i; }}}, .out_specs = {kRows}});
//       |                                                                             ^
//   need: 2 dimensions, for array shape [64, 128]
//   have: 1 dimension
//   help: give one size per axis of the array; squeezed takes an axis away
WRONG_PROGRAM(block_of_another_rank) {
  run({.grid = {8}, .in_specs = {pl::BlockSpec{{8}, [](auto i) { return i; }}}, .out_specs = {kRows}});
}

// error[SM6203]: `in_specs` and the inputs do not match
//   --> test/errors/lang/Specs.cpp:39:43
//    39 | WRONG_PROGRAM(specs_for_more_inputs) { run({.grid = {8}, .in_specs = {kRows, kRows}, .out_specs = {kRows}}); }
//       |                                           ^
//   need: 1 block spec, one per input
//   have: 2
//   help: give one BlockSpec per array that the call is given; BlockSpec() takes the whole array
WRONG_PROGRAM(specs_for_more_inputs) { run({.grid = {8}, .in_specs = {kRows, kRows}, .out_specs = {kRows}}); }

// error[SM6203]: `out_specs` and the outputs do not match
//   --> test/errors/lang/Specs.cpp:48:44
//    48 | WRONG_PROGRAM(specs_for_more_outputs) { run({.grid = {8}, .in_specs = {kRows}, .out_specs = {kRows, kRows}}); }
//       |                                            ^
//   need: 1 block spec, one per output
//   have: 2
//   help: give one BlockSpec each; BlockSpec() takes the whole array
WRONG_PROGRAM(specs_for_more_outputs) { run({.grid = {8}, .in_specs = {kRows}, .out_specs = {kRows, kRows}}); }

// error[SM6204]: If `grid_spec` is specified, then `grid` must be empty
//   --> test/errors/lang/Specs.cpp:58:6
//    58 |   run({.grid_spec = pl::GridSpec{.grid = {8}, .in_specs = {kRows}, .out_specs = {kRows}}, .grid = {8}});
//       |      ^
//   need: `grid` in one place
//   have: the call has both it and a grid_spec
//   help: move it into the grid_spec
WRONG_PROGRAM(grid_given_twice) {
  run({.grid_spec = pl::GridSpec{.grid = {8}, .in_specs = {kRows}, .out_specs = {kRows}}, .grid = {8}});
}

// error[SM6204]: If `grid_spec` is specified, then `scratch_shapes` must be empty
//   --> test/errors/lang/Specs.cpp:69:6
//    69 |   run({.grid_spec = pl::GridSpec{.grid = {8}}, .scratch_shapes = {pl::vmem({8, 128}, pl::f32)}});
//       |      ^
//   need: `scratch_shapes` in one place
//   have: the call has both it and a grid_spec
//   help: move it into the grid_spec
WRONG_PROGRAM(scratch_given_twice) {
  run({.grid_spec = pl::GridSpec{.grid = {8}}, .scratch_shapes = {pl::vmem({8, 128}, pl::f32)}});
}

// error[SM6204]: If `grid_spec` is specified, then `num_scalar_prefetch` must be empty
//   --> test/errors/lang/Specs.cpp:79:42
//    79 | WRONG_PROGRAM(prefetch_given_twice) { run({.grid_spec = pl::GridSpec{.grid = {8}}, .num_scalar_prefetch = 1}); }
//       |                                          ^
//   need: `num_scalar_prefetch` in one place
//   have: the call has both it and a grid_spec
//   help: move it into the grid_spec
WRONG_PROGRAM(prefetch_given_twice) { run({.grid_spec = pl::GridSpec{.grid = {8}}, .num_scalar_prefetch = 1}); }

// error[SM6202]: a grid axis is negative
//   --> test/errors/lang/Specs.cpp:88:35
//    88 | WRONG_PROGRAM(negative_grid) { run({.grid = {8, -1}}); }
//       |                                   ^
//   need: sizes of at least 0
//   have: -1
//   help: check how the grid is computed
WRONG_PROGRAM(negative_grid) { run({.grid = {8, -1}}); }

// error[SM6202]: a grid axis is too long
//   --> test/errors/lang/Specs.cpp:97:41
//    97 | WRONG_PROGRAM(grid_beyond_32_bits) { run({.grid = {int64_t{1} << 40}, .in_specs = {kRows}, .out_specs = {kRows}}); }
//       |                                         ^
//   need: sizes below 2^31: program_id is an i32
//   have: 1099511627776
//   help: make the blocks larger
WRONG_PROGRAM(grid_beyond_32_bits) { run({.grid = {int64_t{1} << 40}, .in_specs = {kRows}, .out_specs = {kRows}}); }

// error[SM6202]: two grid axes are named 'i'
//   --> test/errors/lang/Specs.cpp:106:38
//   106 | WRONG_PROGRAM(axes_of_one_name) { run({.grid = {{"i", 2}, {"i", 4}}}); }
//       |                                      ^
//   need: a name of its own for each axis
//   have: 'i' twice
//   help: rename one of them
WRONG_PROGRAM(axes_of_one_name) { run({.grid = {{"i", 2}, {"i", 4}}}); }

// error[SM6202]: Grid must be integers or i32 scalar arrays
//   --> test/errors/lang/Specs.cpp:116:6
//   116 |   run({.grid = {pl::full({}, 8.0f)}, .in_specs = {kRows}, .out_specs = {kRows}});
//       |      ^
//   need: i32[]
//   have: f32[]
//   help: convert it: astype(n, i32); an axis per entry
WRONG_PROGRAM(dynamic_grid_of_floats) {
  run({.grid = {pl::full({}, 8.0f)}, .in_specs = {kRows}, .out_specs = {kRows}});
}

// error[SM6202]: Grid must be integers or i32 scalar arrays
//   --> test/errors/lang/Specs.cpp:126:46
//   126 | WRONG_PROGRAM(dynamic_grid_of_a_vector) { run({.grid = {pl::arange(8)}, .in_specs = {kRows}, .out_specs = {kRows}}); }
//       |                                              ^
//   need: i32[]
//   have: i32[8]
//   help: convert it: astype(n, i32); an axis per entry
WRONG_PROGRAM(dynamic_grid_of_a_vector) { run({.grid = {pl::arange(8)}, .in_specs = {kRows}, .out_specs = {kRows}}); }

// error[SM6203]: the call has fewer operands than scalar-prefetch operands
//   --> test/errors/lang/Specs.cpp:135:49
//   135 | WRONG_PROGRAM(more_prefetch_than_operands) { run({.num_scalar_prefetch = 2}); }
//       |                                                 ^
//   need: num_scalar_prefetch from 0 to 1, the operands of the call
//   have: 2
//   help: pass the scalar-prefetch arrays first
WRONG_PROGRAM(more_prefetch_than_operands) { run({.num_scalar_prefetch = 2}); }

// error[SM6203]: the call has fewer operands than scalar-prefetch operands
//   --> test/errors/lang/Specs.cpp:144:39
//   144 | WRONG_PROGRAM(negative_prefetch) { run({.num_scalar_prefetch = -1}); }
//       |                                       ^
//   need: num_scalar_prefetch from 0 to 1, the operands of the call
//   have: -1
//   help: pass the scalar-prefetch arrays first
WRONG_PROGRAM(negative_prefetch) { run({.num_scalar_prefetch = -1}); }

// error[SM6205]: Length of grid does not match length of dimension semantics. len(grid)=1, len(dimension_semantics)=2
//   --> test/errors/lang/Specs.cpp:154:6
//   154 |   run({.grid = {8},
//       |      ^
//   need: 1 entry
//   have: 2
//   help: give one of parallel, arbitrary per grid axis
WRONG_PROGRAM(semantics_for_more_axes) {
  run({.grid = {8},
       .in_specs = {kRows},
       .out_specs = {kRows},
       .compiler_params = {.dimension_semantics = {pl::parallel, pl::arbitrary}}});
}

// error[SM6207]: Unsupported block dimension type: BoundedSlice for input 0
//   --> test/errors/lang/Specs.cpp:169:102
//   169 |        .in_specs = {pl::BlockSpec{{pl::BoundedSlice{8}, 128}, [](auto i) { return std::tuple{i, 0}; }}},
//       |                                                                                                      ^
//   need: an integer, squeezed or Element
//   have: BoundedSlice
//   help: BoundedSlice is for emit_pipeline
WRONG_PROGRAM(bounded_slice_outside_a_pipeline) {
  run({.grid = {8},
       .in_specs = {pl::BlockSpec{{pl::BoundedSlice{8}, 128}, [](auto i) { return std::tuple{i, 0}; }}},
       .out_specs = {kRows}});
}

// error[SM6207]: the block of input 0 has no elements along axis 0
//   --> test/errors/lang/Specs.cpp:181:104
//   181 |   run({.grid = {8}, .in_specs = {pl::BlockSpec{{64 / 128, 128}, [](auto i) { return std::tuple{i, 0}; }}}});
//       |                                                                                                        ^
//   need: sizes of at least 1
//   have: 0
//   help: check how the block size is computed
WRONG_PROGRAM(block_without_elements) {
  run({.grid = {8}, .in_specs = {pl::BlockSpec{{64 / 128, 128}, [](auto i) { return std::tuple{i, 0}; }}}});
}

// error[SM6207]: All block dimensions of input 0 must be Elements or none of them can be Elements
//   --> test/errors/lang/Specs.cpp:193:101
//   193 |        .in_specs = {pl::BlockSpec{{pl::Element{8}, 128}, [](auto i) { return std::tuple{i * 8, 0}; }}},
//       |                                                                                                     ^
//   need: Element for each axis that is not squeezed
//   have: Element and block sizes mixed
//   help: write Element{size} for the others too, and return element offsets from the index map
WRONG_PROGRAM(element_beside_block_sizes) {
  run({.grid = {8},
       .in_specs = {pl::BlockSpec{{pl::Element{8}, 128}, [](auto i) { return std::tuple{i * 8, 0}; }}},
       .out_specs = {kRows}});
}

// error[SM6209]: input 0 is in memory space ANY: its block must be the whole array
//   --> test/errors/lang/Specs.cpp:206:117
//   206 |        .in_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i, 0}; }, {.memory_space = pl::any_space}}},
//       |                                                                                                                     ^
//   need: block shape [64, 128] and no index map
//   have: a block shape or an index map
//   help: use BlockSpec(any_space), and copy parts of it with make_async_copy
WRONG_PROGRAM(blocks_of_an_any_operand) {
  run({.grid = {8},
       .in_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i, 0}; }, {.memory_space = pl::any_space}}},
       .out_specs = {kRows}});
}

// error[SM6208]: input 0: Only single (1) and double (2) buffering are supported. Got 3
//   --> test/errors/lang/Specs.cpp:219:97
//   219 |            {8, 128}, [](auto i) { return std::tuple{i, 0}; }, {.pipeline_mode = pl::Buffered{3}}}},
//       |                                                                                                 ^
//   need: Buffered{1} or Buffered{2}; revisit any with Buffered{1}
//   help: deeper buffering and lookahead are for emit_pipeline
WRONG_PROGRAM(three_buffers) {
  run({.grid = {8},
       .in_specs = {pl::BlockSpec{
           {8, 128}, [](auto i) { return std::tuple{i, 0}; }, {.pipeline_mode = pl::Buffered{3}}}},
       .out_specs = {kRows}});
}

// error[SM6208]: input 0: Lookahead is not supported by the pipeline of a pallas_call
//   --> test/errors/lang/Specs.cpp:233:108
//   233 |                                   {.pipeline_mode = pl::Buffered{.buffer_count = 2, .use_lookahead = true}}}},
//       |                                                                                                            ^
//   need: Buffered{1} or Buffered{2}; revisit any with Buffered{1}
//   help: deeper buffering and lookahead are for emit_pipeline
WRONG_PROGRAM(lookahead_outside_a_pipeline) {
  run({.grid = {8},
       .in_specs = {pl::BlockSpec{{8, 128},
                                  [](auto i) { return std::tuple{i, 0}; },
                                  {.pipeline_mode = pl::Buffered{.buffer_count = 2, .use_lookahead = true}}}},
       .out_specs = {kRows}});
}

// error[SM6208]: output 0: RevisitMode any is not supported with double buffering
//   --> test/errors/lang/Specs.cpp:248:100
//   248 |                                    {.pipeline_mode = pl::Buffered{.revisit = pl::RevisitMode::any}}}}});
//       |                                                                                                    ^
//   need: Buffered{1} or Buffered{2}; revisit any with Buffered{1}
//   help: deeper buffering and lookahead are for emit_pipeline
WRONG_PROGRAM(revisit_with_double_buffering) {
  run({.grid = {8},
       .in_specs = {kRows},
       .out_specs = {pl::BlockSpec{{8, 128},
                                   [](auto i) { return std::tuple{i, 0}; },
                                   {.pipeline_mode = pl::Buffered{.revisit = pl::RevisitMode::any}}}}});
}

// error[SM6211]: Non-trivial windowing is not supported for grid-free pallas_call: input 0
//   --> test/errors/lang/Specs.cpp:11:76
//    11 | const pl::BlockSpec kRows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
//       |                                                                            ^
//   need: block shape [64, 128]
//   have: a part of the array
//   help: give the call a grid
WRONG_PROGRAM(blocks_without_a_grid) { run({.in_specs = {kRows}}); }

// error[SM6212]: the index map of input 0 takes the wrong number of arguments
//   --> test/errors/lang/Specs.cpp:270:92
//   270 |        .in_specs = {pl::BlockSpec{{8, 128}, [](auto i, auto j) { return std::tuple{i, j}; }}},
//       |                                                                                            ^
//    in the index map of input 0 in kernel 'kernel'
//   need: 1 grid index
//   have: 2 arguments
//   help: an index map takes every grid index, then every scalar-prefetch Ref
WRONG_PROGRAM(index_map_of_another_arity) {
  run({.grid = {8},
       .in_specs = {pl::BlockSpec{{8, 128}, [](auto i, auto j) { return std::tuple{i, j}; }}},
       .out_specs = {kRows}});
}

// error[SM6212]: the index map of input 0 takes the wrong number of arguments
//   --> test/errors/lang/Specs.cpp:11:76
//    11 | const pl::BlockSpec kRows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
//       |                                                                            ^
//    in the index map of input 0 in kernel 'gather'
//   need: 1 grid index and 1 scalar-prefetch Ref
//   have: 1 argument
//   help: an index map takes every grid index, then every scalar-prefetch Ref
WRONG_PROGRAM(index_map_that_forgets_the_prefetch) {
  const auto call = pl::pallas_call([](pl::Ref order, pl::Ref x, pl::Ref o) { o[_] = x[_]; }, {.out_shape = kOut,
                                                                                               .grid = {8},
                                                                                               .in_specs = {kRows},
                                                                                               .out_specs = {kRows},
                                                                                               .num_scalar_prefetch = 1,
                                                                                               .name = "gather"});
  call(pl::arange(8), pl::zeros({64, 128}));
}

// error[SM6213]: Index map function for input 0 must return 2 values to match its block shape
//   --> test/errors/lang/Specs.cpp:301:82
//   301 |   run({.grid = {8}, .in_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return i; }}}, .out_specs = {kRows}});
//       |                                                                                  ^
//    in the index map of input 0 in kernel 'kernel'
//   need: 2 values
//   have: 1 value
//   help: return one block index per axis of the array, squeezed axes too
WRONG_PROGRAM(index_map_of_one_value) {
  run({.grid = {8}, .in_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return i; }}}, .out_specs = {kRows}});
}

// error[SM6214]: Index map function for input 0 must return integer scalars. Output[0] has type f32[]
//   --> test/errors/lang/Specs.cpp:314:88
//   314 |        .in_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i / 2, 0}; }}},
//       |                                                                                        ^
//    in the index map of input 0 in kernel 'kernel'
//   need: an integer scalar
//   have: f32[]
//   help: convert it with astype(…, i32)
WRONG_PROGRAM(index_map_of_floats) {
  run({.grid = {8},
       .in_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i / 2, 0}; }}},
       .out_specs = {kRows}});
}

// error[SM6214]: index_map of input 0 returned a slice at position 0
//   --> test/errors/lang/Specs.cpp:328:99
//   328 |        .in_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{pl::ds(i * 8, 8), 0}; }}},
//       |                                                                                                   ^
//    in the index map of input 0 in kernel 'kernel'
//   need: an integer scalar
//   have: ds(start, size)
//   help: slices are for BoundedSlice in emit_pipeline; Element takes an element offset
WRONG_PROGRAM(index_map_of_a_slice) {
  run({.grid = {8},
       .in_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{pl::ds(i * 8, 8), 0}; }}},
       .out_specs = {kRows}});
}

// error[SM6104]: the kernel captures an array constant, i32[8]
//   --> test/errors/lang/Specs.cpp:342:83
//   342 |        .in_specs = {pl::BlockSpec{{8, 128}, [=](auto i) { return std::tuple{order + i, 0}; }}},
//       |                                                                                   ^
//    in the index map of input 0 in kernel 'kernel'
//   need: scalars only; arrays reach a kernel as inputs
//   help: pass the array as an input of the pallas_call
WRONG_PROGRAM(index_map_that_captures_an_array) {
  const pl::Array order = pl::arange(8);
  run({.grid = {8},
       .in_specs = {pl::BlockSpec{{8, 128}, [=](auto i) { return std::tuple{order + i, 0}; }}},
       .out_specs = {kRows}});
}

// error[SM6217]: a grid index is indexed in an index map
//   --> test/errors/lang/Specs.cpp:356:77
//   356 |        .in_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i[0], 0}; }}},
//       |                                                                             ^
//    in the index map of input 0 in kernel 'kernel'
//   need: a scalar-prefetch Ref
//   have: a grid index, i32[]
//   help: scalar-prefetch Refs come after the grid indices: set num_scalar_prefetch
WRONG_PROGRAM(grid_index_that_is_indexed) {
  run({.grid = {8},
       .in_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i[0], 0}; }}},
       .out_specs = {kRows}});
}

// error[SM6107]: user passed in program id with axis: 1, but grid only has length: 1
//   --> test/errors/lang/Specs.cpp:370:93
//   370 |        .in_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i, pl::program_id(1)}; }}},
//       |                                                                                             ^
//    in the index map of input 0 in kernel 'kernel'
//   need: an axis from 0 to 0
//   have: axis 1
//   help: the grid's axes count from 0
WRONG_PROGRAM(index_map_that_throws_an_error) {
  run({.grid = {8},
       .in_specs = {pl::BlockSpec{{8, 128}, [](auto i) { return std::tuple{i, pl::program_id(1)}; }}},
       .out_specs = {kRows}});
}

// error[SM6210]: input_output_aliases contains the mapping '1:0' with input index 1 outside the range
//   --> test/errors/lang/Specs.cpp:381:46
//   381 | WRONG_PROGRAM(alias_of_a_missing_input) { run({.input_output_aliases = {{1, 0}}}); }
//       |                                              ^
//   need: inputs 0 to 0, outputs 0 to 0
//   have: 1:0
//   help: count operands from 0, scalar prefetch included
WRONG_PROGRAM(alias_of_a_missing_input) { run({.input_output_aliases = {{1, 0}}}); }

// error[SM6210]: input_output_aliases contains the mapping '0:1' with output index 1 outside the range
//   --> test/errors/lang/Specs.cpp:390:47
//   390 | WRONG_PROGRAM(alias_of_a_missing_output) { run({.input_output_aliases = {{0, 1}}}); }
//       |                                               ^
//   need: inputs 0 to 0, outputs 0 to 0
//   have: 0:1
//   help: count operands from 0, scalar prefetch included
WRONG_PROGRAM(alias_of_a_missing_output) { run({.input_output_aliases = {{0, 1}}}); }

// error[SM6210]: input_output_aliases contains the mapping '0:0' of arrays that differ
//   --> test/errors/lang/Specs.cpp:400:6
//   400 |   run({.out_shape = pl::ShapeDtype{{64, 128}, pl::bf16}, .input_output_aliases = {{0, 0}}});
//       |      ^
//   need: output 0 of type f32[64,128]
//   have: bf16[64,128]
//   help: an alias shares memory: give both the same shape and dtype
WRONG_PROGRAM(alias_of_another_type) {
  run({.out_shape = pl::ShapeDtype{{64, 128}, pl::bf16}, .input_output_aliases = {{0, 0}}});
}

// error[SM6210]: input_output_aliases maps two inputs to output 0
//   --> test/errors/lang/Specs.cpp:411:36
//   411 |   const auto call = pl::pallas_call([](pl::Ref x, pl::Ref y, pl::Ref o) { o[_] = x[_] + y[_]; },
//       |                                    ^
//   need: one input per output
//   have: 1:0 and another
//   help: leave one of them out
WRONG_PROGRAM(two_aliases_of_one_output) {
  const auto call = pl::pallas_call([](pl::Ref x, pl::Ref y, pl::Ref o) { o[_] = x[_] + y[_]; },
                                    {.out_shape = kOut, .input_output_aliases = {{0, 0}, {1, 0}}});
  call(pl::zeros({64, 128}), pl::zeros({64, 128}));
}
