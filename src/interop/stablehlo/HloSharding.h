// Shardings as HLO writes them ("{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"), in terms of a mesh.
#pragma once

#include <optional>
#include <string_view>

#include "ir/program/Program.h"

namespace smalti::interop::stablehlo {

/// A factor of the device number: (device / stride) % size.
struct DeviceFactor {
  int64_t stride = 1, size = 1;
};
/// For each dimension, the factors that split it, outer to inner. No dimensions: replicated.
struct HloSharding {
  std::vector<std::vector<DeviceFactor>> dims;
  int64_t devices = 0;  ///< 0: any number
};

/// nullopt for forms other than tiles of devices in (permuted) order, and "{replicated}".
std::optional<HloSharding> readHloSharding(std::string_view);

/// The mesh whose axes are the coarsest that all these shardings split arrays over; nullopt when there is none.
std::optional<DeviceMesh> commonMesh(const std::vector<HloSharding>&, int64_t devices);
/// Over that mesh, of an array of `rank` dimensions.
Sharding overMesh(const HloSharding&, const DeviceMesh&, size_t rank);

}  // namespace smalti::interop::stablehlo
