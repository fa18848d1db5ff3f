// Index maps: from a grid step to the block that an operand's window shows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "machine/FlatProgram.h"

namespace smalti::machine {

/// An index map, compiled. Most maps only pick grid indices and constants; these need no program.
struct CompiledIndexMap {
  struct Result {
    int gridDim = -1;      ///< ≥ 0: the grid index of this dimension
    int32_t constant = 0;  ///< gridDim < 0: this
  };
  std::vector<Result> simple;                  ///< used when `program` is null
  std::shared_ptr<const FlatProgram> program;  ///< anything else
  uint64_t gridDims = ~uint64_t{0};            ///< the grid dimensions it depends on, a bit each
  bool readsMemory = false;                    ///< scalar prefetch: evaluate it at every step
};

/// Compiles the index map of a window.
Result<CompiledIndexMap> compileIndexMap(mlir::func::FuncOp, int gridRank, const CompileOptions&);

/// The state of one index map in one running program.
class IndexMapRun {
 public:
  explicit IndexMapRun(const CompiledIndexMap& map);
  /// Block index at `step`. `arguments`: grid indices, then scalar prefetch refs. The result is in `block`
  /// (its size is the number of results); false when it is sure to be what it was at the previous call.
  smalti::Result<bool> evaluate(std::span<const int32_t> step, std::span<const Argument> arguments, Core& core,
                                std::vector<int64_t>& block);
  /// The last result depends on undefined memory.
  bool undefined() const { return undefined_; }
  int64_t instructions() const { return execution_ ? execution_->instructions() : 0; }

 private:
  const CompiledIndexMap* map_;
  std::optional<Execution> execution_;
  std::vector<int32_t> lastStep_;
  bool undefined_ = false;
};

}  // namespace smalti::machine
