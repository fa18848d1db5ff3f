// Names memory of any device without pointers: the target of a remote copy or signal. A device names a
// peer's memory by its own allocation of the same identity (S-G6), so that no pointer crosses from device to device.
#pragma once

#include <compare>
#include <cstdint>

#include "machine/Memory.h"

namespace smalti::machine {

enum class AllocationKind : uint8_t { array, window, prefetch, scratch, region, barrier };

/// One allocation among those of all devices, named the same in every process that runs the kernel.
struct AllocationId {
  AllocationKind kind = AllocationKind::array;
  int index = 0;  ///< operand, prefetch or scratch number; of a region its op's position in the module
  int device = 0;
  int core = -1;  ///< -1: shared by the device's cores
  auto operator<=>(const AllocationId&) const = default;
};

struct SemaphoreId {
  AllocationId allocation;
  int64_t element = 0;
  auto operator<=>(const SemaphoreId&) const = default;
};

/// A view of memory of one core of a device, in terms of the allocation of the same identity of the core that names it.
struct PeerRef {
  Ref view;  ///< of the naming core's own allocation: for its type and extent, not for its elements
  int device = 0, core = 0;
};

/// A view without a pointer: the serialised form of PeerRef. The fields are those of Ref.
struct Address {
  AllocationId allocation;
  ArrayType type;  ///< of the allocation, on which both sides must agree
  int64_t offset = 0;
  Shape shape, strides;
  std::vector<RefTransform> transforms;
  Shape padding, present;
};

AllocationId idOf(const Buffer&);  ///< of a buffer that the runtime made
AllocationId idOf(const PeerRef&);
SemaphoreId semaphoreIdOf(const Ref&);
SemaphoreId semaphoreIdOf(const PeerRef&);
Address addressOf(const PeerRef&);

}  // namespace smalti::machine
