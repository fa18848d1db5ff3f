// The regions of refs that loads and stores access, against counting elements one by one.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "ir/KernelPackage.h"
#include "ir/facts/AccessBox.h"

namespace smalti {
namespace {

TEST(AccessBox, SpansFromTheFirstElementToTheLast) {
  EXPECT_TRUE(rc::check([] {
    const auto size = *rc::gen::inRange<int64_t>(1, 20), step = *rc::gen::inRange<int64_t>(0, 7);
    int64_t last = 0;
    for (int64_t i = 0; i < size; ++i) last = i * step;
    RC_ASSERT((AccessBox{{size}, {step}}.span(0)) == last + 1);
    RC_ASSERT((AccessBox{{size}, {}}.span(0)) == size);
  }));
}

TEST(AccessBox, HasASpanThatDoesNotOverflow) {
  EXPECT_EQ((AccessBox{{INT64_MAX}, {2}}.span(0)), INT64_MAX);
  EXPECT_EQ((AccessBox{{2}, {INT64_MAX}}.span(0)), INT64_MAX);
}

TEST(AccessBox, IsEmptyIfADimensionIs) {
  EXPECT_TRUE((AccessBox{{4, 0}, {}}.isEmpty()));
  EXPECT_FALSE((AccessBox{{4, 1}, {}}.isEmpty()));
  EXPECT_FALSE((AccessBox{{}, {}}.isEmpty())) << "a scalar";
}

/// The box of a strided load or store of a vector<4x8xf32> in a memref<16x8xf32>.
tl::expected<AccessBox, const char*> boxOf(bool isStore, int64_t step, size_t refRank, size_t indices,
                                           const Shape& value) {
  const std::string op =
      isStore ? "tpu.strided_store %x[%z, %z], %v {{strides = array<i32: {}, 1>}} : memref<16x8xf32>, vector<4x8xf32>"
              : "%y = tpu.strided_load %x[%z, %z] {{strides = array<i32: {}, 1>}} : memref<16x8xf32>, vector<4x8xf32>";
  const auto context = makeContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func @k(%x: memref<16x8xf32>, %v: vector<4x8xf32>) {\n%z = arith.constant 0 : index\n" +
          fmt::format(fmt::runtime(op), step) + "\nreturn\n}",
      mlir::ParserConfig(context.get(), /*verifyAfterParse=*/false));
  if (!module) return tl::unexpected<const char*>("the test's module is wrong");
  auto& block = (*module->getOps<mlir::func::FuncOp>().begin()).getBody().front();
  return accessBoxOf(*std::next(block.begin()), refRank, indices, value);
}

TEST(AccessBox, HasTheStridesOfTheOp) {
  const auto box = boxOf(false, 3, 2, 2, {4, 8});
  ASSERT_TRUE(box) << box.error();
  EXPECT_EQ(box->sizes, (Shape{4, 8}));
  EXPECT_EQ(box->step(0), 3);
  EXPECT_EQ(box->span(0), 10);
  EXPECT_EQ(box->span(1), 8);
}

TEST(AccessBox, HasLeadingDimensionsOfSizeOne) {
  const auto box = boxOf(true, 3, 2, 2, {8});
  ASSERT_TRUE(box) << box.error();
  EXPECT_EQ(box->sizes, (Shape{1, 8}));
  EXPECT_EQ(boxOf(true, 3, 2, 2, {})->sizes, (Shape{1, 1})) << "a scalar";
}

TEST(AccessBox, SaysWhyThereIsNone) {
  EXPECT_STREQ(boxOf(false, 1, 3, 2, {4, 8}).error(), "a load or store whose rank differs from its ref's");
  EXPECT_STREQ(boxOf(false, 1, 2, 2, {2, 2, 8}).error(), "a load or store whose rank differs from its ref's");
  EXPECT_STREQ(boxOf(false, -1, 2, 2, {4, 8}).error(), "a load or store with negative strides");
  EXPECT_STREQ(boxOf(true, 0, 2, 2, {4, 8}).error(), "a store with strides below 1");
  EXPECT_TRUE(boxOf(false, 0, 2, 2, {4, 8})) << "a load may repeat elements";
  EXPECT_TRUE(boxOf(true, 0, 2, 2, {1, 8})) << "one row";
}

}  // namespace
}  // namespace smalti
