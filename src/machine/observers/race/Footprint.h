// The bytes that an access touches, as far as needed to say whether two accesses overlap.
#pragma once

#include <optional>
#include <vector>

#include "machine/observers/Region.h"

namespace smalti::machine::race {

struct Footprint {
  Region region;  ///< all that is touched, and of a sparse one more than that
  /// For masked stores, and views that no strides describe: the bytes of the buffer, ascending. Otherwise empty.
  std::vector<int64_t> bytes;
  bool sparse = false;
  AllocationId allocation() const { return region.allocation; }
};

/// Nothing for what touches no element, and for views that no strides describe of very large buffers.
std::optional<Footprint> footprintOf(const MemoryAccess&);
std::optional<Footprint> footprintOf(const Ref&);
std::optional<Footprint> footprintOf(const PeerRef&);

bool meet(const Footprint&, const Footprint&);
/// Whether `outer` contains `inner`; false also where a quick test does not show it.
bool contains(const Footprint& outer, const Footprint& inner);

}  // namespace smalti::machine::race
