#include "lang/call/TraceKernel.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Lasting.h"
#include "base/Text.h"
#include "lang/call/Specs.h"
#include "lang/cost/Cost.h"
#include "lang/devices/MeshAround.h"
#include "lang/trace/SourceLocationScope.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

std::string counts(std::span<const size_t> arities) { return fmt::format("{}", fmt::join(arities, " or ")); }

/// Traces one operand's index map.
TracedFunction traceIndexMap(const TracedKernel& kernel, const TracedOperand& operand, const IndexMap& map,
                             const std::vector<std::string>& gridNames, const std::vector<MeshAxis>& mesh) {
  Trace trace(fmt::format("the index map of {} in kernel '{}'", operand.name, kernel.name));
  trace.grid = kernel.grid;
  trace.mesh = mesh;
  trace.gridNames = gridNames;
  std::vector<IndexArg> arguments;
  for (size_t i = 0; i < kernel.grid.size(); ++i) arguments.emplace_back(trace.addArgument({DType::i32, {}}));
  for (const ArrayType& t : kernel.prefetch) arguments.emplace_back(trace.addRefArgument(t, MemorySpace::smem));
  std::vector<Array> indices;
  if (map) {
    const auto entries = map(arguments);
    SourceLocationScope place(map.at);
    if (!entries)
      refuse({.code = "SM6212",
              .message = fmt::format("the index map of {} takes the wrong number of arguments", operand.name),
              .place = {},
              .need = counted(kernel.grid.size(), "grid index") +
                      (kernel.prefetch.empty() ? "" : " and " + counted(kernel.prefetch.size(), "scalar-prefetch Ref")),
              .have = map.arities().size() == 1 ? counted(map.arities()[0], "argument")
                                                : counts(map.arities()) + " arguments",
              .help = "an index map takes every grid index, then every scalar-prefetch Ref"});
    if (entries->size() != operand.block.size())
      refuse({.code = "SM6213",
              .message = fmt::format("Index map function for {} must return {} to match its block shape", operand.name,
                                     counted(operand.block.size(), "value")),
              .place = {},
              .need = counted(operand.block.size(), "value"),
              .have = counted(entries->size(), "value"),
              .help = "return one block index per axis of the array, squeezed axes too"});
    for (size_t i = 0; i < entries->size(); ++i) {
      const auto* value = std::get_if<Operand>(&(*entries)[i]);
      if (!value)
        refuse({.code = "SM6214",
                .message = fmt::format("index_map of {} returned a slice at position {}", operand.name, i),
                .place = {},
                .need = "an integer scalar",
                .have = "ds(start, size)",
                .help = "slices are for BoundedSlice in emit_pipeline; Element takes an element offset"});
      if (value->rank() != 0 || !is_integer(value->dtype()))
        refuse({.code = "SM6214",
                .message = fmt::format("Index map function for {} must return integer scalars. Output[{}] has type {}",
                                       operand.name, i, value->array().type().str()),
                .place = {},
                .need = "an integer scalar",
                .have = value->array().type().str(),
                .help = "convert it with astype(…, i32)"});
      indices.push_back(astype(*value, DType::i32));
    }
  } else {
    indices.assign(operand.block.size(), Operand(0, operand.at).array());
  }
  return trace.finish(std::move(indices));
}

void checkMesh(const std::vector<MeshAxis>& mesh, const std::vector<std::string>& gridNames) {
  for (auto axis = mesh.begin(); axis != mesh.end(); ++axis) {
    std::string wrong, help = R"(write it as .mesh = {{"x", 2}, {"y", 4}})";
    if (axis->size < 1) {
      wrong = fmt::format("mesh axis '{}' has {} devices", axis->name, axis->size);
    } else if (axis->name.empty()) {
      wrong = "a mesh axis has no name";
    } else if (std::find(gridNames.begin(), gridNames.end(), axis->name) != gridNames.end()) {
      wrong = fmt::format("Cannot shadow mesh axis names with grid names: '{}'", axis->name);
      help = "rename the grid axis";
    } else if (std::any_of(mesh.begin(), axis, [&](const MeshAxis& a) { return a.name == axis->name; })) {
      wrong = fmt::format("two mesh axes are named '{}'", axis->name);
    }
    if (!wrong.empty())
      refuse({.code = "SM6202",
              .message = std::move(wrong),
              .place = {},
              .need = "a name of its own and one device or more per axis",
              .have = fmt::format("axis {} of the mesh", axis - mesh.begin()),
              .help = std::move(help)});
  }
}

/// Inside a shard_map a kernel's devices are those of its mesh.
void takeMeshAround(Call& call) {
  const std::vector<MeshAxis>& around = meshAround();
  if (around.empty() || call.mesh == around) return;
  if (!call.mesh.empty())
    refuse({.code = "SM6202",
            .message = "a call inside a shard_map names another mesh",
            .place = {},
            .need = fmt::format("the mesh around, {}", meshText(around)),
            .have = fmt::format(".mesh = {}", meshText(call.mesh)),
            .help = "leave .mesh out: inside a shard_map it is known"});
  call.mesh = around;
}

void checkSemantics(const TracedKernel& kernel) {
  if (kernel.semantics.empty() || kernel.semantics.size() == kernel.grid.size()) return;
  refuse({.code = "SM6205",
          .message = fmt::format("Length of grid does not match length of dimension semantics. len(grid)={}, "
                                 "len(dimension_semantics)={}",
                                 kernel.grid.size(), kernel.semantics.size()),
          .place = {},
          .need = counted(kernel.grid.size(), "entry"),
          .have = fmt::format("{}", kernel.semantics.size()),
          .help = "give one of parallel, arbitrary per grid axis"});
}

void checkCount(std::string_view what, std::string_view of, size_t specs, size_t arrays) {
  if (specs == 0 || specs == arrays) return;
  refuse({.code = "SM6203",
          .message = fmt::format("`{}` and the {} do not match", what, of),
          .place = {},
          .need = fmt::format("{}, one per {}", counted(arrays, "block spec"), of == "inputs" ? "input" : "output"),
          .have = fmt::format("{}", specs),
          .help = of == "inputs"
                      ? "give one BlockSpec per array that the call is given; BlockSpec() takes the whole array"
                      : "give one BlockSpec each; BlockSpec() takes the whole array"});
}

}  // namespace

TracedKernel traceKernel(const Kernel& kernel, const Call& given, const Location& at,
                         std::span<const ArrayType> operands) {
  TracedKernel k;
  Call call;
  std::vector<std::string> names;
  {
    std::optional<SourceLocationScope> place(at);
    call = merged(given);
    takeMeshAround(call);
    k.name = call.name.empty() ? "kernel" : call.name;
    k.place = placeOf(at);
    for (const GridDim& d : call.grid) {
      if (!isDynamic(d) && d.size < 0)
        refuse({.code = "SM6202",
                .message = "a grid axis is negative",
                .place = {},
                .need = "sizes of at least 0",
                .have = fmt::format("{}", d.size),
                .help = "check how the grid is computed"});
      if (d.size > INT32_MAX)
        refuse({.code = "SM6202",
                .message = "a grid axis is too long",
                .place = {},
                .need = "sizes below 2^31: program_id is an i32",
                .have = fmt::format("{}", d.size),
                .help = "make the blocks larger"});
      if (!d.name.empty() && std::find(names.begin(), names.end(), d.name) != names.end())
        refuse({.code = "SM6202",
                .message = fmt::format("two grid axes are named '{}'", d.name),
                .place = {},
                .need = "a name of its own for each axis",
                .have = fmt::format("'{}' twice", d.name),
                .help = "rename one of them"});
      if (d.dynamic && (d.dynamic->rank() != 0 || d.dynamic->dtype() != DType::i32))
        refuse({.code = "SM6202",
                .message = "Grid must be integers or i32 scalar arrays",
                .place = {},
                .need = "i32[]",
                .have = d.dynamic->type().str(),
                .help = "convert it: astype(n, i32); an axis per entry"});
      k.grid.push_back(isDynamic(d) ? kDynamicBound : d.size);
      names.push_back(d.name);
    }
    checkMesh(call.mesh, names);
    k.semantics = call.compiler_params.dimension_semantics;
    checkSemantics(k);
    if (call.num_scalar_prefetch < 0 || call.num_scalar_prefetch > static_cast<int>(operands.size()))
      refuse({.code = "SM6203",
              .message = "the call has fewer operands than scalar-prefetch operands",
              .place = {},
              .need = fmt::format("num_scalar_prefetch from 0 to {}, the operands of the call", operands.size()),
              .have = fmt::format("{}", call.num_scalar_prefetch),
              .help = "pass the scalar-prefetch arrays first"});
    const auto prefetch = operands.first(call.num_scalar_prefetch), inputs = operands.subspan(call.num_scalar_prefetch);
    k.prefetch.assign(prefetch.begin(), prefetch.end());
    k.numInputs = static_cast<int>(inputs.size());
    checkCount("in_specs", "inputs", call.in_specs.size(), inputs.size());
    checkCount("out_specs", "outputs", call.out_specs.size(), call.out_shape.size());
    const bool hasGrid = !k.grid.empty();
    place.reset();  // a spec has its own place
    for (size_t i = 0; i < inputs.size(); ++i)
      k.operands.push_back(resolve(fmt::format("input {}", i), inputs[i],
                                   call.in_specs.empty() ? nullptr : &call.in_specs[i], hasGrid, call.memory_space,
                                   at));
    for (size_t i = 0; i < call.out_shape.size(); ++i)
      k.operands.push_back(resolve(fmt::format("output {}", i), call.out_shape[i].type(),
                                   call.out_specs.empty() ? nullptr : &call.out_specs[i], hasGrid,
                                   call.out_shape[i].memory_space, at));
    place.emplace(at);
    k.scratch = call.scratch_shapes;
    for (size_t i = 0; i < k.scratch.size(); ++i)
      checkType(fmt::format("scratch {}", i), {k.scratch[i].dtype, k.scratch[i].shape});
    for (size_t i = 0; i < prefetch.size(); ++i) checkType(fmt::format("scalar prefetch {}", i), prefetch[i]);
    k.params = call.compiler_params;
    k.metadata = call.metadata;
    k.aliases = resolveAliases(call, operands, k.numDynamicBounds());
  }
  for (size_t i = 0; i < k.operands.size(); ++i) {
    TracedOperand& o = k.operands[i];
    if (!o.windowed) continue;
    const auto& specs = static_cast<int>(i) < k.numInputs ? call.in_specs : call.out_specs;
    const size_t at_i = static_cast<int>(i) < k.numInputs ? i : i - k.numInputs;
    static constinit Lasting<const IndexMap> kZeros;
    o.indexMap = traceIndexMap(k, o, specs.empty() ? kZeros.get() : specs[at_i].index_map, names, call.mesh);
  }

  Trace trace(fmt::format("kernel '{}'", k.name));
  trace.grid = k.grid;
  trace.gridNames = names;
  trace.mesh = call.mesh;
  std::vector<Ref> refs;
  for (const ArrayType& t : k.prefetch) refs.push_back(trace.addRefArgument(t, MemorySpace::smem));
  for (const TracedOperand& o : k.operands)
    refs.push_back(trace.addRefArgument({o.array.dtype, o.refShape()}, o.space));
  for (const MemoryRef& s : k.scratch) refs.push_back(trace.addRefArgument({s.dtype, s.shape}, s.space));
  if (!kernel(refs)) {
    SourceLocationScope place(kernel.at);
    refuse({.code = "SM6215",
            .message = "the kernel takes the wrong number of Refs",
            .place = {},
            .need = fmt::format("{}: {} scalar prefetch, {}, {}, {} scratch", counted(refs.size(), "Ref"),
                                k.prefetch.size(), counted(k.numInputs, "input"),
                                counted(k.operands.size() - k.numInputs, "output"), k.scratch.size()),
            .have = fmt::format("a kernel of {}", counts(kernel.arities())),
            .help = "a kernel takes a Ref for each, in this order; inputs are the arrays it is called with"});
  }
  k.body = trace.finish();
  k.costIsGiven = call.cost_estimate.has_value();
  k.cost = call.cost_estimate ? *call.cost_estimate : estimateCost(k);
  return k;
}

}  // namespace smalti::lang
