// A pallas_call after tracing: the kernel's body, its index maps and everything that was checked about them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/KernelPackage.h"
#include "lang/trace/Trace.h"
#include "smalti/specs.h"

namespace smalti::lang {

/// One input or output, as the kernel sees it.
struct TracedOperand {
  std::string name;  ///< "input 0", "output 1": stands in messages
  ArrayType array;   ///< the whole array
  MemorySpace space = MemorySpace::vmem;
  std::vector<BlockDim> block;  ///< one per axis of the array
  bool windowed = true;         ///< false: passed whole (no grid, ANY, HBM, semaphores)
  std::optional<TracedFunction> indexMap;
  std::optional<Buffered> pipelineMode;
  Location at;

  /// Block sizes with squeezed axes as 1.
  Shape blockShape() const;
  /// The Ref's shape: squeezed axes are gone.
  Shape refShape() const;
};

struct TracedKernel {
  std::string name;
  SourcePlace place;
  std::vector<int64_t> grid;  ///< kDynamicBound where dynamic
  std::vector<DimensionSemantics> semantics;
  std::vector<ArrayType> prefetch;
  std::vector<TracedOperand> operands;  ///< inputs, then outputs
  int numInputs = 0;
  std::vector<MemoryRef> scratch;
  std::vector<Alias> aliases;  ///< operand counts dynamic bounds, scalar prefetch, inputs
  TracedFunction body;         ///< arguments: prefetch, inputs, outputs, scratch Refs
  CompilerParams params;
  CostEstimate cost;
  bool costIsGiven = false;  ///< by the user, not estimated
  std::map<std::string, std::string> metadata;

  int numDynamicBounds() const;
};

}  // namespace smalti::lang
