// The kernels of Pallas' guide to distributed kernels, typed line by line, and what is found when a line is missing.
#include <gtest/gtest.h>

#include "Helpers.h"
#include "smalti/smalti.h"

namespace pl = smalti;
using pl::_, pl::Array;
using smalti::testing::expectEqual;

namespace {

constexpr int kDevices = 4;
const pl::Mesh kMesh({{"x", kDevices}});
const pl::BlockSpec kAny(pl::any_space);

Array counting(pl::Shape shape) {
  const int64_t n = pl::num_elements(shape);
  return pl::reshape(pl::arange(n, pl::f32), std::move(shape));
}

struct Neighbours {
  Array me = pl::axis_index("x"), left = pl::rem(me + (kDevices - 1), kDevices), right = pl::rem(me + 1, kDevices);
};

/// A line of a kernel that is left out.
enum class Missing { nothing, barrier, capacity, receive, send, signal, order };

void localBarrier(const Neighbours& n, const Missing missing = Missing::nothing) {
  const pl::Ref barrier = pl::get_barrier_semaphore();
  for (const Array& neighbour : {n.left, n.right})
    pl::semaphore_signal(barrier, 1, {.device_id = pl::DeviceId{neighbour}});
  pl::semaphore_wait(barrier, missing == Missing::signal ? 3 : 2);
}

pl::ShardMap mapped(const pl::PallasCall& call, const pl::P& out = pl::P("x")) {
  return pl::shard_map([=](const Array& x) -> Array { return call(x)[0]; }, kMesh, pl::P("x"), out);
}

pl::ShardMap rightPermute(Missing missing = Missing::nothing) {
  return mapped(pl::pallas_call(
      [=](pl::Ref input, pl::Ref output, pl::Ref send_sem, pl::Ref recv_sem) {
        const Neighbours n;
        if (missing != Missing::barrier) localBarrier(n, missing);
        const auto remote_copy_op =
            pl::make_async_remote_copy(input, output, send_sem, recv_sem, pl::DeviceId{n.right});
        remote_copy_op.start();
        if (missing != Missing::send) remote_copy_op.wait_send();
        if (missing != Missing::receive) remote_copy_op.wait_recv();
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32},
       .in_specs = {kAny},
       .out_specs = {kAny},
       .scratch_shapes = {pl::semaphore_type::dma(), pl::semaphore_type::dma()},
       .compiler_params = {.collective_id =
                               missing == Missing::barrier ? std::optional<int64_t>() : std::optional<int64_t>(0)}}));
}

/// The barrier first, so that no neighbour writes before this device is there.
pl::ShardMap allGather() {
  return mapped(pl::pallas_call(
                    [](pl::Ref input, pl::Ref output, pl::Ref local_copy_sem, pl::Ref send_sem, pl::Ref recv_sems) {
                      const Array outer_step = pl::program_id(0);
                      const Neighbours n;
                      const Array copy_slot = pl::rem(n.me - outer_step + kDevices, kDevices);
                      pl::when(outer_step == 0, [&] {
                        localBarrier(n);
                        const auto local_copy_op = pl::make_async_copy(input, output.at(n.me), local_copy_sem);
                        local_copy_op.start();
                        local_copy_op.wait();
                      });
                      const auto remote_copy_op =
                          pl::make_async_remote_copy(output.at(copy_slot), output.at(copy_slot), send_sem,
                                                     recv_sems.at(outer_step), pl::DeviceId{n.right});
                      remote_copy_op.start();
                      remote_copy_op.wait();
                    },
                    {.out_shape = pl::ShapeDtype{{kDevices, 8, 128}, pl::f32},
                     .grid = {kDevices - 1},
                     .in_specs = {kAny},
                     .out_specs = {kAny},
                     .scratch_shapes = {pl::semaphore_type::dma(), pl::semaphore_type::dma(),
                                        pl::semaphore_type::dma({kDevices - 1})},
                     .compiler_params = {.collective_id = 0}}),
                pl::P());
}

/// psum by a ring of whole arrays, double-buffered in HBM, with the capacity semaphore of the guide.
pl::ShardMap allReduce(Missing missing = Missing::nothing) {
  return mapped(pl::pallas_call(
                    [=](pl::Ref x, pl::Ref o, pl::Ref hbm_scratch, pl::Ref copy_sem, pl::Ref remote_recv_sem,
                        pl::Ref remote_send_sem, pl::Ref capacity_sem, pl::Ref receive_scratch) {
                      const Array outer_step = pl::program_id(0);
                      const Array working_slot = pl::rem(outer_step, 2), receiving_slot = 1 - working_slot;
                      const Neighbours n;
                      pl::when(outer_step == 0, [&] {
                        localBarrier(n);
                        o[_] = pl::zeros_like(o);
                        receive_scratch[_] = pl::zeros_like(receive_scratch);
                        const auto initial_copy = pl::make_async_remote_copy(
                            x, hbm_scratch.at(working_slot), remote_send_sem, remote_recv_sem, pl::DeviceId{n.right});
                        initial_copy.start();
                        initial_copy.wait();
                        // Signal to the left neighbour that this device is ready to receive.
                        if (missing != Missing::capacity)
                          pl::semaphore_signal(capacity_sem, 1, {.device_id = pl::DeviceId{n.left}});
                      });
                      const auto local_copy =
                          pl::make_async_copy(hbm_scratch.at(working_slot), receive_scratch, copy_sem);
                      local_copy.start();
                      // Block until the right neighbour is ready to receive.
                      pl::when(outer_step < kDevices - 1, [&] {
                        if (missing != Missing::capacity) pl::semaphore_wait(capacity_sem, 1);
                        const auto remote_copy =
                            pl::make_async_remote_copy(hbm_scratch.at(working_slot), hbm_scratch.at(receiving_slot),
                                                       remote_send_sem, remote_recv_sem, pl::DeviceId{n.right});
                        remote_copy.start();
                        if (missing != Missing::order) local_copy.wait();
                        o[_] += receive_scratch[_];
                        if (missing == Missing::order) local_copy.wait();
                        remote_copy.wait();
                        pl::when(outer_step < kDevices - 2, [&] {
                          if (missing != Missing::capacity)
                            pl::semaphore_signal(capacity_sem, 1, {.device_id = pl::DeviceId{n.left}});
                        });
                      });
                      pl::when(outer_step == kDevices - 1, [&] {
                        local_copy.wait();
                        o[_] += receive_scratch[_];
                      });
                    },
                    {.out_shape = {{{8, 128}, pl::f32}, {{2, 8, 128}, pl::f32}},
                     .grid = {kDevices},
                     .in_specs = {kAny},
                     .out_specs = {pl::BlockSpec(pl::vmem), kAny},
                     .scratch_shapes = {pl::semaphore_type::dma(), pl::semaphore_type::dma(), pl::semaphore_type::dma(),
                                        pl::semaphore_type::regular(), pl::vmem({8, 128}, pl::f32)},
                     .compiler_params = {.collective_id = 0}}),
                pl::P());
}

std::set<std::string> codes(const pl::ShardMap& f, const Array& x) {
  std::set<std::string> found;
  const auto report = pl::attempt([&] { return f.check(x); });
  if (!report) {
    found.insert(report.error().code);
    for (const auto& d : report.error().related) found.insert(d.code);
    return found;
  }
  for (const auto& finding : report->findings) found.insert(finding.diagnostic.code);
  return found;
}

Array input() { return counting({8 * kDevices, 128}); }

TEST(DistributedGuide, RightPermute) {
  const Array y = rightPermute()(input());
  for (int64_t d = 0; d < kDevices; ++d)
    EXPECT_EQ(y.as<float>()[d * 1024], float((d + kDevices - 1) % kDevices * 1024));
  EXPECT_EQ(codes(rightPermute(), input()), std::set<std::string>{});
}

TEST(DistributedGuide, AllGather) {
  expectEqual(allGather()(input()), pl::reshape(input(), {kDevices, 8, 128}));
  EXPECT_EQ(codes(allGather(), input()), std::set<std::string>{});
}

TEST(DistributedGuide, AllReduce) {
  expectEqual(allReduce()(input()), pl::sum(pl::reshape(input(), {kDevices, 8, 128}), {.axes = {0}}));
  EXPECT_EQ(codes(allReduce(), input()), std::set<std::string>{});
}

TEST(DistributedGuide, MissingLinesAreFound) {
  // Without a barrier of its own a kernel begins with one of all devices (S-G9).
  EXPECT_EQ(codes(rightPermute(Missing::barrier), input()), std::set<std::string>{});
  EXPECT_EQ(codes(rightPermute(Missing::signal), input()), std::set<std::string>{"SM4103"});  // nobody signals again
  for (const Missing wait : {Missing::receive, Missing::send}) {
    const std::set<std::string> found = codes(rightPermute(wait), input());
    EXPECT_TRUE(found.contains("SM4106") && found.contains("SM4109"));  // a count that is left, a copy in flight
  }
  EXPECT_TRUE(codes(allReduce(Missing::capacity), input()).contains("SM4113"));
  EXPECT_TRUE(codes(allReduce(Missing::order), input()).contains("SM4108"));
}

TEST(DistributedGuide, SJ5_ModulesOfTheGuideSayWhatJaxSays) {
  const auto text = pl::unwrap(rightPermute().lower(input()).stablehlo());
  for (const char* part : {R"(sdy.mesh @mesh = <["x"=4]>)", R"(in_shardings=[<@mesh, [{"x"}, {}]>])",
                           "mhlo.num_partitions = 4", R"(\22has_communication\22: true)", R"(\22collective_id\22: 0)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

}  // namespace
