// The elements of a buffer that an access touches, and whether two accesses meet.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "machine/Observer.h"

namespace smalti::machine {

/// A strided set of elements of one buffer.
struct Region {
  const Buffer* buffer = nullptr;  ///< says shape and type
  int64_t offset = 0;
  std::vector<int64_t> shape, strides;
  AllocationId allocation{};  ///< whose elements they are: `buffer`, or the one of the same identity on another device
  int64_t last() const;       ///< the highest element
};

/// All of a view; nullopt if a chain of transforms obscures its elements.
std::optional<Region> regionOf(const Ref&);
std::optional<Region> regionOf(const PeerRef&);
/// The region of an access; nothing if it is not known exactly.
std::optional<Region> regionOf(const MemoryAccess&);
/// Exact: at least one element is in both.
bool overlap(const Region&, const Region&);
/// Whether an element of the region, which belongs to this device, is undefined according to the buffer's shadow.
bool anyUndefined(const Region&);

}  // namespace smalti::machine
