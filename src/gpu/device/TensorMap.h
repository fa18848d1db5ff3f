// Arrays of which boxes are copied to shared memory (Primitives::copyBox), as data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "smalti/dtype.h"

namespace smalti::gpu {

/// Rows of a box are 128 bytes, which are swizzled (PTX ISA, "Tensor Swizzling Modes").
struct TensorMap {
  static constexpr size_t kMaxDimensions = 5, kBytes = 128;
  static constexpr int64_t kMaxBox = 256;  ///< elements of a box along a dimension

  size_t array = 0;                   ///< number of the pointer among those of the call: operands, then results
  int elementBytes = 2;               ///< 1, 2 or 4
  std::vector<int64_t> extents, box;  ///< in elements, the fastest dimension first
  bool operator==(const TensorMap&) const = default;
};

/// From an element to the next one along each dimension but the first, and along the one after the last.
inline std::vector<int64_t> byteStrides(const TensorMap& map) {
  std::vector<int64_t> strides;
  int64_t stride = map.elementBytes;
  for (const int64_t extent : map.extents) strides.push_back(stride *= extent);
  return strides;
}

/// The form of such a map for a kernel that runs in this process: kBytes bytes.
struct HostTensorMap {
  const std::byte* base = nullptr;
  int32_t rank = 0, elementBytes = 0;
  int64_t extents[TensorMap::kMaxDimensions] = {};
  int32_t box[TensorMap::kMaxDimensions] = {};
};
static_assert(sizeof(HostTensorMap) <= TensorMap::kBytes);

}  // namespace smalti::gpu
