// Small types that kernels, their packages and their callers share.
#pragma once

#include <cstdint>

namespace smalti {

/// Where an array lives while a kernel runs (C1–C10). `unspecified` is Pallas' DEFAULT: VMEM in `pallas_call`.
enum class MemorySpace : uint8_t { unspecified, any, hbm, vmem, smem, semaphore, host };

/// How the iterations of a grid axis may be run (S-H1): `arbitrary` in order, `parallel` in any.
enum class DimensionSemantics : uint8_t { parallel, arbitrary, core_parallel, subcore_parallel };

/// Whether an output block may be visited again after others (B10).
enum class RevisitMode : uint8_t { immediate, any };

/// What a kernel costs, for the scheduler around it (L4). Bytes and operations of one call.
struct CostEstimate {
  int64_t flops = 0, transcendentals = 0, bytes_accessed = 0, remote_bytes_transferred = 0;
  bool operator==(const CostEstimate&) const = default;
};

}  // namespace smalti
