// The software pipeline of one program: which block of each operand is in its window at each grid step, when it is
// fetched and when it is written back (S-C1…S-C10). Functional: a block is fetched at the first step of a run of equal
// block indices and written back at the end of the run; overlap in time is invisible (S-C13).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "machine/Machine.h"
#include "machine/pipeline/CompiledIndexMap.h"
#include "machine/pipeline/Window.h"

namespace smalti::machine {

struct OperandPlan;

/// The contract of the windows.
enum class PipelineContract : uint8_t {
  tpu,    ///< copy when the block index changes
  naive,  ///< copy in and out at every step; an output block is read again while its index stays the same
  hlo,    ///< interpret=True: copy everything in and out at every step, inputs too; arrays are padded
};

class WindowPipeline {
 public:
  struct Environment {
    PipelineContract contract = PipelineContract::tpu;
    bool tracks = false;
    Poison poison = Poison::intMin;
    bool staleEdges = true;
    RunStatistics* statistics = nullptr;
    /// Called for blocks with no element in the array (S-B6), of which nothing is copied: those of inputs are
    /// undefined. May be empty.
    std::function<void(const Actor&, Diagnostic, bool isOutput)> outside = {};
  };
  explicit WindowPipeline(Environment);
  ~WindowPipeline();
  /// Adds the window of `operand` (its place among inputs then outputs).
  void add(const OperandPlan& plan, int operand, Buffer& array, Buffer& window);

  /// Makes every window show its block of `step`. `arguments`: grid indices, then scalar prefetch refs.
  Status beginStep(Core& core, std::span<const int32_t> step, std::span<const Argument> arguments);
  /// After the kernel body (only the copying contracts do something here).
  void endStep(Core& core);
  /// After the last step.
  void finish(Core& core);
  int64_t instructions() const;

 private:
  struct Slot;
  Status advance(Slot&, Core&, std::span<const int32_t> step, std::span<const Argument> arguments);
  void fetch(Slot&, Core&);
  void writeBack(Slot&, Core&);
  void visit(Slot&, Core&);

  Environment environment_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace smalti::machine
