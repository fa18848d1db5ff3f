// Runs a Program: plain ops on each device in turn, kernels and collectives on all devices at once, op by op.
#pragma once

#include <memory>
#include <unordered_map>

#include "driver/processes/ProcessGroup.h"
#include "driver/program/DevicePlan.h"
#include "driver/program/DirectCollective.h"
#include "driver/program/RunProgram.h"
#include "driver/program/Steps.h"

namespace smalti::driver {

/// A Program with the facts that are known before it runs.
class CompiledProgram {
 public:
  std::shared_ptr<const Program> program;
  std::shared_ptr<const TargetProgram> whole;  ///< null: the runner goes op by op, with what follows
  std::vector<std::shared_ptr<const TargetKernel>> kernels;
  Numerics numerics = Numerics::f32;       ///< of plain array ops
  std::vector<bool> namesDevices;          ///< by kernel: its devices run it together, wherever they are
  DevicePlans plans;                       ///< of ops between devices
  std::string identity;                    ///< of a program that processes share (ProgramIdentity.h)
  ProcessGroup* group = nullptr;           ///< of processes that share the meshes; null: all devices are here
  std::optional<DirectCollective> direct;  ///< all that main does
  int soleKernel = -1;                     ///< all that main does is to call it; -1: it does more
  std::vector<Function> inlined;           ///< functions in place of the program's; empty: those of the program
  std::unordered_map<std::string_view, const Function*> functions;
  const Function& main() const { return *functions.at(program->functions[static_cast<size_t>(program->main)].name); }
  ProgramSteps steps;
  const TargetKernel* sole() const { return soleKernel < 0 ? nullptr : kernels[static_cast<size_t>(soleKernel)].get(); }
};

/// One device that runs the same ops as the others: its values, and where it stands in the mesh.
struct DeviceState {
  int64_t device = 0;
  const Coordinates* coordinates = nullptr;  ///< of the mesh axes that are manual here
  std::vector<Array> values;                 ///< by ValueId of the function being run
};

/// An error of the sole kernel, with the op that calls it.
Diagnostic ofSoleKernel(const CompiledProgram&, Diagnostic);

/// Devices at these positions hold the same part of a result of a shard_map, and have computed different elements.
Diagnostic copiesDiffer(const Op&, size_t result, const Coordinates&, const Coordinates& other);

class ProgramRunner {
 public:
  ProgramRunner(const CompiledProgram& compiled, const ExecuteSettings& settings)
      : compiled_(compiled), program_(*compiled.program), settings_(settings) {}
  Result<RunOutcome> run(std::vector<Array> arguments);

  using DeviceStates = std::span<DeviceState*>;
  /// The function that runs an op of that name; null: it is a collective or an op on arrays.
  static Status (ProgramRunner::* runnerOf(std::string_view op))(const Function&, const Step&, DeviceStates);
  Status runGroup(const Function&, const Step&, DeviceStates);
  Status runStepKernel(const Function&, const Step&, DeviceStates);

 private:
  /// The results of each device.
  using Returned = Result<std::vector<std::vector<Array>>>;

  Returned runFunction(const Function&, std::vector<DeviceState> states, std::vector<std::vector<Array>> arguments);
  Returned runOps(const Function&, const std::vector<Op>&, DeviceStates);
  Returned runBlock(const Function&, const Block&, DeviceStates, std::vector<std::vector<Array>> arguments);
  Status runStep(const Function&, const Step&, DeviceStates);
  /// On the first device, for all.
  Status runOnce(const Function&, const Step&, DeviceStates);
  Status runPlain(const Function&, const Step&, DeviceStates);
  Status runKernel(const Function&, const Step&, DeviceStates);
  Status runCall(const Function&, const Step&, DeviceStates);
  Status runBranches(const Function&, const Step&, DeviceStates);
  Status runWhile(const Function&, const Step&, DeviceStates);
  Status runSame(const Function&, const Step&, DeviceStates);
  // Collective.cpp
  Status runCollective(const Function&, const Step&, DeviceStates);
  /// All devices are here, and each receives what all send.
  Status runAmongAll(const Function&, const Step&, const CollectivePlan&, DeviceStates);
  // ManualComputation.cpp
  Status runManual(const Function&, const Step&, DeviceStates);
  // SharedProgram.cpp
  /// The devices of a mesh that this process runs: all of them, unless processes share them (SM5013).
  Result<DeviceShare> shareOfMesh(const DeviceMesh&, const Op&, DeviceStates) const;
  /// [device] the operands of a collective; none of devices that did not arrive, or from which no device here receives.
  using SentByDevice = std::vector<std::optional<std::vector<Array>>>;
  /// Adds what devices of other processes send.
  Status gatherSent(const Function&, const Op&, const Exchange&, SentByDevice&);
  /// [device][result]: adds the first of each part, of devices of other processes.
  Status gatherReturned(const Op&, const ManualPlan&, std::vector<std::vector<Array>>& returned);
  Result<machine::KernelResult> callKernel(int kernel, std::span<const std::vector<Array>> operands);

  /// Threads for what devices give each other.
  plain::ShareWork shareWork() const;
  /// The operands; those that die at this op are moved out of its values.
  static std::vector<Array> takeOperands(const Step&, DeviceState&);
  static void takeOperands(const Step&, DeviceState&, std::vector<Array>& into);
  /// The operands of each device, in memory that is used again by the next op.
  std::vector<std::vector<Array>>& takeAllOperands(const Step&, DeviceStates);
  static void store(const Step&, DeviceState&, std::vector<Array> results);
  static void release(const Step&, DeviceStates);

  const CompiledProgram& compiled_;
  const Program& program_;
  const ExecuteSettings& settings_;
  RunOutcome outcome_;
  size_t allDevices_ = 1;      ///< devices of the innermost manual computation's mesh
  bool allAxesManual_ = true;  ///< whether it makes every axis of the mesh manual
  std::optional<SharedRun> shared_;
  DeviceShare share_{0, 1};                   ///< those of allDevices_ that this process runs
  std::vector<std::vector<Array>> operands_;  ///< takeAllOperands
};

}  // namespace smalti::driver
