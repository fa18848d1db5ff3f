// The custom call's backend_config, every key of it; what is not known is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "smalti/kernel_types.h"

namespace smalti {

/// Keys of `custom_call_config` and of the top level. `std::optional` where absent and default differ.
struct KernelConfig {
  std::optional<bool> hasCommunication;
  std::optional<int64_t> collectiveId;
  std::optional<CostEstimate> costEstimate;
  std::optional<bool> needsHloPasses;
  std::optional<int64_t> serializationFormat;
  std::optional<bool> needsLayoutPasses;
  std::optional<bool> shapeInvariantNumerics;
  std::vector<bool> allowInputFusion;
  std::optional<int64_t> internalScratchInBytes;
  struct MemorySpaceColor {
    int64_t color = 0;
    std::optional<int64_t> index;  ///< operand_index, or shape_index of a result
  };
  std::vector<MemorySpaceColor> inputMemorySpaceColors, outputMemorySpaceColors;
  std::optional<bool> disableBoundsChecks, disableSemaphoreChecks, skipDeviceBarrier;

  struct ScopedMemory {
    int64_t memorySpace = 0, offset = 0, size = 0;
  };  ///< sizes in bytes
  std::vector<ScopedMemory> scopedMemory;  ///< vmem_limit_bytes lives here, memorySpace 1
  struct Flag {
    std::string type;
    std::string valueKey;
    std::string valueJson;
  };
  std::vector<Flag> flags;

  /// Keys this version does not know: (path "custom_call_config.x" or "x", JSON text), in order.
  std::vector<std::pair<std::string, std::string>> unknown;
};

}  // namespace smalti
