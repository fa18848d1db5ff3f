// Runs a Program: plain ops on each device in turn, kernels and collectives on all devices at once, op by op.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>

#include "driver/program/RunProgram.h"
#include "plain/Collectives.h"
#include "plain/PlainEvaluators.h"

namespace smalti::driver {

/// What is known of a Program before it runs.
class CompiledProgram {
 public:
  std::shared_ptr<const Program> program;
  std::shared_ptr<const TargetProgram> whole;  ///< null: the runner goes op by op, with what follows
  std::vector<std::shared_ptr<const TargetKernel>> kernels;
  machine::Numerics numerics = machine::Numerics::f32;  ///< of plain array ops
  int soleKernel = -1;                                  ///< all that main does is to call it; -1: it does more
  std::unordered_map<std::string_view, const Function*> functions;
  /// Values whose last use is this op: their memory is given up (or reused by the op). Values that a region takes
  /// from outside live until the op that holds the region ends.
  std::unordered_map<const Op*, std::vector<ValueId>> dying;
  const TargetKernel* sole() const { return soleKernel < 0 ? nullptr : kernels[static_cast<size_t>(soleKernel)].get(); }
};

/// One device that runs the same ops as the others: its values, and where it stands in the mesh.
struct Lane {
  int64_t device = 0;
  std::map<std::string, int64_t> coordinates;  ///< of the mesh axes that are manual here
  std::vector<Array> values;                   ///< by ValueId of the function being run
};

/// An error of the sole kernel, with the op that calls it.
Diagnostic ofSoleKernel(const CompiledProgram&, Diagnostic);

class ProgramRunner {
 public:
  ProgramRunner(const CompiledProgram& compiled, const ExecuteSettings& settings)
      : compiled_(compiled), program_(*compiled.program), settings_(settings) {}
  Result<RunOutcome> run(std::vector<Array> arguments);

 private:
  using Lanes = std::span<Lane*>;
  /// What each lane's return gives.
  using Returned = Result<std::vector<std::vector<Array>>>;

  Returned runFunction(const Function&, std::vector<Lane> lanes, std::vector<std::vector<Array>> arguments);
  Returned runOps(const Function&, const std::vector<Op>&, Lanes);
  Returned runBlock(const Function&, const Block&, Lanes, std::vector<std::vector<Array>> arguments);
  Status runOp(const Function&, const Op&, Lanes);
  Status runPlain(const Function&, const Op&, Lanes, plain::PlainEvaluator);
  Status runKernel(const Op&, Lanes);
  Status runCall(const Op&, Lanes);
  Status runBranches(const Function&, const Op&, Lanes);
  Status runWhile(const Function&, const Op&, Lanes);
  // Collective.cpp
  Status runCollective(const Function&, const Op&, Lanes, plain::CollectiveEvaluator);
  // ManualComputation.cpp
  Status runManual(const Function&, const Op&, Lanes);

  /// The operands; those that die at this op are moved out of the lane.
  std::vector<Array> takeOperands(const Op&, Lane&) const;
  void store(const Op&, Lane&, std::vector<Array> results) const;
  void release(const Op&, Lanes) const;

  const CompiledProgram& compiled_;
  const Program& program_;
  const ExecuteSettings& settings_;
  RunOutcome outcome_;
  size_t allLanes_ = 1;  ///< devices of the innermost manual computation's mesh
};

/// One device's part of a global array, and the way back.
Result<Array> partOf(const Array& global, const Sharding&, const DeviceMesh&, const std::map<std::string, int64_t>& at);

}  // namespace smalti::driver
