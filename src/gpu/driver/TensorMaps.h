// Tensor maps as the driver encodes them, for a launch.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gpu/device/TensorMap.h"
#include "gpu/driver/CudaDriver.h"

namespace smalti::gpu {

/// The last argument of a launch, by value: aligned as CUtensorMap is.
struct alignas(64) EncodedTensorMap {
  std::byte bytes[TensorMap::kBytes] = {};
};

/// `addresses`: device addresses of the call's operands, then results. SM7205: the driver refuses a map, since an array
/// does not begin at a multiple of 16 bytes.
Result<std::vector<EncodedTensorMap>> encodeTensorMaps(const CudaDriver&, std::span<const TensorMap>,
                                                       std::span<const CudaAddress> addresses);

}  // namespace smalti::gpu
