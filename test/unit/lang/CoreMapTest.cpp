// pl.kernel and pl.core_map: kernels for the cores of one chip.
#include "smalti/core_map.h"

#include <gtest/gtest.h>

#include "Helpers.h"
#include "smalti/dma.h"
#include "smalti/pipeline.h"

namespace pl = smalti;
using pl::_, pl::Array;
using smalti::testing::expectEqual;

namespace {

Array counting(pl::Shape shape) {
  const int64_t n = pl::num_elements(shape);
  return pl::reshape(pl::arange(n, pl::f32), std::move(shape));
}

pl::RunReport checkOnCores(const pl::PallasCall& call, const Array& x, std::string_view cores) {
  pl::Settings settings;
  pl::unwrap(settings.set("cores", cores));
  return call.with(settings).check(x);
}

pl::PallasCall doubled(bool ownRows) {
  return pl::kernel(
      [=](pl::Ref x, pl::Ref o, pl::Ref buffer, pl::Ref sem) {
        const Array row = ownRows ? pl::axis_index("core") * 8 : pl::axis_index("core") * 0;
        pl::async_copy(x.at(pl::ds(row, 8)), buffer, sem).wait();
        buffer[_] = buffer[_] * 2 + pl::axis_size("core");
        pl::async_copy(buffer, o.at(pl::ds(row, 8)), sem).wait();
      },
      {.out_shape = pl::ShapeDtype{{ownRows ? 16 : 8, 128}, pl::f32},
       .mesh = {"core", 2},
       .scratch_shapes = {pl::vmem({8, 128}, pl::f32), pl::semaphore_type::dma()},
       .name = "doubled"});
}

TEST(CoreMap, SH8_EachCoreTakesItsShareOfWhatStaysInHbm) {
  const Array x = counting({16, 128});
  expectEqual(doubled(true)(x), x * 2 + 2.0f);
  for (const char* cores : {"1", "2"}) EXPECT_TRUE(checkOnCores(doubled(true), x, cores).findings.empty());
  const auto found = checkOnCores(doubled(false), counting({8, 128}), "2").findings;
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].diagnostic.code, "SM4113");
}

TEST(CoreMap, KernelsOfCoresAreAParallelGridAxis) {
  // What JAX 0.10.2 lowers pl.kernel over a TensorCoreMesh of two cores to.
  const std::string text = doubled(true).lower(counting({16, 128})).mosaic();
  for (const char* part :
       {"dimension_semantics = [#tpu.dimension_semantics<parallel>]", "iteration_bounds = array<i64: 2>",
        "memref<16x128xf32, #tpu.memory_space<any>>", "window_params = [{}, {}]"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(CoreMap, CoreMapWorksOnTheRefsOfARunState) {
  const pl::CoreMesh mesh{"core", 2};
  const Array x = counting({16, 128});
  const auto values = pl::run_state(
      [&](pl::Ref x, pl::Ref y) {
        pl::core_map(mesh, [&] {
          const Array row = pl::axis_index("core") * 8;
          pl::sync_copy(x.at(pl::ds(row, 8)), y.at(pl::ds(8 - row, 8)));
        });
        pl::core_map(mesh, [&] {
          pl::run_scoped(
              [&](pl::Ref buffer) {
                const Array row = pl::axis_index("core") * 8;
                pl::sync_copy(y.at(pl::ds(row, 8)), buffer);
                buffer[_] = buffer[_] + 1;
                pl::sync_copy(buffer, y.at(pl::ds(row, 8)));
              },
              pl::vmem({8, 128}, pl::f32));
        });
      },
      {x, pl::zeros({16, 128})});
  ASSERT_EQ(values.size(), 2U);
  expectEqual(values[0], x);
  expectEqual(values[1], pl::concatenate({pl::slice(x, {8, 0}, {16, 128}), pl::slice(x, {0, 0}, {8, 128})}) + 1);
}

}  // namespace
