#include <gtest/gtest.h>

#include "smalti/smalti.h"

namespace pl = smalti;
using pl::_;

namespace {

TEST(Language, VectorAdd) {
  std::vector<float> xs(1024 * 128), ys(1024 * 128);
  for (size_t i = 0; i < xs.size(); ++i) xs[i] = float(i), ys[i] = 2 * float(i);
  const pl::Array x = pl::array(xs, {1024, 128}), y = pl::array(ys, {1024, 128});
  const pl::BlockSpec rows{{256, 128}, [](auto i) { return std::tuple{i, 0}; }};
  const auto add = pl::pallas_call([](pl::Ref x, pl::Ref y, pl::Ref o) { o[_] = x[_] + y[_] * 2; },
                                   {.out_shape = pl::ShapeDtype{{1024, 128}, pl::f32},
                                    .grid = {4},
                                    .in_specs = {rows, rows},
                                    .out_specs = {rows},
                                    .name = "add"});
  const pl::Array z = add(x, y);
  for (size_t i = 0; i < xs.size(); ++i) ASSERT_EQ(z.as<float>()[i], xs[i] + ys[i] * 2);
}

struct MatmulBlocks {
  int64_t m, n, k;
};

pl::Array matmul(const pl::Array& x, const pl::Array& y, MatmulBlocks b) {
  const int64_t m = x.dim(0), k = x.dim(1), n = y.dim(1), k_steps = k / b.k;
  auto kernel = [=](pl::Ref x, pl::Ref y, pl::Ref z, pl::Ref acc) {
    pl::when(pl::program_id(2) == 0, [&] { acc[_] = pl::zeros_like(acc); });
    acc[_] += pl::dot(x[_], y[_], {.preferred_element_type = pl::f32});
    pl::when(pl::program_id(2) == k_steps - 1, [&] { z[_] = pl::astype(acc[_], z.dtype()); });
  };
  return pl::pallas_call(
      kernel, {.out_shape = pl::ShapeDtype{{m, n}, x.dtype()},
               .grid = {m / b.m, n / b.n, k_steps},
               .in_specs = {pl::BlockSpec{{b.m, b.k}, [](auto i, auto j, auto k) { return std::tuple{i, k}; }},
                            pl::BlockSpec{{b.k, b.n}, [](auto i, auto j, auto k) { return std::tuple{k, j}; }}},
               .out_specs = {pl::BlockSpec{{b.m, b.n}, [](auto i, auto j, auto k) { return std::tuple{i, j}; }}},
               .scratch_shapes = {pl::vmem({b.m, b.n}, pl::f32)},
               .compiler_params = {.dimension_semantics = {pl::parallel, pl::parallel, pl::arbitrary}}})(x, y);
}

TEST(Language, TiledMatmul) {
  const pl::Array x = pl::ones({256, 256}), y = pl::full({256, 384}, 0.5f);
  const pl::Array z = matmul(x, y, {128, 128, 128});
  for (int64_t i = 0; i < z.elements(); ++i) ASSERT_EQ(z.as<float>()[i], 128.0f);
}

TEST(Language, ResultsAreOperands) {
  const pl::ShapeDtype like{{8, 128}, pl::f32};
  const auto twice = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] * 2; }, {.out_shape = like});
  const auto both =
      pl::pallas_call([](pl::Ref x, pl::Ref o, pl::Ref p) { o[_] = x[_], p[_] = x[_]; }, {.out_shape = {like, like}});
  const pl::Array x = pl::ones({8, 128});
  EXPECT_EQ(pl::Array(twice(twice(x))).as<float>()[7], 4.0f);
  EXPECT_EQ((twice(x) + 1 - pl::sqrt(twice(twice(x)))).as<float>()[7], 1.0f);
  const auto wrong = pl::attempt([&] { return pl::Array(twice(both(x))); });
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "SM6201");
}

TEST(Language, ErrorsHaveTheUsersLine) {
  const auto call = pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] + pl::zeros({3, 128}); },
                                    {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}, .name = "wrong"});
  try {
    call(pl::ones({8, 128}));
    FAIL();
  } catch (const pl::Error& e) {
    EXPECT_EQ(e.diagnostic().code, "SM6301");
  }
}

}  // namespace
