#include "gpu/driver/TensorMaps.h"

#include <array>

#include <fmt/format.h>

namespace smalti::gpu {
namespace {

// CUtensorMapDataType, CUtensorMapSwizzle and CUtensorMapL2promotion of cuda.h.
constexpr int kUint8 = 0, kUint16 = 1, kUint32 = 2, kSwizzle128 = 3, kPromote256 = 3;

}  // namespace

Result<std::vector<EncodedTensorMap>> encodeTensorMaps(const CudaDriver& driver, std::span<const TensorMap> maps,
                                                       std::span<const CudaAddress> addresses) {
  std::vector<EncodedTensorMap> encoded(maps.size());
  for (size_t i = 0; i < maps.size(); ++i) {
    const TensorMap& map = maps[i];
    constexpr size_t kMax = TensorMap::kMaxDimensions;
    std::array<uint64_t, kMax> extents{}, strides{};
    std::array<uint32_t, kMax> box{}, steps{};
    const std::vector<int64_t> byteStrides = gpu::byteStrides(map);
    for (size_t d = 0; d < map.extents.size(); ++d) {
      extents[d] = static_cast<uint64_t>(map.extents[d]);
      box[d] = static_cast<uint32_t>(map.box[d]);
      steps[d] = 1;
      strides[d] = static_cast<uint64_t>(byteStrides[d]);
    }
    const int type = map.elementBytes == 1 ? kUint8 : map.elementBytes == 2 ? kUint16 : kUint32;
    const int result =
        driver.call().tensorMapEncode
            ? driver.call().tensorMapEncode(&encoded[i], type, static_cast<uint32_t>(map.extents.size()),
                                            reinterpret_cast<void*>(addresses[map.array]), extents.data(),
                                            strides.data(), box.data(), steps.data(), 0, kSwizzle128, kPromote256, 0)
            : -1;
    if (Status ok = driver.check(result, fmt::format("describe array {} for copies of boxes", map.array)); !ok)
      return fail(std::move(ok.error()));
  }
  return encoded;
}

}  // namespace smalti::gpu
