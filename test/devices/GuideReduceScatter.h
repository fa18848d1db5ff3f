// The reduce-scatters of Pallas' guide: halves of a part travel in both directions, through two slots in HBM; a phase
// computes with one half while the other travels. Sums are made in VMEM, or block by block in a pipeline of the kernel.
#pragma once

#include "GuideKernels.h"

namespace smalti::guide {

using Way = int32_t;
constexpr Way left = 0, right = 1;

/// What both kernels name alike.
struct ReduceScatter {
  ReduceScatter(Ref x, Ref hbm_scratch, int64_t rows)
      : x(std::move(x)), hbm_scratch(std::move(hbm_scratch)), rows(rows) {}

  Ref x, hbm_scratch;
  int64_t rows;
  Array outer_step = program_id(0), phase = program_id(1);
  Array is_start = logical_and(outer_step == 0, phase == 0), last = outer_step == num_programs(0) - 1;
  Array working = rem(outer_step, 2), receiving = 1 - working;
  Neighbours n;

  Slice half(const Operand& way) const { return ds(way * static_cast<int32_t>(rows / 2), rows / 2); }
  /// The part whose sum this device adds to in this step.
  Array part(Way way) const {
    return way == left ? rem(n.me + outer_step + 1, kDevices) : rem(n.me - outer_step - 1 + 2 * kDevices, kDevices);
  }
  void signal(Way way, const Ref& semaphore) const {
    semaphore_signal(semaphore, 1, {.device_id = DeviceId{way == left ? n.left : n.right}});
  }
  AsyncCopyDescriptor initial(Way way, const Ref& send, const Ref& receive) const {
    return make_async_remote_copy(x.at(n.me, half(way)), hbm_scratch.at(working, half(way)), send, receive,
                                  DeviceId{way == left ? n.left : n.right});
  }
  /// The right one is of the step before: its slots are the other way round.
  AsyncCopyDescriptor copy(Way way, const Ref& send, const Ref& receive) const {
    return make_async_remote_copy(hbm_scratch.at(way == left ? working : receiving, half(way)),
                                  hbm_scratch.at(way == left ? receiving : working, half(way)), send, receive,
                                  DeviceId{way == left ? n.left : n.right});
  }
};

struct BothWays {
  Ref left_send, left_recv, right_send, right_recv, left_capacity, right_capacity;

  void begin(const ReduceScatter& r) const {
    r.initial(left, left_send, left_recv).start();
    r.initial(left, left_send, left_recv).wait();
    r.initial(right, right_send, right_recv).start();
    r.signal(left, right_capacity);
    r.signal(right, left_capacity);
  }
  void send(const ReduceScatter& r) const {
    when(logical_not(r.is_start), [&] {
      when(r.phase == left, [&] {
        semaphore_wait(right_capacity, 1);
        r.copy(right, right_send, right_recv).start();
      });
      when(r.phase == right, [&] {
        semaphore_wait(left_capacity, 1);
        r.copy(left, left_send, left_recv).start();
      });
    });
  }
  void arrive(const ReduceScatter& r) const {
    when(r.is_start, [&] { r.initial(right, right_send, right_recv).wait(); });
    when(logical_not(r.is_start), [&] {
      when(r.phase == left, [&] {
        r.copy(right, right_send, right_recv).wait();
        r.signal(left, right_capacity);
      });
      when(r.phase == right, [&] {
        r.copy(left, left_send, left_recv).wait();
        r.signal(right, left_capacity);
      });
    });
  }
  /// The last signals are taken, so that the semaphores end at zero.
  void end(const ReduceScatter& r) const {
    when(r.phase == left, [&] { semaphore_wait(right_capacity, 1); });
    when(r.phase == right, [&] { semaphore_wait(left_capacity, 1); });
  }
};

inline std::vector<MemoryRef> reduceScatterScratch() {
  std::vector<MemoryRef> scratch(5, semaphore_type::dma());
  scratch.resize(7, semaphore_type::regular());
  return scratch;
}

inline ShardMap reduceScatter(int64_t rows, int64_t columns) {
  std::vector<MemoryRef> scratch = reduceScatterScratch();
  scratch.push_back(vmem({rows / 2, columns}, f32));
  const auto call = pallas_call(
      [=](Ref x, Ref o, Ref hbm_scratch, Ref local_copy_sem, Ref left_recv, Ref left_send, Ref right_recv,
          Ref right_send, Ref left_capacity, Ref right_capacity, Ref accumulator) {
        const ReduceScatter r(x, hbm_scratch, rows);
        const BothWays ways{left_send, left_recv, right_send, right_recv, left_capacity, right_capacity};
        when(r.is_start, [&] {
          localBarrier(r.n);
          o[_] = zeros_like(o);
          accumulator[_] = zeros_like(accumulator);
          ways.begin(r);
        });
        ways.send(r);
        sync_copy(hbm_scratch.at(r.working, r.half(r.phase)), accumulator);
        when(logical_not(r.last), [&] {
          when(r.phase == left, [&] { accumulator[_] += x[{r.part(left), r.half(left)}]; });
          when(r.phase == right, [&] { accumulator[_] += x[{r.part(right), r.half(right)}]; });
        });
        const auto local_copy =
            make_async_copy(accumulator, hbm_scratch.at(r.working, r.half(r.phase)), local_copy_sem);
        local_copy.start();
        local_copy.wait();
        ways.arrive(r);
        when(r.last, [&] {
          when(r.phase == left, [&] { o[r.half(left)] = accumulator[_]; });
          when(r.phase == right, [&] { o[r.half(right)] = accumulator[_]; });
          ways.end(r);
        });
      },
      {.out_shape = {{{rows, columns}, f32}, {{2, rows, columns}, f32}},
       .grid = {kDevices, 2},
       .in_specs = {BlockSpec(vmem)},
       .out_specs = {BlockSpec(vmem), kAny},
       .scratch_shapes = scratch,
       .compiler_params = {.collective_id = 0}});
  return shard_map([=](const Array& x) -> Array { return call(reshape(x, {kDevices, rows, columns}))[0]; }, kMesh,
                   P(std::nullopt, "x"), P("x", std::nullopt));
}

/// Of parts that do not fit in VMEM.
inline ShardMap reduceScatterInPipelines(int64_t rows, int64_t columns) {
  const auto call = pallas_call(
      [=](Ref x, Ref o, Ref hbm_scratch, Ref left_recv, Ref left_send, Ref copy_sem, Ref right_recv, Ref right_send,
          Ref left_capacity, Ref right_capacity) {
        const ReduceScatter r(x, hbm_scratch, rows);
        const BothWays ways{left_send, left_recv, right_send, right_recv, left_capacity, right_capacity};
        when(r.is_start, [&] {
          localBarrier(r.n);
          ways.begin(r);
        });
        ways.send(r);
        const BlockSpec inner({8, 128}, [](auto i, auto j) { return std::tuple{i, j}; });
        const auto add =
            emit_pipeline([](Ref input, Ref before, Ref after) { after[_] = before[_] + input[_]; },
                          {.grid = {rows / 16, columns / 128}, .in_specs = {inner, inner}, .out_specs = {inner}});
        when(logical_not(r.last), [&] {
          for (const Way way : {left, right})
            when(r.phase == way, [&] {
              const Ref sums = hbm_scratch.at(r.working, r.half(way));
              add(x.at(r.part(way), r.half(way)), sums, sums);
            });
        });
        ways.arrive(r);
        when(r.last, [&] {
          const auto output_copy =
              make_async_copy(hbm_scratch.at(r.working, r.half(r.phase)), o.at(r.half(r.phase)), copy_sem);
          output_copy.start();
          output_copy.wait();
          ways.end(r);
        });
      },
      {.out_shape = {{{rows, columns}, f32}, {{2, rows, columns}, f32}},
       .grid = {kDevices, 2},
       .in_specs = {kAny},
       .out_specs = {kAny, kAny},
       .scratch_shapes = reduceScatterScratch(),
       .compiler_params = {.collective_id = 19}});
  return shard_map([=](const Array& x) -> Array { return call(reshape(x, {kDevices, rows, columns}))[0]; }, kMesh,
                   P(std::nullopt, "x"), P("x", std::nullopt));
}

}  // namespace smalti::guide
