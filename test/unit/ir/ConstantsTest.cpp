// Which values are known constants.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "ir/KernelPackage.h"
#include "ir/facts/Constants.h"

namespace smalti {
namespace {

/// `ask` of the result of the last op.
template <class Ask>
auto after(std::string_view ops, Ask ask) {
  const auto context = makeContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      fmt::format("func.func @k(%x: vector<8x128xf32>, %n: i32) {{\n{}\nreturn\n}}", ops),
      mlir::ParserConfig(context.get()));
  if (!module) throw std::runtime_error("no module");
  mlir::Block& body = (*module->getOps<mlir::func::FuncOp>().begin()).getBody().front();
  return ask(std::prev(body.without_terminator().end())->getResult(0));
}

bool isZeroAfter(std::string_view ops) { return after(ops, isZero); }

TEST(Zero, ConstantsAreZeroIfEveryElementIs) {
  EXPECT_TRUE(isZeroAfter("%z = arith.constant 0 : i32"));
  EXPECT_TRUE(isZeroAfter("%z = arith.constant dense<0> : vector<8x128xi8>"));
  EXPECT_TRUE(isZeroAfter("%z = arith.constant dense<0.0> : vector<8x128xbf16>"));
  EXPECT_TRUE(isZeroAfter("%z = arith.constant false"));
  EXPECT_FALSE(isZeroAfter("%z = arith.constant dense<[0, 1]> : vector<2xi32>"));
  EXPECT_FALSE(isZeroAfter("%z = arith.constant dense<1.0e-40> : vector<8x128xf32>"));
}

// An accumulator that begins at -0 keeps its sign when zeros of that sign are added.
TEST(Zero, NegativeZeroIsNotZero) {
  EXPECT_FALSE(isZeroAfter("%z = arith.constant -0.0 : f32"));
  EXPECT_FALSE(isZeroAfter("%z = arith.constant dense<-0.0> : vector<8x128xf32>"));
}

TEST(Zero, BroadcastsAndConversionsKeepIt) {
  EXPECT_TRUE(isZeroAfter("%s = arith.constant 0.0 : f32\n%z = vector.broadcast %s : f32 to vector<8x128xf32>"));
  EXPECT_TRUE(isZeroAfter(R"(
    %i = arith.constant dense<0> : vector<8x128xi32>
    %f = arith.sitofp %i : vector<8x128xi32> to vector<8x128xf32>
    %z = arith.truncf %f : vector<8x128xf32> to vector<8x128xbf16>)"));
  EXPECT_FALSE(isZeroAfter("%z = arith.truncf %x : vector<8x128xf32> to vector<8x128xbf16>"));
  EXPECT_FALSE(isZeroAfter("%z = arith.mulf %x, %x : vector<8x128xf32>"));
}

TEST(ConstantIndex, IsKnownThroughCasts) {
  EXPECT_EQ(after("%c = arith.constant 3 : i32\n%i = arith.index_cast %c : i32 to index", constantIndex), 3);
  EXPECT_EQ(after("%i = arith.constant -1 : index", constantIndex), -1);
  EXPECT_EQ(after("%i = arith.index_cast %n : i32 to index", constantIndex), std::nullopt);
}

TEST(ConstantIndex, CastsToNarrowTypesKeepTheLowBits) {
  const auto index = [](std::string_view ops) { return after(ops, constantIndex); };
  EXPECT_EQ(index("%c = arith.constant 300 : i32\n%i = arith.index_cast %c : i32 to index"), 300);
  const std::string_view narrow =
      "%c = arith.constant 300 : index\n%s = arith.index_cast %c : index to i8\n%i = arith.index_cast %s : i8 to index";
  EXPECT_EQ(index(narrow), 44);
  EXPECT_EQ(index("%i = arith.index_cast %n : i32 to index"), std::nullopt);
}

}  // namespace
}  // namespace smalti
