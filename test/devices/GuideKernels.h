// The kernels of Pallas' guide to distributed kernels, typed line by line; a line may be left out.
#pragma once

#include <optional>

#include "smalti/smalti.h"

namespace smalti::guide {

constexpr int kDevices = 4;
inline const Mesh kMesh({{"x", kDevices}});
inline const BlockSpec kAny(any_space);

struct Neighbours {
  Array me = axis_index("x"), left = rem(me + (kDevices - 1), kDevices), right = rem(me + 1, kDevices);
};

/// A line of a kernel that is left out.
enum class Missing { nothing, barrier, capacity, receive, send, signal, order };

inline void localBarrier(const Neighbours& n, const Missing missing = Missing::nothing) {
  const Ref barrier = get_barrier_semaphore();
  for (const Array& neighbour : {n.left, n.right}) semaphore_signal(barrier, 1, {.device_id = DeviceId{neighbour}});
  semaphore_wait(barrier, missing == Missing::signal ? 3 : 2);
}

inline ShardMap mapped(const PallasCall& call, const P& out = P("x")) {
  return shard_map([=](const Array& x) -> Array { return call(x)[0]; }, kMesh, P("x"), out);
}

inline ShardMap rightPermute(Missing missing = Missing::nothing) {
  return mapped(pallas_call(
      [=](Ref input, Ref output, Ref send_sem, Ref recv_sem) {
        const Neighbours n;
        if (missing != Missing::barrier) localBarrier(n, missing);
        const auto remote_copy_op = make_async_remote_copy(input, output, send_sem, recv_sem, DeviceId{n.right});
        remote_copy_op.start();
        if (missing != Missing::send) remote_copy_op.wait_send();
        if (missing != Missing::receive) remote_copy_op.wait_recv();
      },
      {.out_shape = ShapeDtype{{8, 128}, f32},
       .in_specs = {kAny},
       .out_specs = {kAny},
       .scratch_shapes = {semaphore_type::dma(), semaphore_type::dma()},
       .compiler_params = {.collective_id =
                               missing == Missing::barrier ? std::optional<int64_t>() : std::optional<int64_t>(0)}}));
}

/// The barrier first, so that no neighbour writes before this device is there.
inline ShardMap allGather() {
  return mapped(
      pallas_call(
          [](Ref input, Ref output, Ref local_copy_sem, Ref send_sem, Ref recv_sems) {
            const Array outer_step = program_id(0);
            const Neighbours n;
            const Array copy_slot = rem(n.me - outer_step + kDevices, kDevices);
            when(outer_step == 0, [&] {
              localBarrier(n);
              const auto local_copy_op = make_async_copy(input, output.at(n.me), local_copy_sem);
              local_copy_op.start();
              local_copy_op.wait();
            });
            const auto remote_copy_op = make_async_remote_copy(output.at(copy_slot), output.at(copy_slot), send_sem,
                                                               recv_sems.at(outer_step), DeviceId{n.right});
            remote_copy_op.start();
            remote_copy_op.wait();
          },
          {.out_shape = ShapeDtype{{kDevices, 8, 128}, f32},
           .grid = {kDevices - 1},
           .in_specs = {kAny},
           .out_specs = {kAny},
           .scratch_shapes = {semaphore_type::dma(), semaphore_type::dma(), semaphore_type::dma({kDevices - 1})},
           .compiler_params = {.collective_id = 0}}),
      P());
}

/// psum by a ring of whole arrays, double-buffered in HBM, with the capacity semaphore of the guide.
inline ShardMap allReduce(Missing missing = Missing::nothing) {
  return mapped(pallas_call(
                    [=](Ref x, Ref o, Ref hbm_scratch, Ref copy_sem, Ref remote_recv_sem, Ref remote_send_sem,
                        Ref capacity_sem, Ref receive_scratch) {
                      const Array outer_step = program_id(0);
                      const Array working_slot = rem(outer_step, 2), receiving_slot = 1 - working_slot;
                      const Neighbours n;
                      when(outer_step == 0, [&] {
                        localBarrier(n);
                        o[_] = zeros_like(o);
                        receive_scratch[_] = zeros_like(receive_scratch);
                        const auto initial_copy = make_async_remote_copy(
                            x, hbm_scratch.at(working_slot), remote_send_sem, remote_recv_sem, DeviceId{n.right});
                        initial_copy.start();
                        initial_copy.wait();
                        // Signal to the left neighbour that this device is ready to receive.
                        if (missing != Missing::capacity)
                          semaphore_signal(capacity_sem, 1, {.device_id = DeviceId{n.left}});
                      });
                      const auto local_copy = make_async_copy(hbm_scratch.at(working_slot), receive_scratch, copy_sem);
                      local_copy.start();
                      // Block until the right neighbour is ready to receive.
                      when(outer_step < kDevices - 1, [&] {
                        if (missing != Missing::capacity) semaphore_wait(capacity_sem, 1);
                        const auto remote_copy =
                            make_async_remote_copy(hbm_scratch.at(working_slot), hbm_scratch.at(receiving_slot),
                                                   remote_send_sem, remote_recv_sem, DeviceId{n.right});
                        remote_copy.start();
                        if (missing != Missing::order) local_copy.wait();
                        o[_] += receive_scratch[_];
                        if (missing == Missing::order) local_copy.wait();
                        remote_copy.wait();
                        when(outer_step < kDevices - 2, [&] {
                          if (missing != Missing::capacity)
                            semaphore_signal(capacity_sem, 1, {.device_id = DeviceId{n.left}});
                        });
                      });
                      when(outer_step == kDevices - 1, [&] {
                        local_copy.wait();
                        o[_] += receive_scratch[_];
                      });
                    },
                    {.out_shape = {{{8, 128}, f32}, {{2, 8, 128}, f32}},
                     .grid = {kDevices},
                     .in_specs = {kAny},
                     .out_specs = {BlockSpec(vmem), kAny},
                     .scratch_shapes = {semaphore_type::dma(), semaphore_type::dma(), semaphore_type::dma(),
                                        semaphore_type::regular(), vmem({8, 128}, f32)},
                     .compiler_params = {.collective_id = 0}}),
                P());
}

}  // namespace smalti::guide
