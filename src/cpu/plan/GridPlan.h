// How a call walks its grid, and how the kernel reaches each of its operands from a step: decided from the kernel and
// the processor, before anything is emitted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "cpu/Processor.h"
#include "cpu/Unsupported.h"
#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// How the kernel's ref of an input or an output shows its array.
enum class BlockAccess : uint8_t {
  whole,        ///< no window: the ref is the array
  privateCopy,  ///< no window: the ref is a copy of the array in the core's memory
  view,         ///< the block is a view of the array
  edgeBuffer,   ///< a view where the block lies inside of the array; else a buffer, which what lies inside is copied to
  copied,       ///< always a buffer, which the block is copied to when it is another than the last step's
};
std::string_view name(BlockAccess);

/// One input or output.
struct BlockPlan {
  BlockAccess access = BlockAccess::whole;
  bool isOutput = false;

  // ---- whole arrays
  bool isPadded = false;               ///< it lies in HBM in whole tiles, which slices may reach into
  std::optional<size_t> sameMemory{};  ///< the input that an output is another name of

  // ---- windows
  bool isPartial = false;  ///< not every block is proved to lie inside of the array
  /// Dimensions in which a block may lie outside of the array altogether, which ends the call.
  std::vector<size_t> maybeOutside{};
  bool tracksBlock = false;  ///< the last step's block is remembered: others are fetched
  bool looksUpNext = false;  ///< the next step's block is worth a prefetch, and is looked up a step early
  /// Of an input: dimensions along which steps see the same blocks again soon (analysis/BlockReuse.h).
  std::optional<std::vector<size_t>> reuse{};

  // ---- the array
  bool isMemoryResident = false;  ///< of an input: too big for the caches
  bool isNonTemporal = false;     ///< of an output: written with non-temporal stores

  bool hasBuffer() const { return access == BlockAccess::edgeBuffer || access == BlockAccess::copied; }
};

struct GridPlan {
  int sharedAxes = 0;                 ///< leading axes that threads share
  std::vector<size_t> sharedOrder{};  ///< of them, fastest first: in which order a thread takes its points
  size_t fastestAxis = 0;             ///< along which steps follow each other
  std::vector<BlockPlan> blocks{};    ///< by number (KernelArguments)
  std::vector<bool> written{};        ///< by output: the kernel surely writes all of it
};

struct GridOptions {
  int sharedAxes = 0;
  bool checkBlocks = true;          ///< a block outside of its array ends the call
  std::vector<bool> nonTemporal{};  ///< by output: worthStreaming(); empty: none
};

tl::expected<GridPlan, Unsupported> planGrid(const KernelPackage&, const Processor&, const GridOptions&);

}  // namespace smalti::cpu
