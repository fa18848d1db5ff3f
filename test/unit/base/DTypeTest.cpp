#include "smalti/dtype.h"

#include <gtest/gtest.h>

namespace smalti {
namespace {

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType t = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name(t)), t);
    EXPECT_GE(storage_bytes(t) * 8, bit_width(t));
  }
  EXPECT_FALSE(dtype_from_name("f31"));
}

TEST(DType, SignlessDropsOnlySignedness) {
  EXPECT_EQ(signless(DType::u4), DType::i4);
  EXPECT_EQ(signless(DType::u64), DType::i64);
  EXPECT_EQ(signless(DType::bf16), DType::bf16);
  EXPECT_EQ(signless(DType::pred), DType::pred);
}

}  // namespace
}  // namespace smalti
