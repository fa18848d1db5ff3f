// A kernel made ready for the machine: the flat program, and all that the runtime reads from the module, without MLIR.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/KernelPackage.h"
#include "machine/FlatProgram.h"
#include "machine/Machine.h"
#include "machine/pipeline/CompiledIndexMap.h"

namespace smalti::machine {

/// One memref argument of the kernel function, as the kernel sees it.
struct ArgumentPlan {
  std::string name;  ///< as diagnostics say it: "input 0", "output 1", "prefetch 0", "scratch 2"
  ArrayType type;    ///< of the memref: block or whole array; signless, or a semaphore type
  MemoryKind space = MemoryKind::vmem;
  bool written = true;  ///< the kernel may store to it, or hand it to a DMA as target
};

/// An input or output: its argument, the array behind it, and how blocks of the array get to the kernel.
struct OperandPlan : ArgumentPlan {
  bool isOutput = false;
  int index = 0;                 ///< among inputs, or among outputs
  ArrayType array;               ///< of the custom call, with signedness
  std::optional<Window> window;  ///< absent: the kernel gets the array itself
  CompiledIndexMap map;          ///< of the window
  SourcePlace mapPlace;          ///< the user's line of the index map, when the module carries it
  int sharedWith = -1;           ///< outputs: the operand (index into `operands`) whose array it is aliased to
};

/// A place in the program text that can raise a semaphore; for deadlock reports.
struct SignalSite {
  enum class Root : uint8_t { argument, allocation, barrier } root = Root::argument;
  int argument = -1;       ///< index into all memref arguments of the kernel
  SourcePlace allocation;  ///< of the region semaphore
  SourcePlace place;
  bool dma = false;
};

class CompiledKernel {
 public:
  std::string name;
  std::shared_ptr<const FlatProgram> program;
  std::vector<int64_t> grid;              ///< kDynamicBound where dynamic
  std::optional<int64_t> fixedGridSteps;  ///< absent where any axis is dynamic
  std::vector<DimensionSemantics> dimensionSemantics;
  std::vector<ArrayType> callOperands;  ///< as the custom call has them
  std::vector<ArrayType> callResults;
  std::vector<Alias> aliases;
  std::vector<ArgumentPlan> prefetch;
  std::vector<OperandPlan> operands;  ///< inputs, then outputs
  std::vector<ArgumentPlan> scratch;
  std::vector<SignalSite> signalSites;
  /// Grid axis whose points are cores that run at the same time (core_parallel, a core mesh); -1: none.
  int coreAxis = -1;
  int64_t valueBytes = 0;
  bool usesCommunication = false;        ///< signals or copies to another device or core
  bool usesDeviceNumber = false;         ///< computes by the number of the device it runs on
  bool disablesSemaphoreChecks = false;  ///< the module's word: what is left in semaphores at the end is meant

  int numDynamicBounds() const;
  int numInputs() const;
};

/// SM9006: a run of the kernel was stopped from outside.
Diagnostic stopped(const CompiledKernel&);
/// SM4104 when the grid alone has more steps than a run may do (0: no limit). The operands are of the right types.
Status checkGridSteps(const CompiledKernel&, const std::vector<Array>& operands, int64_t stepLimit);

}  // namespace smalti::machine
