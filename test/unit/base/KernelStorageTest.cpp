#include "base/memory/KernelStorage.h"

#include <array>

#include <gtest/gtest.h>

namespace smalti {
namespace {

TEST(KernelStorage, UnsignedSubBytesAreSignExtendedInside) {
  ASSERT_TRUE(storageDiffers(DType::u4, DType::i4));
  Array array = *Array::allocate({DType::u4, {3}});
  const std::array<uint8_t, 3> elements{0, 7, 15};
  std::copy(elements.begin(), elements.end(), array.as<uint8_t>());
  const Array inside = *toKernelStorage(array, DType::i4);
  EXPECT_EQ(inside.as<int8_t>()[0], 0);
  EXPECT_EQ(inside.as<int8_t>()[1], 7);
  EXPECT_EQ(inside.as<int8_t>()[2], -1);
  const Array back = *fromKernelStorage(inside, array.type());
  EXPECT_TRUE(std::equal(elements.begin(), elements.end(), back.as<uint8_t>()));
}

TEST(KernelStorage, SemaphoresAre64BitCounts) {
  ASSERT_TRUE(storageDiffers(DType::i32, DType::semaphore));
  Array array = *Array::allocate({DType::i32, {2}});
  array.as<int32_t>()[0] = 3;
  array.as<int32_t>()[1] = 1 << 20;
  const Array inside = *toKernelStorage(array, DType::semaphore);
  EXPECT_EQ(inside.as<int64_t>()[1], 1 << 20);
  const Array back = *fromKernelStorage(inside, array.type());
  EXPECT_EQ(back.as<int32_t>()[0], 3);
}

TEST(KernelStorage, OtherArraysAreSharedUnderTheirOtherType) {
  EXPECT_FALSE(storageDiffers(DType::u8, DType::i8));
  EXPECT_FALSE(storageDiffers(DType::f32, DType::f32));
  const Array array = *Array::allocate({DType::u8, {4}});
  EXPECT_EQ(retyped(array, {DType::i8, {4}}).data(), array.data());
}

}  // namespace
}  // namespace smalti
