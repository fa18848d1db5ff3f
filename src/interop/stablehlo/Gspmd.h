// shard_maps as JAX lowers them for the older partitioner (GSPMD): custom calls @SPMDFullToShardShape and
// @SPMDShardToFullShape around a call, with shardings as HLO writes them.
#pragma once

#include "ir/program/Program.h"

namespace smalti::interop::stablehlo {

inline constexpr const char* kFullToShard = "full_to_shard_shape";
inline constexpr const char* kShardToFull = "shard_to_full_shape";

/// Makes each such call a manual_computation over one mesh of the module. The Program has not been verified. SM2004 and
/// SM2013 for what is none of JAX's.
Status liftShardMaps(Program&);

}  // namespace smalti::interop::stablehlo
