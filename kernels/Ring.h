// Shared by kernels of several devices: a device's position along an axis, and barriers.
#pragma once

#include <functional>
#include <string>

#include "smalti/kernels/collectives.h"
#include "smalti/smalti.h"

namespace smalti::kernels {

/// Devices along an axis of the mesh around.
inline int64_t devicesAlong(const std::string& axis) { return *axis_size(axis).as<int32_t>(); }

/// In a kernel: this device and its neighbours on the ring of those along an axis.
struct Ring {
  explicit Ring(std::string axisName)
      : axis(std::move(axisName)),
        devices(devicesAlong(axis)),
        me(axis_index(axis)),
        left(rem(me + (devices - 1), static_cast<int32_t>(devices))),
        right(rem(me + 1, static_cast<int32_t>(devices))) {}

  std::string axis;
  int64_t devices;
  Array me, left, right;

  /// The device with this index along the axis, and this one's along all others.
  DeviceId device(const Operand& index) const { return std::map<std::string, Operand>{{axis, index}}; }
  /// Index of the device `steps` to the left.
  Array before(const Operand& steps) const {
    return rem(add(me, subtract(static_cast<int32_t>(2 * devices), steps)), static_cast<int32_t>(devices));
  }
  void signal(const Ref& semaphore, const Operand& index) const {
    semaphore_signal(semaphore, 1, {.device_id = device(index)});
  }
  /// Both neighbours have entered the kernel: from here on they may be written to.
  void barrierWithNeighbours() const {
    const Ref barrier = get_barrier_semaphore();
    signal(barrier, left);
    signal(barrier, right);
    semaphore_wait(barrier, 2);
  }
  /// All devices along the axis have.
  void barrierWithAll() const {
    const Ref barrier = get_barrier_semaphore();
    for (int64_t i = 1; i < devices; ++i) signal(barrier, before(static_cast<int32_t>(i)));
    semaphore_wait(barrier, static_cast<int32_t>(devices - 1));
  }
};

/// Partial results that travel to the right and grow by what each device adds, through two slots in VMEM. Device me
/// ends with the sum of part me over all devices, in `slots[(devices - 1) % 2]`.
///
/// A device writes to its right neighbour's slot when that one has said, by `capacity`, that it has sent on what was
/// there; the first write finds the slot free.
struct RingReduction {
  Ref slots, send, receive, capacity;

  static std::vector<MemoryRef> scratch(const ArrayType& part) {
    Shape two = part.shape;
    two.insert(two.begin(), 2);
    return {vmem(two, part.dtype), semaphore_type::dma({2}), semaphore_type::dma({2}), semaphore_type::regular()};
  }

  /// `contribution(i)`: what this device has for part i; it is computed while the partial sum before it travels.
  void run(const Ring& ring, const std::function<Array(const Array&)>& contribution) const {
    slots[0] = astype(contribution(ring.before(1)), slots.dtype());
    for (int64_t step = 0; step + 1 < ring.devices; ++step) {
      const int64_t from = step % 2, to = 1 - from;
      if (step > 0) semaphore_wait(capacity);
      const auto copy =
          make_async_remote_copy(slots.at(from), slots.at(to), send.at(from), receive.at(to), ring.device(ring.right));
      copy.start();
      const Array mine = contribution(ring.before(static_cast<int32_t>(step + 2)));
      copy.wait_recv();
      slots[to] = astype(slots[to] + mine, slots.dtype());
      copy.wait_send();
      if (step + 2 < ring.devices) ring.signal(capacity, ring.left);
    }
  }
};

/// An array of each device that travels once around the ring through two slots in VMEM, and is worked on while it
/// travels. The first slot holds this device's own when `run` begins.
struct RingRotation {
  Ref slots, send, receive, capacity;

  static std::vector<MemoryRef> scratch(const ArrayType& array) { return RingReduction::scratch(array); }

  /// `visit(slot, step)`: the slot holds what device before(step) has; it must not be written.
  void run(const Ring& ring, const std::function<void(const Ref&, int64_t)>& visit) const {
    for (int64_t step = 0; step < ring.devices; ++step) {
      const int64_t from = step % 2, to = 1 - from;
      const bool last = step + 1 == ring.devices;
      const auto copy =
          make_async_remote_copy(slots.at(from), slots.at(to), send.at(from), receive.at(to), ring.device(ring.right));
      if (!last && step > 0) semaphore_wait(capacity);
      if (!last) copy.start();
      visit(slots.at(from), step);
      if (!last) copy.wait();
      if (step + 2 < ring.devices) ring.signal(capacity, ring.left);
    }
  }
};

}  // namespace smalti::kernels
