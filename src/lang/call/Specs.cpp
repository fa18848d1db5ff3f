#include "lang/call/Specs.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Text.h"
#include "lang/trace/SourceLocationScope.h"

namespace smalti::lang {
namespace {

[[noreturn]] void givenTwice(std::string_view field) {
  refuse({.code = "SM6204",
          .message = fmt::format("If `grid_spec` is specified, then `{}` must be empty", field),
          .place = {},
          .need = fmt::format("`{}` in one place", field),
          .have = "the call has both it and a grid_spec",
          .help = "move it into the grid_spec"});
}

}  // namespace

Call merged(const Call& call) {
  if (!call.grid_spec) return call;
  Call c = call;
  const GridSpec& g = *call.grid_spec;
  if (!call.grid.empty()) givenTwice("grid");
  if (!call.in_specs.empty()) givenTwice("in_specs");
  if (!call.out_specs.empty()) givenTwice("out_specs");
  if (!call.scratch_shapes.empty()) givenTwice("scratch_shapes");
  if (call.num_scalar_prefetch != 0) givenTwice("num_scalar_prefetch");
  c.grid = g.grid;
  c.in_specs = g.in_specs;
  c.out_specs = g.out_specs;
  c.scratch_shapes = g.scratch_shapes;
  c.num_scalar_prefetch = g.num_scalar_prefetch;
  c.grid_spec.reset();
  return c;
}

void checkType(std::string_view name, const ArrayType& type) {
  if (std::any_of(type.shape.begin(), type.shape.end(), [](int64_t d) { return d < 0; }))
    refuse({.code = "SM6220",
            .message = fmt::format("{} has a negative size", name),
            .place = {},
            .need = "sizes of at least 0",
            .have = fmt::format("shape [{}]", fmt::join(type.shape, ", ")),
            .help = "check how the shape is computed"});
  if (!is_semaphore(type.dtype) && bit_width(type.dtype) > 32)
    refuse({.code = "SM6219",
            .message = fmt::format("64-bit types are not supported: {}", name),
            .place = {},
            .need = "a dtype of at most 32 bits",
            .have = type.str(),
            .help = "convert outside the kernel: astype(x, f32) or astype(x, i32)"});
}

TracedOperand resolve(std::string name, const ArrayType& array, const BlockSpec* spec, bool hasGrid, MemorySpace wanted,
                      const Location& call) {
  TracedOperand o{.name = std::move(name), .array = array};
  o.at = spec ? spec->at : call;
  SourceLocationScope place(o.at);
  MemorySpace space = spec ? spec->memory_space : MemorySpace::unspecified;
  if (space == MemorySpace::unspecified) space = wanted;
  if (space == MemorySpace::unspecified) space = is_semaphore(array.dtype) ? MemorySpace::semaphore : MemorySpace::vmem;
  o.space = space;
  checkType(o.name, array);
  if (array.shape.empty() && space == MemorySpace::vmem)
    refuse({.code = "SM6218",
            .message = fmt::format("The Pallas TPU lowering supports only blocks of rank >= 1: {}", o.name),
            .place = {},
            .need = "an array with axes, or a scalar in SMEM",
            .have = fmt::format("{} in VMEM", array.str()),
            .help = "pass the scalar in SMEM with BlockSpec(smem) and read it as x[_], or pass it by scalar prefetch"});
  if (spec && spec->block_shape)
    o.block = *spec->block_shape;
  else
    o.block.assign(array.shape.begin(), array.shape.end());
  if (o.block.size() != array.shape.size())
    refuse({.code = "SM6206",
            .message =
                fmt::format("Block shape for {} must have the same number of dimensions as the array shape", o.name),
            .place = {},
            .need = fmt::format("{}, for array shape [{}]", counted(array.shape.size(), "dimension"),
                                fmt::join(array.shape, ", ")),
            .have = counted(o.block.size(), "dimension"),
            .help = "give one size per axis of the array; squeezed takes an axis away"});
  bool elements = false, blocks = false, trivial = true;
  for (size_t i = 0; i < o.block.size(); ++i) {
    const BlockDim& d = o.block[i];
    elements = elements || d.kind == BlockDim::Kind::element;
    blocks = blocks || d.kind == BlockDim::Kind::blocked;
    trivial = trivial && d.kind == BlockDim::Kind::blocked && d.size == array.shape[i];
    if (d.kind == BlockDim::Kind::bounded)
      refuse({.code = "SM6207",
              .message = fmt::format("Unsupported block dimension type: BoundedSlice for {}", o.name),
              .place = {},
              .need = "an integer, squeezed or Element",
              .have = "BoundedSlice",
              .help = "BoundedSlice is for emit_pipeline"});
    if (d.kind != BlockDim::Kind::squeezed && d.size <= 0 && array.shape[i] > 0)
      refuse({.code = "SM6207",
              .message = fmt::format("the block of {} has no elements along axis {}", o.name, i),
              .place = {},
              .need = "sizes of at least 1",
              .have = fmt::format("{}", d.size),
              .help = "check how the block size is computed"});
  }
  if (elements && blocks)
    refuse(
        {.code = "SM6207",
         .message = fmt::format("All block dimensions of {} must be Elements or none of them can be Elements", o.name),
         .place = {},
         .need = "Element for each axis that is not squeezed",
         .have = "Element and block sizes mixed",
         .help = "write Element{size} for the others too, and return element offsets from the index map"});
  const bool unwindowed = space == MemorySpace::any || space == MemorySpace::hbm || space == MemorySpace::host ||
                          space == MemorySpace::semaphore;
  if (unwindowed && (!trivial || (spec && spec->index_map)))
    refuse({.code = "SM6209",
            .message = fmt::format("{} is in memory space {}: its block must be the whole array", o.name,
                                   space == MemorySpace::any   ? "ANY"
                                   : space == MemorySpace::hbm ? "HBM"
                                                               : "HOST or SEMAPHORE"),
            .place = {},
            .need = fmt::format("block shape [{}] and no index map", fmt::join(array.shape, ", ")),
            .have = "a block shape or an index map",
            .help = "use BlockSpec(any_space), and copy parts of it with make_async_copy"});
  if (!hasGrid && !trivial)
    refuse({.code = "SM6211",
            .message = fmt::format("Non-trivial windowing is not supported for grid-free pallas_call: {}", o.name),
            .place = {},
            .need = fmt::format("block shape [{}]", fmt::join(array.shape, ", ")),
            .have = "a part of the array",
            .help = "give the call a grid"});
  o.windowed = hasGrid && !unwindowed;
  if (spec && spec->pipeline_mode) {
    const Buffered& m = *spec->pipeline_mode;
    std::string wrong;
    if (m.buffer_count != 1 && m.buffer_count != 2)
      wrong = fmt::format("Only single (1) and double (2) buffering are supported. Got {}", m.buffer_count);
    else if (m.use_lookahead)
      wrong = "Lookahead is not supported by the pipeline of a pallas_call";
    else if (m.revisit == RevisitMode::any && m.buffer_count == 2)
      wrong = "RevisitMode any is not supported with double buffering";
    if (!wrong.empty())
      refuse({.code = "SM6208",
              .message = fmt::format("{}: {}", o.name, wrong),
              .place = {},
              .need = "Buffered{1} or Buffered{2}; revisit any with Buffered{1}",
              .help = "deeper buffering and lookahead are for emit_pipeline"});
    o.pipelineMode = m;
  }
  return o;
}

std::vector<Alias> resolveAliases(const Call& call, std::span<const ArrayType> operands, int numDynamicBounds) {
  std::vector<Alias> aliases;
  for (const auto& [input, output] : call.input_output_aliases) {
    const bool inputOk = input >= 0 && input < static_cast<int>(operands.size());
    const bool outputOk = output >= 0 && output < static_cast<int>(call.out_shape.size());
    if (!inputOk || !outputOk)
      refuse({.code = "SM6210",
              .message =
                  fmt::format("input_output_aliases contains the mapping '{}:{}' with {} index {} outside the range",
                              input, output, inputOk ? "output" : "input", inputOk ? output : input),
              .place = {},
              .need = fmt::format("inputs 0 to {}, outputs 0 to {}", static_cast<int>(operands.size()) - 1,
                                  static_cast<int>(call.out_shape.size()) - 1),
              .have = fmt::format("{}:{}", input, output),
              .help = "count operands from 0, scalar prefetch included"});
    if (operands[input] != call.out_shape[output].type())
      refuse({.code = "SM6210",
              .message =
                  fmt::format("input_output_aliases contains the mapping '{}:{}' of arrays that differ", input, output),
              .place = {},
              .need = fmt::format("output {} of type {}", output, operands[input].str()),
              .have = call.out_shape[output].type().str(),
              .help = "an alias shares memory: give both the same shape and dtype"});
    if (std::any_of(aliases.begin(), aliases.end(), [&](const Alias& a) { return a.output == output; }))
      refuse({.code = "SM6210",
              .message = fmt::format("input_output_aliases maps two inputs to output {}", output),
              .place = {},
              .need = "one input per output",
              .have = fmt::format("{}:{} and another", input, output),
              .help = "leave one of them out"});
    aliases.push_back({output, input + numDynamicBounds});
  }
  return aliases;
}

}  // namespace smalti::lang
