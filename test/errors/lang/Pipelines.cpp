// What goes wrong with emit_pipeline.
#include "WrongPrograms.h"

namespace pl = smalti;
using pl::_;

namespace {

const pl::BlockSpec kRows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
const pl::BlockSpec kAny{pl::any_space};

/// A kernel over arrays of [rows, 128] in HBM.
template <class K>
void overHbm(const K& kernel, int64_t rows = 64) {
  pl::pallas_call(kernel, {.out_shape = pl::ShapeDtype{{rows, 128}, pl::f32}, .in_specs = {kAny}, .out_specs = {kAny}})(
      pl::zeros({rows, 128}));
}

void copyBody(pl::Ref x, pl::Ref o) { o[_] = x[_]; }

}  // namespace

// error[SM6520]: All elements in the grid must be strictly positive
//   --> test/errors/lang/Pipelines.cpp:33:22
//    33 |     pl::emit_pipeline(copyBody, {.grid = {8 / 16}, .in_specs = {kRows}, .out_specs = {kRows}})(x, o);
//       |                      ^
//    in kernel 'kernel'
//   need: sizes of at least 1
//   have: grid (0)
//   help: run the pipeline under when(size > 0, …), or give the size as a traced scalar
WRONG_PROGRAM(pipeline_without_steps) {
  overHbm([](pl::Ref x, pl::Ref o) {
    pl::emit_pipeline(copyBody, {.grid = {8 / 16}, .in_specs = {kRows}, .out_specs = {kRows}})(x, o);
  });
}

// error[SM6521]: the specs of emit_pipeline and its Refs do not match
//   --> test/errors/lang/Pipelines.cpp:47:22
//    47 |     pl::emit_pipeline(copyBody, {.grid = {8}, .in_specs = {kRows}, .out_specs = {kRows}})(x);
//       |                      ^
//    in kernel 'kernel'
//   need: 2 Refs: 1 in_specs, 1 out_specs
//   have: 1
//   help: give one BlockSpec per Ref; BlockSpec() takes the whole of it
WRONG_PROGRAM(pipeline_called_with_a_ref_too_few) {
  overHbm([](pl::Ref x, pl::Ref) {
    pl::emit_pipeline(copyBody, {.grid = {8}, .in_specs = {kRows}, .out_specs = {kRows}})(x);
  });
}

// error[SM6522]: Expected external window buffer to be bound for prefetched input 0
//   --> test/errors/lang/Pipelines.cpp:62:22
//    62 |     pl::emit_pipeline(copyBody, {.grid = {8}, .in_specs = {ahead}, .out_specs = {kRows}})(x, o);
//       |                      ^
//    in kernel 'kernel'
//   need: the memory into which the kernel fetched the first blocks
//   help: call with_window_ref(0, memory) of the pipeline, or leave prefetched_count out
WRONG_PROGRAM(pipeline_with_prefetched_blocks) {
  overHbm([](pl::Ref x, pl::Ref o) {
    pl::BlockSpec ahead = kRows;
    ahead.pipeline_mode = pl::Buffered{.prefetched_count = 1};
    pl::emit_pipeline(copyBody, {.grid = {8}, .in_specs = {ahead}, .out_specs = {kRows}})(x, o);
  });
}

// error[SM6522]: output 0: Output buffering does not support lookahead
//   --> test/errors/lang/Pipelines.cpp:9:76
//     9 | const pl::BlockSpec kRows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
//       |                                                                            ^
//    in kernel 'kernel'
//   need: Buffered{n} with n >= 1; lookahead, and prefetched_count up to n, for inputs that are copied
//   help: leave pipeline_mode out for double buffering
WRONG_PROGRAM(pipeline_whose_output_looks_ahead) {
  overHbm([](pl::Ref x, pl::Ref o) {
    pl::BlockSpec ahead = kRows;
    ahead.pipeline_mode = pl::Buffered{.use_lookahead = true};
    pl::emit_pipeline(copyBody, {.grid = {8}, .in_specs = {kRows}, .out_specs = {ahead}})(x, o);
  });
}

// error[SM6523]: the index map of input 0 takes the wrong number of arguments
//   --> test/errors/lang/Pipelines.cpp:9:76
//     9 | const pl::BlockSpec kRows{{8, 128}, [](auto i) { return std::tuple{i, 0}; }};
//       |                                                                            ^
//    in kernel 'kernel'
//   need: 2 grid indices
//   have: 1 argument
//   help: an index map of a pipeline takes every index of its grid, and captures Refs
WRONG_PROGRAM(pipeline_index_map_of_another_grid) {
  overHbm([](pl::Ref x, pl::Ref o) {
    pl::emit_pipeline(copyBody, {.grid = {8, 1}, .in_specs = {kRows}, .out_specs = {kRows}})(x, o);
  });
}

// error[SM6524]: You cannot request HBM block spec for a non-HBM source: input 0
//    in kernel 'kernel'
//   need: a Ref in HBM or ANY
//   help: leave the memory space of the spec out for VMEM
WRONG_PROGRAM(pipeline_window_in_hbm_of_a_vmem_ref) {
  pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        pl::BlockSpec stays = kRows;
        stays.memory_space = pl::hbm;
        pl::emit_pipeline(copyBody, {.grid = {8}, .in_specs = {stays}, .out_specs = {kRows}})(x, o);
      },
      {.out_shape = pl::ShapeDtype{{64, 128}, pl::f32}})(pl::zeros({64, 128}));
}

// error[SM6525]: Block size must divide tiling along axis 0 of input 0
//   --> test/errors/lang/Pipelines.cpp:119:80
//   119 |     const pl::BlockSpec rows{{12, 128}, [](auto i) { return std::tuple{i, 0}; }};
//       |                                                                                ^
//    in kernel 'kernel'
//   need: a multiple of 8, or a divisor of 64
//   have: 12
//   help: blocks at the edge are copied in whole tiles
WRONG_PROGRAM(pipeline_blocks_that_are_no_whole_tiles) {
  overHbm([](pl::Ref x, pl::Ref o) {
    const pl::BlockSpec rows{{12, 128}, [](auto i) { return std::tuple{i, 0}; }};
    pl::emit_pipeline(copyBody, {.grid = {6}, .in_specs = {rows}, .out_specs = {rows}})(x, o);
  });
}

// error[SM6526]: the body of emit_pipeline takes the wrong number of Refs
//   --> test/errors/lang/Pipelines.cpp:134:22
//   134 |     pl::emit_pipeline([](pl::Ref x, pl::Ref o, pl::Ref acc) { o[_] = x[_] + acc[_]; },
//       |                      ^
//    in kernel 'kernel'
//   need: 2: 1 input, 1 output, 0 of scratch
//   have: 3
//   help: the body takes a Ref for each, in this order
WRONG_PROGRAM(pipeline_body_with_a_ref_too_many) {
  overHbm([](pl::Ref x, pl::Ref o) {
    pl::emit_pipeline([](pl::Ref x, pl::Ref o, pl::Ref acc) { o[_] = x[_] + acc[_]; },
                      {.grid = {8}, .in_specs = {kRows}, .out_specs = {kRows}})(x, o);
  });
}

// error[SM6527]: the allocations are not those of this pipeline
//   --> test/errors/lang/Pipelines.cpp:151:37
//   151 |     const auto b = pl::emit_pipeline(copyBody, {.grid = {4}, .in_specs = {small}, .out_specs = {small}});
//       |                                     ^
//    in kernel 'kernel'
//   need: f32[2,16,128] in vmem for allocation 0
//   have: f32[2,8,128] in vmem
//   help: allocate with run_scoped(body, pipeline.make_allocations(refs…)), or memory() of a BufferedRef, and pass what the body gets
WRONG_PROGRAM(pipeline_in_the_memory_of_another) {
  overHbm([](pl::Ref x, pl::Ref o) {
    const pl::BlockSpec small{{16, 128}, [](auto i) { return std::tuple{i, 0}; }};
    const auto a = pl::emit_pipeline(copyBody, {.grid = {8}, .in_specs = {kRows}, .out_specs = {kRows}});
    const auto b = pl::emit_pipeline(copyBody, {.grid = {4}, .in_specs = {small}, .out_specs = {small}});
    pl::run_scoped([&](const std::vector<pl::Ref>& memory) { b.with_allocations(memory)(x, o); },
                   a.make_allocations(x, o));
  });
}

// error[SM6522]: this memory cannot be the buffer of input 0
//   --> test/errors/lang/Pipelines.cpp:169:40
//   169 |     const auto copy = pl::emit_pipeline(copyBody, {.grid = {8}, .in_specs = {ahead}, .out_specs = {kRows}});
//       |                                        ^
//    in kernel 'kernel'
//   need: f32[2,8,128] in vmem
//   have: f32[8,128] in vmem
//   help: allocate one block per buffer, in the memory of the spec
WRONG_PROGRAM(pipeline_window_of_another_shape) {
  overHbm([](pl::Ref x, pl::Ref o) {
    pl::BlockSpec ahead = kRows;
    ahead.pipeline_mode = pl::Buffered{.prefetched_count = 1};
    const auto copy = pl::emit_pipeline(copyBody, {.grid = {8}, .in_specs = {ahead}, .out_specs = {kRows}});
    pl::run_scoped([&](pl::Ref first) { copy.with_window_ref(0, first)(x, o); }, pl::vmem({8, 128}, pl::f32));
  });
}

// error[SM6522]: copy_in of a BufferedRef without memory
//   --> test/errors/lang/Pipelines.cpp:182:76
//   182 |   overHbm([](pl::Ref x, pl::Ref) { pl::BufferedRef::input(kRows, x).copy_in(x, {0}); });
//       |                                                                            ^
//    in kernel 'kernel'
//   need: the Refs that run_scoped(body, buffered.memory()) gives to its body
//   help: call with_memory(refs) there
WRONG_PROGRAM(buffered_ref_without_memory) {
  overHbm([](pl::Ref x, pl::Ref) { pl::BufferedRef::input(kRows, x).copy_in(x, {0}); });
}

// error[SM6522]: copy_in of a BufferedRef that is only an output
//   --> test/errors/lang/Pipelines.cpp:195:94
//   195 |     pl::run_scoped([&](const std::vector<pl::Ref>& memory) { rows.with_memory(memory).copy_in(x, {0}); },
//       |                                                                                              ^
//    in kernel 'kernel'
//   need: input for copies in, output for copies out
//   help: make it with BufferedRef::input_output
WRONG_PROGRAM(buffered_output_copied_in) {
  overHbm([](pl::Ref x, pl::Ref o) {
    const auto rows = pl::BufferedRef::output(kRows, o);
    pl::run_scoped([&](const std::vector<pl::Ref>& memory) { rows.with_memory(memory).copy_in(x, {0}); },
                   rows.memory());
  });
}
