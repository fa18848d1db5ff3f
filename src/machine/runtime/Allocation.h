// Buffers as the runtime owns them, with the identity that is the same on every device: a remote copy or signal names
// an allocation by it (S-G6).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/memory/MemoryAccount.h"
#include "machine/Address.h"

namespace smalti::machine {

struct Allocation : Buffer {
  using Kind = AllocationKind;
  Kind kind = Kind::array;
  int index = 0;  ///< operand, prefetch or scratch number; region: the op's identity
  /// Region allocations: between the kernel's `allocate` and `release`. A peer may have made it before.
  bool live = true;
  bool touchedByPeer = false;  ///< while not live: the next allocation keeps what the peer did
};

/// The memory of one core: windows, scratch, regions, its barrier semaphore.
struct CoreMemory {
  std::vector<std::unique_ptr<Allocation>> windows;  ///< by operand; null for whole operands
  std::vector<std::unique_ptr<Allocation>> prefetch;
  std::vector<std::unique_ptr<Allocation>> scratch;
  std::map<int, std::unique_ptr<Allocation>> regions;
  std::unique_ptr<Allocation> barrier;
};

/// The memory of one device.
struct DeviceMemory {
  std::vector<Allocation*> arrays;  ///< by operand; an aliased output is the input's
  std::vector<std::unique_ptr<Allocation>> owned;
  std::vector<CoreMemory> cores;
};

/// A new allocation, poisoned (semaphores zero). `tracks`: with a shadow in which all elements are undefined.
Result<std::unique_ptr<Allocation>> makeAllocation(Allocation::Kind, int index, std::string name, ArrayType, MemoryKind,
                                                   MemoryAccount&, Poison, bool tracks);
/// Fills it with poison (semaphores with zero) again.
void forget(Allocation&, Poison, bool tracks);

}  // namespace smalti::machine
