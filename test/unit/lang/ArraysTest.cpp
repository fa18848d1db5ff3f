// Arrays and other libraries' memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "smalti/dlpack_interop.h"
#include "smalti/smalti.h"

namespace pl = smalti;

namespace {

TEST(Dlpack, GivesAndTakesTheSameMemory) {
  const pl::Array x = pl::arange(24, pl::f32);
  auto tensor = pl::to_dlpack(pl::reshape(x, {4, 6}));
  ASSERT_TRUE(tensor);
  EXPECT_EQ((*tensor)->dl_tensor.data, x.data());
  EXPECT_EQ((*tensor)->dl_tensor.dtype.code, 2);
  EXPECT_EQ((*tensor)->dl_tensor.dtype.bits, 32);
  EXPECT_EQ((*tensor)->dl_tensor.strides[0], 6);
  const auto back = pl::from_dlpack(*tensor);  // takes the tensor over
  ASSERT_TRUE(back);
  EXPECT_EQ(back->data(), x.data());
  EXPECT_EQ(back->type().str(), "f32[4,6]");
}

int released = 0;

TEST(Dlpack, OtherStridesAreCopied) {
  int32_t elements[] = {0, 1, 2, 3, 4, 5};
  int64_t shape[] = {3, 2}, strides[] = {1, 3};
  pl::dlpack::ManagedTensor tensor{
      {elements, {1, 0}, 2, {0, 32, 1}, shape, strides, 0}, nullptr, [](auto*) { ++released; }};
  released = 0;
  const auto x = pl::from_dlpack(&tensor);
  ASSERT_TRUE(x);
  EXPECT_EQ(released, 1);
  const std::vector<int32_t> wanted{0, 3, 1, 4, 2, 5};
  EXPECT_EQ(std::vector<int32_t>(x->as<int32_t>(), x->as<int32_t>() + 6), wanted);
}

TEST(Dlpack, SM6308_OtherMemoryIsRefused) {
  int64_t shape[] = {1};
  pl::dlpack::ManagedTensor tensor{
      {nullptr, {2, 0}, 1, {2, 32, 1}, shape, nullptr, 0}, nullptr, [](auto*) { ++released; }};
  released = 0;
  const auto x = pl::from_dlpack(&tensor);
  ASSERT_FALSE(x);
  EXPECT_EQ(x.error().code, "SM6308");
  EXPECT_EQ(released, 1);
  EXPECT_EQ(pl::to_dlpack(pl::zeros({2}, pl::i4)).error().code, "SM6308");
}

TEST(Dlpack, VersionedTensorsShareMemoryToo) {
  const pl::Array x = pl::arange(6, pl::f32);
  auto tensor = pl::to_dlpack_versioned(x, {1, 3}, pl::dlpack::kReadOnly);
  ASSERT_TRUE(tensor);
  EXPECT_EQ((*tensor)->version, (pl::dlpack::Version{1, 0}));
  EXPECT_EQ((*tensor)->flags, pl::dlpack::kReadOnly);
  EXPECT_EQ((*tensor)->dl_tensor.data, x.data());
  const auto shared = pl::from_dlpack(*tensor, /*share_read_only=*/true);
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->data(), x.data());
  EXPECT_EQ(pl::to_dlpack_versioned(x, {0, 8}).error().str(),
            R"(error[SM6308]: the consumer does not understand versioned tensors
  need: DLPack 1.0 or later
  have: at most 0.8
  help: give it a DLManagedTensor: to_dlpack
)");
}

TEST(Dlpack, ReadOnlyTensorsAreCopied) {
  float elements[] = {1, 2};
  int64_t shape[] = {2};
  pl::dlpack::VersionedTensor tensor{{1, 2},
                                     nullptr,
                                     [](auto*) { ++released; },
                                     pl::dlpack::kReadOnly,
                                     {elements, {1, 0}, 1, {2, 32, 1}, shape, {}, 0}};
  released = 0;
  {
    const auto copy = pl::from_dlpack(&tensor);
    ASSERT_TRUE(copy);
    EXPECT_EQ(released, 1);
    EXPECT_NE(static_cast<const void*>(copy->data()), elements);
    EXPECT_EQ(copy->as<float>()[1], 2);
  }
  released = 0;
  tensor.flags = 0;
  {
    const auto shared = pl::from_dlpack(&tensor);
    ASSERT_TRUE(shared);
    EXPECT_EQ(static_cast<const void*>(shared->data()), elements);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(Dlpack, SM6308_TensorsOfANewerMajorVersionAreRefusedAndReleased) {
  // Nothing after the deleter may be looked at.
  pl::dlpack::VersionedTensor tensor{{2, 1}, nullptr, [](auto*) { ++released; }, ~uint64_t{0}, {}};
  tensor.dl_tensor.ndim = -7;
  released = 0;
  EXPECT_EQ(pl::from_dlpack(&tensor).error().str(),
            R"(error[SM6308]: the tensor uses a newer version of DLPack with a different layout
  need: major version 1
  have: version 2.1
  help: ask the producer for an older one: __dlpack__(max_version=(1, 0))
)");
  EXPECT_EQ(released, 1);
}

TEST(Dlpack, MemoryThatIsNotAlignedIsCopied) {
  alignas(4) std::array<char, 12> bytes{};
  const std::array<float, 2> wanted{1.5F, -2};
  std::memcpy(bytes.data() + 1, wanted.data(), sizeof wanted);
  int64_t shape[] = {2};
  pl::dlpack::ManagedTensor tensor{
      {bytes.data(), {1, 0}, 1, {2, 32, 1}, shape, nullptr, 1}, nullptr, [](auto*) { ++released; }};
  released = 0;
  const auto x = pl::from_dlpack(&tensor);
  ASSERT_TRUE(x);
  EXPECT_EQ(released, 1);
  EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), x->as<float>()));
}

TEST(Dlpack, SM6308_TensorsWithoutShapeOrMemoryAreRefused) {
  int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40}, negative[] = {-1}, two[] = {2};
  pl::dlpack::ManagedTensor tensor{{nullptr, {1, 0}, 1, {2, 32, 1}, two, nullptr, 0}, nullptr, nullptr};
  EXPECT_EQ(pl::from_dlpack(&tensor).error().str(), R"(error[SM6308]: the tensor has no memory
  need: 8 bytes
  have: a null pointer
  help: copy the elements to a CPU tensor of a dtype that both have
)");
  for (auto [axes, shape] : {std::pair<int, int64_t*>{2, huge}, {1, negative}, {1, nullptr}, {-1, two}, {1000, two}}) {
    tensor.dl_tensor.ndim = axes;
    tensor.dl_tensor.shape = shape;
    EXPECT_EQ(pl::from_dlpack(&tensor).error().str(), fmt::format(R"(error[SM6308]: the tensor has no shape
  need: at most 12 axes, of sizes of 0 or more whose product 64 bits hold
  have: {} axes
  help: copy the elements to a CPU tensor of a dtype that both have
)",
                                                                  axes));
  }
}

TEST(Strided, NegativeAndZeroStrides) {
  const float elements[] = {1, 2, 3};
  const auto x = pl::from_strided({pl::f32, {2, 3}}, elements + 2, {0, -4});
  ASSERT_TRUE(x);
  const std::vector<float> wanted{3, 2, 1, 3, 2, 1};
  EXPECT_EQ(std::vector<float>(x->as<float>(), x->as<float>() + 6), wanted);
  EXPECT_FALSE(pl::from_strided({pl::f32, {2, 3}}, elements, {4}));
}

TEST(Item, OneElementOfAnyDtype) {
  EXPECT_EQ(pl::item<float>(pl::full({1, 1}, 2.5f, pl::bf16)), 2.5f);
  EXPECT_EQ(pl::item<int>(pl::sum(pl::arange(5))), 10);
  EXPECT_EQ(pl::attempt([] { return pl::item<int>(pl::arange(5)); }).error().code, "SM6303");
}

}  // namespace
