// run_scoped, copies and semaphores (E4 – E6, G, H).
#include <gtest/gtest.h>

#include "Helpers.h"

namespace pl = smalti;
using pl::_, pl::testing::codeOf, pl::testing::everyWay, pl::testing::expectEqual;

namespace {

pl::Array iota(pl::Shape shape) {
  std::vector<float> v(pl::num_elements(shape));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i);
  return pl::array(v, shape);
}

const pl::BlockSpec kAny{pl::any_space};

TEST(Scoped, RunScopedGivesWhatTheBodyReturns) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        const auto [v, s] = pl::run_scoped(
            [&](pl::Ref buffer, pl::Ref scalar) {
              buffer[_] = x[_] * 2;
              scalar[0] = 3.0f;
              return std::pair{buffer[_].value(), scalar[0].value()};
            },
            pl::vmem({8, 128}, pl::f32), pl::smem({1}, pl::f32));
        o[_] = v + s;
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  expectEqual(everyWay(call, iota({8, 128})), iota({8, 128}) * 2 + 3);
}

TEST(Scoped, WithScopedPassesArgumentsFirst) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        const auto twice = pl::with_scoped(pl::vmem({8, 128}, pl::f32))([](pl::Ref x, pl::Ref o, pl::Ref buffer) {
          buffer[_] = x[_] + x[_];
          o[_] = buffer[_];
        });
        twice(x, o);
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  expectEqual(everyWay(call, iota({8, 128})), iota({8, 128}) * 2);
}

TEST(Scoped, EmptyRefIsMemoryOfTheScope) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        const pl::Ref buffer = pl::empty_ref(pl::vmem.like(x));
        buffer[_] = x[_];
        o[_] = buffer[_];
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  expectEqual(everyWay(call, iota({8, 128})), iota({8, 128}));
}

TEST(Scoped, HbmCannotBeAllocated) {
  EXPECT_EQ(codeOf([] {
              pl::pallas_call([](pl::Ref o) { pl::run_scoped([](pl::Ref) {}, pl::hbm({8, 128}, pl::f32)); },
                              {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}})
                  .lower();
            }),
            "SM6120");
}

TEST(Dma, SG1_CopyOfSlicesThroughScratch) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o, pl::Ref buffer, pl::Ref sems) {
        pl::loop(0, 4, [&](const pl::Array& i) {
          const auto in = pl::make_async_copy(x.at(pl::ds(i * 8, 8), pl::ds(128, 128)), buffer, sems.at(0));
          in.start();
          in.wait();
          buffer[_] += 1;
          const auto out = pl::make_async_copy(buffer, o.at(pl::ds((3 - i) * 8, 8)), sems.at(1));
          out.start({.priority = 1});
          out.wait();
        });
      },
      {.out_shape = pl::ShapeDtype{{32, 128}, pl::f32},
       .in_specs = {kAny},
       .out_specs = {kAny},
       .scratch_shapes = {pl::vmem({8, 128}, pl::f32), pl::semaphore_type::dma({2})}});
  const pl::Array z = everyWay(call, iota({32, 256}));
  for (int64_t r = 0; r < 32; ++r)
    for (int64_t c = 0; c < 128; ++c)
      ASSERT_EQ(z.as<float>()[r * 128 + c], static_cast<float>(((3 - r / 8) * 8 + r % 8) * 256 + 128 + c + 1));
}

TEST(Dma, SG2_SeveralCopiesShareASemaphore) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        pl::run_scoped(
            [&](pl::Ref sem) {
              std::vector<pl::AsyncCopyDescriptor> copies;
              for (int i = 0; i < 4; ++i)
                copies.push_back(pl::async_copy(x.at(pl::ds(i * 8, 8)), o.at(pl::ds(i * 8, 8)), sem));
              for (const auto& copy : copies) copy.wait();
            },
            pl::semaphore_type::dma());
      },
      {.out_shape = pl::ShapeDtype{{32, 128}, pl::f32}, .in_specs = {kAny}, .out_specs = {kAny}});
  expectEqual(everyWay(call, iota({32, 128})), iota({32, 128}));
}

TEST(Dma, SG3_ARegularSemaphoreCountsCopies) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        pl::run_scoped(
            [&](pl::Ref sem) {
              pl::async_copy(x, o, sem);
              pl::semaphore_wait(sem, 1);
            },
            pl::semaphore_type::regular());
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .in_specs = {kAny}, .out_specs = {kAny}});
  expectEqual(everyWay(call, iota({8, 128})), iota({8, 128}));
}

TEST(Dma, SG4_SignalsAddAndWaitsTakeOff) {
  const auto call = pl::pallas_call(
      [](pl::Ref o, pl::Ref sem) {
        pl::semaphore_signal(sem, 3);
        pl::semaphore_wait(sem, 2);
        o[0] = pl::semaphore_read(sem);
        pl::semaphore_wait(sem);
      },
      {.out_shape = pl::ShapeDtype{{1}, pl::i32},
       .out_specs = {pl::BlockSpec{pl::smem}},
       .scratch_shapes = {pl::semaphore_type::regular()}});
  EXPECT_TRUE(call.check().findings.empty());
  const pl::Array z = call();
  EXPECT_EQ(z.as<int32_t>()[0], 1);
}

TEST(Dma, SG12_ADescriptorMadeAgainWaits) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o, pl::Ref sem) {
        pl::make_async_copy(x, o, sem).start();
        pl::make_async_copy(x, o, sem).wait();
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32},
       .in_specs = {kAny},
       .out_specs = {kAny},
       .scratch_shapes = {pl::semaphore_type::dma()}});
  expectEqual(everyWay(call, iota({8, 128})), iota({8, 128}));
}

TEST(Dma, SG13_BitcastRefsAndChainsOfSlices) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o) {
        pl::sync_copy(x.at(1).at(pl::ds(8, 8), pl::all_of).bitcast(pl::i32), o.at(0).bitcast(pl::i32));
        pl::sync_copy(x.at(0, pl::ds(0, 8)), o.at(1));
      },
      {.out_shape = pl::ShapeDtype{{2, 8, 128}, pl::f32}, .in_specs = {kAny}, .out_specs = {kAny}});
  const pl::Array z = everyWay(call, iota({2, 16, 128}));
  EXPECT_EQ(z.as<float>()[0], 24 * 128);
  EXPECT_EQ(z.as<float>()[8 * 128 + 5], 5);
}

TEST(Dma, DynamicSizes) {
  const auto call = pl::pallas_call(
      [](pl::Ref n, pl::Ref x, pl::Ref o) {
        const pl::Array rows = n[0];
        pl::sync_copy(x.at(pl::ds(8, rows)), o.at(pl::ds(0, rows)));
        pl::sync_copy(x.at(pl::ds(0, 32 - rows)), o.at(pl::ds(rows, 32 - rows)));
      },
      {.out_shape = pl::ShapeDtype{{32, 128}, pl::f32},
       .in_specs = {pl::BlockSpec{pl::smem}, kAny},
       .out_specs = {kAny}});
  const pl::Array z = everyWay(call, pl::array(std::vector<int32_t>{16}), iota({32, 128}));
  EXPECT_EQ(z.as<float>()[0], 8 * 128);
  EXPECT_EQ(z.as<float>()[16 * 128 + 1], 1);
}

TEST(Dma, SD14_SelectRefChoosesAtRunTime) {
  const auto call = pl::pallas_call(
      [](pl::Ref a, pl::Ref b, pl::Ref c, pl::Ref o) {
        pl::loop(0, 4, [&](const pl::Array& i) {
          const pl::Ref chosen = pl::select_ref(i, {a, b, c});
          pl::sync_copy(chosen.at(pl::ds(8, 8)), o.at(pl::ds(i * 8, 8)));
        });
      },
      {.out_shape = pl::ShapeDtype{{32, 128}, pl::f32}, .in_specs = {kAny, kAny, kAny}, .out_specs = {kAny}});
  const pl::Array x = iota({16, 128});
  const pl::Array z = everyWay(call, x, x * 2, x * 3);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(z.as<float>()[i * 8 * 128 + 1], 1025.0f * static_cast<float>(std::min(i, 2) + 1));
  EXPECT_EQ(codeOf([&] {
              pl::pallas_call(
                  [](pl::Ref a, pl::Ref b, pl::Ref o) { o[_] = pl::select_ref(pl::program_id(0), {a, b})[_]; },
                  {.out_shape = pl::ShapeDtype{{16, 128}, pl::f32}, .grid = {1}})
                  .lower(x, x);
            }),
            "SM6507");
}

TEST(Dma, RemoteCopiesAreLowered) {
  const auto call = pl::pallas_call(
      [](pl::Ref x, pl::Ref o, pl::Ref send, pl::Ref receive) {
        const pl::Ref barrier = pl::get_barrier_semaphore();
        pl::semaphore_signal(barrier, 1, {.device_id = pl::DeviceId(1)});
        pl::semaphore_wait(barrier);
        const auto copy = pl::make_async_remote_copy(x, o, send, receive, 1, pl::DeviceIdType::logical);
        copy.start();
        copy.wait();
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32},
       .in_specs = {kAny},
       .out_specs = {kAny},
       .scratch_shapes = {pl::semaphore_type::dma(), pl::semaphore_type::dma()},
       .compiler_params = {.collective_id = 0}});
  const std::string text = call.lower(iota({8, 128})).mosaic(true);
  for (const char* part : {"tpu.sem_barrier", "array<i32: 1, 1, 1, 0, 0>", "array<i32: 1, 1, 1, 1, 1, 0, 0>",
                           "array<i32: 1, 0, 1, 1, 0, 0, 0>", "wait_target = true"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

/// A copy from x to o of the device `id`, with the call's mesh.
pl::PallasCall copyTo(const pl::DeviceId& id, std::vector<pl::MeshAxis> mesh,
                      pl::DeviceIdType type = pl::DeviceIdType::mesh) {
  return pl::pallas_call([=](pl::Ref x, pl::Ref o, pl::Ref send,
                             pl::Ref receive) { pl::async_remote_copy(x, o, send, receive, id, type).wait(); },
                         {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32},
                          .in_specs = {kAny},
                          .out_specs = {kAny},
                          .scratch_shapes = {pl::semaphore_type::dma(), pl::semaphore_type::dma()},
                          .mesh = std::move(mesh)});
}

TEST(Dma, SG7_DeviceIdsAreTuplesAndDictsOfTheMesh) {
  const pl::Array x = iota({8, 128});
  // On one device every way to name it is the same.
  const std::vector<pl::MeshAxis> one{{"x", 1}, {"y", 1}};
  expectEqual(copyTo({0, 0}, one)(x), x);
  expectEqual(copyTo({{"y", 0}}, one)(x), x);
  expectEqual(copyTo(0, one, pl::DeviceIdType::logical)(x), x);
  expectEqual(copyTo(0, {})(x), x);
  expectEqual(copyTo(0, {{"x", 1}})(x), x);
  // On several the number is the row-major one; axes that are left out are this device's own.
  const std::vector<pl::MeshAxis> mesh{{"x", 2}, {"y", 3}, {"z", 4}};
  EXPECT_NE(copyTo({{{"y", "z"}, 6}, {"x", 1}}, mesh).lower(x).mosaic().find("arith.constant 18 : i32"),
            std::string::npos);
  EXPECT_NE(copyTo({1, 2, 3}, mesh).lower(x).mosaic().find("arith.constant 23 : i32"), std::string::npos);
  const std::string text = copyTo({{"x", 1}, {"z", 3}}, mesh).lower(x).mosaic();
  EXPECT_NE(text.find("tpu.device_id"), std::string::npos) << text;
}

TEST(Dma, AxesOfTheMeshByName) {
  const auto call = pl::pallas_call(
      [](pl::Ref o) { o[_] = pl::full_like(o, pl::axis_index("y") * 10 + pl::axis_size("y") + pl::axis_index("i")); },
      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .grid = {{"i", 1}}, .mesh = {{"x", 1}, {"y", 1}}});
  EXPECT_EQ(*pl::Array(call()).as<float>(), 1);
}

TEST(Dma, DeviceIdsNeedAMesh) {
  const auto said = [](const pl::DeviceId& id, std::vector<pl::MeshAxis> mesh, pl::DeviceIdType type) {
    const auto made = pl::attempt([&] { return copyTo(id, std::move(mesh), type).lower(iota({8, 128})); });
    return made ? "nothing" : made.error().code + ": " + made.error().message;
  };
  constexpr auto kMesh = pl::DeviceIdType::mesh, kLogical = pl::DeviceIdType::logical;
  EXPECT_EQ(said({1, 2}, {}, kMesh),
            "SM6508: Number of device ids must match the number of mesh axes, but got 2 ids for a 0D mesh");
  EXPECT_EQ(said({1, 2}, {{"x", 8}}, kMesh),
            "SM6508: Number of device ids must match the number of mesh axes, but got 2 ids for a 1D mesh");
  EXPECT_EQ(said({{"x", 1}}, {}, kMesh), "SM6508: Unrecognized axes in device_id: x");
  EXPECT_EQ(said({{"x", 1}}, {{"x", 2}}, kLogical), "SM6508: `device_id_type` must be MESH if `device_id` is a dict");
  EXPECT_EQ(said({1, 2}, {{"x", 2}}, kLogical), "SM6508: a logical device_id is one number");
  EXPECT_EQ(said({1, 2}, {{"x", 2}, {"y", 2}}, kMesh), "SM6508: device_id 2 is outside the 2 devices of mesh axis 'y'");
  EXPECT_EQ(said(1.5f, {}, kLogical), "SM6508: a device_id is not an integer scalar");
  EXPECT_EQ(said(0, {{"x", 0}}, kMesh), "SM6202: mesh axis 'x' has 0 devices");
  EXPECT_EQ(said(0, {{"x", 1}, {"x", 1}}, kMesh), "SM6202: two mesh axes are named 'x'");
}

TEST(Dma, WrongCopiesAreRefused) {
  const auto code = [](const auto& body) {
    return codeOf([&] {
      pl::pallas_call([&](pl::Ref x, pl::Ref o, pl::Ref sem, pl::Ref sems) { body(x, o, sem, sems); },
                      {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32},
                       .in_specs = {kAny},
                       .out_specs = {kAny},
                       .scratch_shapes = {pl::semaphore_type::regular(), pl::semaphore_type::dma({2})}})
          .lower(iota({16, 128}));
    });
  };
  using R = const pl::Ref&;
  EXPECT_EQ(code([](R x, R o, R, R sems) { pl::async_copy(x, o, sems.at(0)); }), "SM6501");
  EXPECT_EQ(code([](R x, R o, R, R sems) { pl::async_copy(x.at(pl::ds(0, 8)), o.bitcast(pl::i32), sems.at(0)); }),
            "SM6501");
  EXPECT_EQ(code([](R x, R o, R, R sems) { pl::async_copy(x.at(pl::ds(0, 8)), o, sems); }), "SM6502");
  EXPECT_EQ(code([](R x, R o, R, R) { pl::async_copy(x.at(pl::ds(0, 8)), o, x); }), "SM6502");
  EXPECT_EQ(code([](R x, R o, R, R sems) { pl::async_copy(x.at(pl::ds(0, 8)), o, sems.at(0), {.priority = 2}); }),
            "SM6503");
  EXPECT_EQ(code([](R x, R o, R sem, R) { pl::async_copy(x.at(pl::ds(0, 8)), o, sem).wait(); }), "SM6504");
  EXPECT_EQ(code([](R x, R o, R, R sems) { pl::async_copy(x.at(pl::ds(0, 8)), o, sems.at(1)).wait_send(); }), "SM6504");
  EXPECT_EQ(code([](R, R, R, R sems) { pl::semaphore_signal(sems, 1); }), "SM6505");
  EXPECT_EQ(code([](R, R, R sem, R) { pl::semaphore_wait(sem, 1.5f); }), "SM6506");
}

}  // namespace
