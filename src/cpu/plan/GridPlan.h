// The order of a call's grid steps, and how a step accesses each operand: decided from the kernel, for CPUs and GPUs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "cpu/Unsupported.h"
#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// The relation of the kernel's ref to the array of an input or output.
enum class BlockAccess : uint8_t {
  whole,        ///< no window: the ref is the array
  privateCopy,  ///< no window: the ref is a copy of the array in the core's memory
  view,         ///< the block is a view of the array
  edgeBuffer,   ///< a view if the block is inside the array; else a buffer with a copy of the part inside
  copied,       ///< always a buffer, to which a block is copied unless the previous step used the same one
};
std::string_view name(BlockAccess);

/// The plan of one input or output.
struct BlockPlan {
  BlockAccess access = BlockAccess::whole;
  bool isOutput = false;

  // ---- whole arrays
  bool isPadded = false;               ///< in HBM it occupies whole tiles, which slices may reach into
  std::optional<size_t> sameMemory{};  ///< the input whose memory an output shares

  // ---- windows
  bool isPartial = false;  ///< not every block is proved to be inside the array
  /// Dimensions in which a block may be entirely outside the array: one of an input is undefined, one of an output ends
  /// the call.
  std::vector<size_t> maybeOutside{};
  bool tracksBlock = false;  ///< the previous step's block is stored, so that only a different one is fetched

  bool hasBuffer() const { return access == BlockAccess::edgeBuffer || access == BlockAccess::copied; }
};

struct GridPlan {
  int sharedAxes = 0;                 ///< number of leading axes that threads share
  std::vector<size_t> sharedOrder{};  ///< the order in which a thread visits its points: axes, fastest first
  size_t fastestAxis = 0;             ///< the axis along which consecutive steps move
  std::vector<BlockPlan> blocks{};    ///< by number (KernelArguments)
  std::vector<bool> written{};        ///< by output: the kernel surely writes all elements

  /// All axes of a grid of that rank, fastest first.
  std::vector<size_t> axesInOrder(size_t rank) const;
};

struct GridOptions {
  int sharedAxes = 0;
  bool checkBlocks = true;  ///< blocks outside their array are found
};

tl::expected<GridPlan, Unsupported> planGrid(const KernelPackage&, const GridOptions&);

}  // namespace smalti::cpu
