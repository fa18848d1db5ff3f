// The supported GPU architectures.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "smalti/diagnostic.h"

namespace smalti::gpu {

struct Architecture {
  std::string_view name;     ///< as LLVM and ptxas write it: "sm_90a"
  std::string_view devices;  ///< names of devices of this architecture, separated by spaces
  int version = 0;           ///< compute capability × 10: 90
  // CUDA C++ Programming Guide, "Technical Specifications per Compute Capability":
  int64_t sharedBytes = 0;        ///< largest shared memory of a block
  int64_t sharedOfProcessor = 0;  ///< shared memory of a multiprocessor, in bytes
  int warps = 0, blocks = 0;      ///< the most that a multiprocessor can have at once
  /// Whether a thread can copy boxes of arrays to shared memory (PTX ISA, cp.async.bulk.tensor).
  bool hasBoxes() const { return version >= 90; }
  bool hasWgmma = false;  ///< wgmma.mma_async, which only sm_90a has (PTX ISA)
  std::string_view ptx;   ///< LLVM's feature for the PTX version that has all of its instructions
};

/// The oldest CUDA version whose drivers assemble its PTX: 12040 for 12.4.
int oldestCuda(const Architecture&);

/// All architectures, oldest first.
std::span<const Architecture> architectures();
/// Finds an architecture by its name ("sm_80") or by a device ("h100", in any case). SM7203.
Result<Architecture> architectureNamed(std::string_view);

}  // namespace smalti::gpu
