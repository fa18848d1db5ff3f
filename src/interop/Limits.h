// Limits of inputs. Everything read from outside is untrusted: anything larger is refused without being tried.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/MaxDimensions.h"

namespace smalti::interop::limits {

inline constexpr size_t kMaxTextBytes = size_t{256} << 20;  ///< of one module's text
inline constexpr int kMaxNesting = 64;                ///< of regions, attributes, types, JSON values and locations
inline constexpr int64_t kMaxOps = 1'000'000;         ///< of one Program, kernels not counted
inline constexpr int64_t kMaxRank = kMaxDimensions;   ///< of one array
inline constexpr int64_t kMaxListLength = 1'000'000;  ///< operands, attributes, array elements written one by one
inline constexpr int kMaxFunctions = 10'000;
inline constexpr int64_t kMaxDevices = 4096;  ///< of one mesh

}  // namespace smalti::interop::limits
