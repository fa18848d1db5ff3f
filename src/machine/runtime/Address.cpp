#include "machine/Address.h"

#include "machine/runtime/Allocation.h"

namespace smalti::machine {

AllocationId idOf(const Buffer& buffer) {
  const auto& a = static_cast<const Allocation&>(buffer);
  return {a.kind, a.index, a.device, a.core};
}

AllocationId idOf(const PeerRef& ref) {
  AllocationId id = idOf(*ref.view.buffer);
  id.device = ref.device;
  if (id.core >= 0) id.core = ref.core;
  return id;
}

SemaphoreId semaphoreIdOf(const Ref& ref) { return {idOf(*ref.buffer), ref.offset}; }
SemaphoreId semaphoreIdOf(const PeerRef& ref) { return {idOf(ref), ref.view.offset}; }

Address addressOf(const PeerRef& ref) {
  const Ref& v = ref.view;
  return {idOf(ref), v.buffer->type, v.offset, v.shape, v.strides, v.transforms, v.padding, v.present};
}

}  // namespace smalti::machine
