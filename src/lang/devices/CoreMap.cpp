#include "smalti/core_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Text.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/trace/Trace.h"

namespace smalti {
namespace {

using lang::SourceLocationScope;

[[noreturn]] void refuseCores(std::string message, std::string need, std::string have, std::string help) {
  lang::refuse({.code = "SM6235",
                .message = std::move(message),
                .place = {},
                .need = std::move(need),
                .have = std::move(have),
                .help = std::move(help)});
}

void checkCores(const CoreMesh& mesh, const CompilerParams& params) {
  if (mesh.num_cores < 1 || mesh.axis_name.empty())
    refuseCores("a mesh of cores has a name and one core or more", "a CoreMesh like {\"core\", 2}",
                fmt::format("{{\"{}\", {}}}", mesh.axis_name, mesh.num_cores), "a chip has one or two TensorCores");
  if (!params.dimension_semantics.empty())
    refuseCores("dimension_semantics must be left out for a mesh of cores", "none",
                fmt::format("{}", params.dimension_semantics.size()), "the mesh is the only axis, and is `parallel`");
}

/// The cores are a grid axis.
Call overCores(const CoreMesh& mesh, CompilerParams params) {
  Call call;
  call.grid = {GridDim(mesh.axis_name, mesh.num_cores)};
  call.compiler_params = std::move(params);
  call.compiler_params.dimension_semantics = {parallel};
  call.memory_space = MemorySpace::any;
  return call;
}

/// Where ops are recorded: the trace and its block; null: they are evaluated immediately.
using Recording = std::pair<const lang::Trace*, int>;
Recording currentRecording() {
  const lang::Trace* trace = lang::Trace::current();
  return {trace, trace ? trace->innermostBlock() : 0};
}

/// A run_state: Refs that its function was given, which stand for those of each kernel while that is traced.
struct State {
  std::vector<std::shared_ptr<detail::RefNode>> refs;
  std::vector<Array> values;
  Recording madeIn = currentRecording();
};
constinit thread_local State* tState = nullptr;

struct StateScope {
  explicit StateScope(State& state) : before(std::exchange(tState, &state)) {}
  ~StateScope() { tState = before; }
  State* before;
};

/// While a kernel is traced, the Refs of the run_state are its inputs, whose memory its outputs share.
struct InKernel {
  InKernel(const State& state, const std::vector<Ref>& kernel) : state(state) {
    for (size_t i = 0; i < state.refs.size(); ++i) *state.refs[i] = *kernel[i].node();
  }
  ~InKernel() {
    for (const auto& ref : state.refs) ref->trace = 0;
  }
  const State& state;
};

}  // namespace

PallasCall kernel(Kernel body, CoreKernel arguments, Location at) {
  SourceLocationScope place(at);
  checkCores(arguments.mesh, arguments.compiler_params);
  Call call = overCores(arguments.mesh, std::move(arguments.compiler_params));
  call.out_shape = std::move(arguments.out_shape);
  for (ShapeDtype& out : call.out_shape)
    if (out.memory_space == MemorySpace::unspecified) out.memory_space = MemorySpace::any;
  call.scratch_shapes = std::move(arguments.scratch_shapes);
  call.name = std::move(arguments.name);
  call.cost_estimate = arguments.cost_estimate;
  call.metadata = std::move(arguments.metadata);
  return pallas_call(std::move(body), std::move(call), at);
}

void core_map(const CoreMesh& mesh, const std::function<void()>& body, const CompilerParams& params, Location at) {
  std::vector<Operand> operands;
  Call call;
  State* state = tState;
  {
    SourceLocationScope place(at);
    const lang::Trace* trace = lang::Trace::current();
    const bool inKernel = trace && trace->kind() == lang::Trace::Kind::kernel;
    if (!state || inKernel)
      refuseCores("a core_map is called outside a run_state", "a call in the function of a run_state, outside kernels",
                  inKernel ? trace->what() : "no run_state", "run_state(f, {arrays}) gives f the Refs");
    // What it stores would be a value of that function: the run_state has no way to it.
    if (state->madeIn != currentRecording())
      refuseCores("a core_map is called in a traced loop, branch or function inside its run_state",
                  "a call in the function of the run_state itself",
                  fmt::format("a call in another part of {}", trace->what()),
                  "put the loop into the core_map's function, or the run_state into the loop's");
    checkCores(mesh, params);
    call = overCores(mesh, params);
    for (size_t i = 0; i < state->values.size(); ++i) {
      const Array& value = state->values[i];
      operands.emplace_back(value, at);
      ShapeDtype out{value.shape(), value.dtype()};
      out.memory_space = MemorySpace::any;
      call.out_shape.push_back(std::move(out));
      call.input_output_aliases[static_cast<int>(i)] = static_cast<int>(i);
    }
    call.name = "core_map";
  }
  const Kernel onCore(
      [&](const std::vector<Ref>& refs) {
        const InKernel bound(*state, refs);
        body();
      },
      at);
  const Results results = pallas_call(onCore, std::move(call), at).run(operands);
  state->values.assign(results.begin(), results.end());
}

std::vector<Array> run_state(const Kernel& f, const std::vector<Operand>& arrays, Location at) {
  State state;
  std::vector<Ref> refs;
  for (const Operand& o : arrays) {
    state.values.push_back(o.array());
    state.refs.push_back(std::make_shared<detail::RefNode>(detail::RefNode{0, -1, o.array().type(), MemorySpace::any}));
    refs.emplace_back(state.refs.back());
  }
  const StateScope scope(state);
  if (!f(refs)) {
    SourceLocationScope place(at);
    refuseCores("the function of a run_state takes the wrong number of Refs", counted(refs.size(), "Ref"),
                fmt::format("a function of {}", fmt::join(f.arities(), " or ")), "it takes a Ref for each array");
  }
  return std::move(state.values);
}

}  // namespace smalti
