// Refs as the runtime uses them, and views with sizes known only at run time.
#include "Harness.h"
#include "machine/Shadow.h"

namespace smalti::machine::test {
namespace {

TEST(Ref, ReshapesOfDenseViewsStayStrided) {
  auto b = makeBuffer("b", DType::f32, {4, 6}, {0});
  const Ref whole = Ref::whole(*b);
  EXPECT_TRUE(whole.reshape(Shape{24}).strided());
  EXPECT_TRUE(whole.reshape(Shape{2, 2, 3, 2}).strided());
  const Ref columns = whole.slice(Shape{0, 2}, Shape{4, 4});
  EXPECT_TRUE(columns.reshape(Shape{2, 2, 4}).strided());     // splits rows
  EXPECT_TRUE(columns.reshape(Shape{4, 1, 2, 2}).strided());  // splits columns
  EXPECT_FALSE(columns.reshape(Shape{16}).strided());         // joins what is apart
  EXPECT_TRUE(whole.slice(Shape{1, 0}, Shape{1, 6}).squeeze(Shape{6}).strided());
}

TEST(Ref, WritingAWholeBufferMakesItDefined) {
  auto b = makeBuffer("b", DType::f32, {2, 2}, {});
  const float ones[4] = {1, 1, 1, 1};
  Ref::whole(*b).slice(Shape{0, 0}, Shape{1, 2}).write(reinterpret_cast<const std::byte*>(ones), nullptr);
  EXPECT_EQ(b->defined, (std::vector<uint8_t>{1, 1, 0, 0}));
  Ref::whole(*b).write(reinterpret_cast<const std::byte*>(ones), nullptr);
  EXPECT_TRUE(b->allDefined);
  const uint8_t mask[4] = {1, 0, 1, 1};
  Ref::whole(*b).write(reinterpret_cast<const std::byte*>(ones), mask);
  EXPECT_FALSE(b->allDefined);
  uint8_t seen[4] = {};
  float data[4];
  EXPECT_FALSE(Ref::whole(*b).read(reinterpret_cast<std::byte*>(data), seen));
  EXPECT_EQ(seen[1], 0);
}

TEST(Ref, MasksGoThroughChainsOfTransforms) {
  auto b = makeBuffer("b", DType::i16, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  b->materialiseShadow();
  b->defined[1] = 0;
  const Ref wide = Ref::whole(*b).bitcast(DType::i32, Shape{2, 2}).slice(Shape{0, 1}, Shape{2, 1});
  int32_t data[2];
  uint8_t mask[2];
  EXPECT_FALSE(wide.read(reinterpret_cast<std::byte*>(data), mask));
  EXPECT_EQ(data[0], 2 + 4 * 65536);
  EXPECT_EQ(mask[0], 0);
  EXPECT_EQ(mask[1], 1);
  const int32_t zeros[2] = {0, 0};
  wide.write(reinterpret_cast<const std::byte*>(zeros), nullptr);
  EXPECT_EQ(values(*b), (std::vector<double>{1, 0, 3, 0, 5, 0, 7, 0}));
  EXPECT_EQ(b->defined[1], 1);
  EXPECT_EQ(wide.dmaBytes(), 8);
}

TEST(Ref, SB6_SlicesOfArraysInHbmReachThePaddingOfTheLastTile) {
  auto b = makeBuffer("b", DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(Ref::whole(*b).padding.empty());  // of VMEM nothing lies outside
  b->space = MemoryKind::hbm;
  const Ref whole = Ref::whole(*b);
  EXPECT_EQ(whole.padding, (Shape{1, 126}));
  EXPECT_EQ(whole.slice(Shape{0, 0}, Shape{3, 1}).padding, (Shape{1, 0}));
  EXPECT_TRUE(whole.slice(Shape{0, 0}, Shape{2, 1}).padding.empty());
  const Ref part = whole.slice(Shape{1, 0}, Shape{3, 4});
  EXPECT_EQ(part.present, (Shape{2, 2}));
  float data[12] = {};
  uint8_t mask[12];
  EXPECT_FALSE(part.read(reinterpret_cast<std::byte*>(data), mask));
  EXPECT_EQ(std::vector<float>(data, data + 12), (std::vector<float>{3, 4, 0, 0, 5, 6, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(std::vector<uint8_t>(mask, mask + 12), (std::vector<uint8_t>{1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0}));
  for (int i = 0; i < 12; ++i) data[i] = static_cast<float>(10 + i);
  part.write(reinterpret_cast<const std::byte*>(data), nullptr);
  EXPECT_EQ(values(*b), (std::vector<double>{1, 2, 10, 11, 14, 15}));
  EXPECT_TRUE(b->allDefined);
  part.write(reinterpret_cast<const std::byte*>(data), mask);  // of the array all is defined
  EXPECT_EQ(b->defined, (std::vector<uint8_t>{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(part.slice(Shape{1, 1}, Shape{2, 2}).present, (Shape{1, 1}));
  EXPECT_EQ(part.dmaBytes(), 48);
}

TEST(Ref, SB6_ReshapedArraysInHbmKeepThePaddingOfTheirLastTile) {
  auto b = makeBuffer("b", DType::f32, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  b->space = MemoryKind::hbm;
  const Ref pairs = Ref::whole(*b).reshape(Shape{2, 2, 2});
  EXPECT_EQ(pairs.padding, (Shape{0, 0, 126}));
  const Ref part = pairs.slice(Shape{1, 0, 1}, Shape{1, 2, 3});
  EXPECT_EQ(part.present, (Shape{1, 2, 1}));
  float data[6] = {};
  uint8_t mask[6];
  EXPECT_FALSE(part.read(reinterpret_cast<std::byte*>(data), mask));
  EXPECT_EQ(std::vector<float>(data, data + 6), (std::vector<float>{6, 0, 0, 8, 0, 0}));
  EXPECT_EQ(std::vector<uint8_t>(mask, mask + 6), (std::vector<uint8_t>{1, 0, 0, 1, 0, 0}));
  for (int i = 0; i < 6; ++i) data[i] = static_cast<float>(10 + i);
  part.write(reinterpret_cast<const std::byte*>(data), nullptr);
  EXPECT_EQ(values(*b), (std::vector<double>{1, 2, 3, 4, 5, 10, 7, 13}));
  EXPECT_EQ(Ref::whole(*b).reshape(Shape{1, 4, 2}).padding, (Shape{0, 0, 126}));
  EXPECT_EQ(pairs.reshape(Shape{4, 2}).padding, (Shape{0, 126}));
  EXPECT_TRUE(Ref::whole(*b).reshape(Shape{8}).padding.empty());
}

TEST(Poison, FloatsAreNaNAndIntegersExtreme) {
  int32_t i = 0;
  poison(DType::i32, Poison::intMax, reinterpret_cast<std::byte*>(&i), 1);
  EXPECT_EQ(i, INT32_MAX);
  int8_t n = 0;
  poison(DType::i4, Poison::intMin, reinterpret_cast<std::byte*>(&n), 1);
  EXPECT_EQ(n, -8);
  poison(DType::u4, Poison::intMax, reinterpret_cast<std::byte*>(&n), 1);
  EXPECT_EQ(n, 15);
  float f = 0;
  poison(DType::f32, Poison::intMin, reinterpret_cast<std::byte*>(&f), 1);
  EXPECT_NE(f, f);
}

}  // namespace
}  // namespace smalti::machine::test
