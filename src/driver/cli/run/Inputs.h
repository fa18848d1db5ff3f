// Arguments of run, check and show: a module or case, arrays for its arguments, and shapes for a bare kernel.
#pragma once

#include <string>
#include <vector>

#include "driver/case/ModuleOrCase.h"
#include "driver/cli/Session.h"

namespace smalti::cli {

struct InputArguments {
  std::vector<std::string> in;        ///< "x.npy", "x.npy:bf16", or a type: "f32[8,128]"
  std::vector<std::string> outShape;  ///< "f32[8,128]"
  std::string gpuParams;              ///< of all kernels, instead of their own; empty: their own (ir/GpuParams.h)
  void declare(CLI::App&);
  /// They make a Program of a module whose arrays have unknown shapes; true if the module is one already.
  bool giveShapes(const driver::LoadedModule&) const;
  void declareGpuParams(CLI::App&);  ///< for commands that compile for GPUs
  /// SM1000: there are parameters for GPUs, but no code for them. `have`: the option that says so.
  Status checkGpuParams(bool compilesForGpus, std::string_view need, std::string have) const;
};

struct Prepared {
  driver::ModuleOrCase module;  ///< always with a Program
  std::vector<Array> inputs;
  std::vector<std::string> origins;  ///< of each input: "x.npy", "ones"
  std::optional<machine::Poison> poison;
  const Program& program() const { return *module.program; }
};

/// Loads the module and gets its inputs: from --in, otherwise from the case folder, otherwise filled according to the
/// option.
Result<Prepared> prepare(const std::string& path, const InputArguments&, const Options&);

}  // namespace smalti::cli
