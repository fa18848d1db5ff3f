// Functions whose results may be less exact: what the kernel's IR says, and what transformations leave of it.
#include <cmath>

#include <gtest/gtest.h>

#include "smalti/smalti.h"

namespace {

namespace pl = smalti;
using pl::_, pl::Array, pl::f32, pl::Ref;

pl::PallasCall exponentials(bool isTolerant) {
  return pl::pallas_call(
      [=](Ref x, Ref o) {
        if (!isTolerant) {
          o[_] = pl::exp(x[_]) + pl::exp2(x[_]);
          return;
        }
        o[_] = pl::exp(x[_], {.atol = 0x1p-100, .rtol = 0x1p-20}) + pl::exp2(x[_], {.atol = 0x1p-100, .rtol = 0x1p-20});
      },
      {.out_shape = pl::ShapeDtype{{8, 128}, f32}});
}

size_t count(const std::string& text, std::string_view words) {
  size_t found = 0;
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
  return found;
}

TEST(Tolerance, IsAnAttributeOfTheOp) {
  const std::string exact = exponentials(false).lower(pl::ones({8, 128})).mosaic(),
                    tolerant = exponentials(true).lower(pl::ones({8, 128})).mosaic();
  EXPECT_EQ(count(exact, "tolerance"), 0U);
  EXPECT_EQ(count(tolerant, "tolerance = array<f64: 7.8886090522101181E-31, 9.5367431640625E-7>"), 2U) << tolerant;
}

TEST(Tolerance, StaysUnderVmapAndGradientsAreThoseOfTheExactFunctions) {
  const auto call = exponentials(true);
  const auto f = [&](const Array& x) -> Array { return call(x); };
  const Array x = pl::full({3, 8, 128}, 0.5);
  const Array mapped = pl::vmap(f)(x);
  const double expected = std::exp(0.5) + std::exp2(0.5);
  EXPECT_NEAR(mapped.as<float>()[5], expected, 1e-5);
  const Array slope = pl::grad([&](const Array& y) { return pl::sum(Array(call(y))); })(pl::full({8, 128}, 0.5));
  EXPECT_NEAR(slope.as<float>()[7], std::exp(0.5) + std::exp2(0.5) * std::log(2.0), 1e-5);
}

/// Outside kernels they are exact, and exported programs do not mention a tolerance.
TEST(Tolerance, IsForKernelsOnly) {
  const auto f = pl::jit([](const Array& x) { return pl::exp(x, {.rtol = 0.5}); });
  EXPECT_NEAR(f(pl::ones({4})).as<float>()[0], std::exp(1.0), 1e-6);
  const std::string program = *f.lower(pl::ones({4})).stablehlo();
  EXPECT_EQ(count(program, "tol"), 0U) << program;
}

}  // namespace
