// Describes arrays whose boxes are copied to shared memory (Primitives::copyBox).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "smalti/dtype.h"

namespace smalti::gpu {

/// A box consists of swizzled rows of 128 bytes (PTX ISA, "Tensor Swizzling Modes").
struct TensorMap {
  static constexpr size_t kMaxDimensions = 5, kBytes = 128;
  /// Most elements of a box along a dimension (CUDA Driver API, cuTensorMapEncodeTiled).
  static constexpr int64_t kMaxBox = 256;

  size_t array = 0;                   ///< index among the call's operands, then results
  int elementBytes = 2;               ///< 1, 2 or 4
  std::vector<int64_t> extents, box;  ///< in elements, the fastest dimension first
  bool operator==(const TensorMap&) const = default;
};

/// Strides in bytes of all dimensions except the fastest; the last is the size of the array.
inline std::vector<int64_t> byteStrides(const TensorMap& map) {
  std::vector<int64_t> strides;
  int64_t stride = map.elementBytes;
  for (const int64_t extent : map.extents) strides.push_back(stride *= extent);
  return strides;
}

/// A tensor map as read by code that runs in this process; it fits into kBytes bytes.
struct HostTensorMap {
  const std::byte* base = nullptr;
  int32_t rank = 0, elementBytes = 0;
  int64_t extents[TensorMap::kMaxDimensions] = {};
  int32_t box[TensorMap::kMaxDimensions] = {};
};
static_assert(sizeof(HostTensorMap) <= TensorMap::kBytes);

}  // namespace smalti::gpu
