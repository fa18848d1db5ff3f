// Kernels written for the cores of one chip (pl.kernel, pl.core_map over pltpu.TensorCoreMesh): the body runs once on
// each core, which uses `axis_index` to find its share of arrays that stay in HBM.
//
//   const auto twice = pl::kernel([](pl::Ref x, pl::Ref o) {
//     const pl::Array rows = pl::axis_index("core") * 8;
//     pl::emit_pipeline(…)(x.at(pl::ds(rows, 8)), o.at(pl::ds(rows, 8)));
//   }, {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32}, .mesh = {"core", 2}});
//
// A chip may have fewer cores than the mesh, or run them one after the other: as in JAX, the mesh becomes a grid axis
// that is `parallel`. `check` with `cores` 2 finds values that one core leaves for another.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "smalti/pallas_call.h"

namespace smalti {

/// pltpu.TensorCoreMesh: one axis of cores.
struct CoreMesh {
  std::string axis_name = "core";
  int64_t num_cores = 1;
};

/// The arguments of pl.kernel.
struct CoreKernel {
  OutShapes out_shape{};
  CoreMesh mesh{};
  std::vector<MemoryRef> scratch_shapes{};
  std::string name{};
  CompilerParams compiler_params{};
  std::optional<CostEstimate> cost_estimate{};
  std::map<std::string, std::string> metadata{};
};

/// A function of arrays. The body takes inputs, outputs and scratch; inputs and outputs without an explicit memory
/// space are whole arrays that stay in HBM (ANY). Error SM6235: a mesh without cores, dimension_semantics.
PallasCall kernel(Kernel body, CoreKernel arguments, Location at = Location::current());

/// pl.core_map, in the function of a run_state: the body runs on each core and works on the Refs of the run_state.
/// Error SM6235: outside a run_state, inside a kernel, or as for `kernel`.
void core_map(const CoreMesh& mesh, const std::function<void()>& body, const CompilerParams& params = {},
              Location at = Location::current());

/// pl.run_state: runs `f` on Refs initialised with these arrays, and returns their final contents. Each core_map in
/// it is one kernel, run in order. Error SM6235: f uses Refs in any other way.
std::vector<Array> run_state(const Kernel& f, const std::vector<Operand>& arrays, Location at = Location::current());

}  // namespace smalti
