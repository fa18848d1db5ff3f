// The language without the layers above it: it traces, and says what is missing for more.
#include <gtest/gtest.h>

#include "smalti/error.h"
#include "smalti/ops.h"
#include "smalti/pallas_call.h"

namespace pl = smalti;
using pl::_;

TEST(LanguageAlone, SM9014_SaysThatNothingRunsKernels) {
  const auto call =
      pl::pallas_call([](pl::Ref x, pl::Ref o) { o[_] = x[_] + 1; }, {.out_shape = pl::ShapeDtype{{8, 128}, pl::f32}});
  const auto result = pl::attempt([&] { return pl::Array(call(pl::ones({8, 128}))); });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().str(), R"(error[SM9014]: no code that runs or exports kernels is linked
  need: libsmalti, or all layers of Smalti in a program that is linked statically
  have: the language alone
  help: link smalti::smalti, and include smalti/smalti.h in one file of the program
)");
}
