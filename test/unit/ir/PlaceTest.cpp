// Which line of the user's source a location stands for.
#include <gtest/gtest.h>

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "ir/KernelPackage.h"
#include "ir/Place.h"

namespace smalti {
namespace {

/// The place of an op with this location, in a module that is read from "k.mlir".
std::string placeOfText(const std::string& location) {
  auto context = makeContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func @f() {\n  %0 = arith.constant 1 : i32" + location + "\n  return\n}\n", context.get(), "k.mlir");
  if (!module) return "does not parse";
  std::string place;
  module->walk([&](mlir::Operation* op) {
    if (op->getName().getStringRef() == "arith.constant") place = placeOf(op->getLoc()).str();
  });
  return place;
}

TEST(Place, JaxCountsColumnsFromZeroAndTheParserFromOne) {
  EXPECT_EQ(placeOfText(R"( loc("f.py":7:4))"), "f.py:7:5");
  EXPECT_EQ(placeOfText(R"( loc("<stdin>":1:0))"), "<stdin>:1:1");
  EXPECT_EQ(placeOfText(""), "k.mlir:2:8");
  EXPECT_EQ(placeIn("f.py", 1, 0).str(), "f.py:1:1");
  EXPECT_EQ(placeIn("k.mlir", 1, 3).str(), "k.mlir:1:3");
}

TEST(Place, TheUsersFileIsPreferredToJaxsOwn) {
  EXPECT_EQ(placeOfText(R"( loc(callsite("/x/jax/_src/numpy/ufuncs.py":9:0 at "f.py":7:4)))"), "f.py:7:5");
  EXPECT_EQ(placeOfText(R"( loc(callsite("add"("f.py":7:4) at "<module>"("main.py":3:0))))"), "f.py:7:5");
  EXPECT_EQ(placeOfText(R"( loc(unknown))"), "");
  EXPECT_EQ(placeOfText(R"( loc(fused["x", "f.py":3:0]))"), "f.py:3:1");
}

// What a kernel's second `o_ref[...] = …` looks like: the first one's line inside, its own outside.
TEST(Place, AnOpOfACachedLoweringIsAtItsOwnUse) {
  EXPECT_EQ(placeOfText(R"( loc("swap:"(""(callsite("swap"("f.py":45:12) at "swap"("f.py":47:8))))))"), "f.py:47:9");
  EXPECT_EQ(placeOfText(
                R"( loc("add:"(""(callsite(callsite("add"("f.py":1:0) at "add"("f.py":2:0)) at "add"("f.py":3:0))))))"),
            "f.py:3:1");
  EXPECT_EQ(placeOfText(R"( loc("get:"("get/get"(callsite("k"("f.py":19:30) at "k"("f.py":20:25))))))"), "f.py:20:26");
  EXPECT_EQ(
      placeOfText(
          R"( loc("add:"("scope/add/add"(callsite("k"("f.py":1:0) at callsite("h"("f.py":2:0) at "k"("f.py":3:0)))))))"),
      "f.py:2:1");
  EXPECT_EQ(placeOfText(R"( loc("scope/mul"(callsite("h"("f.py":2:0) at "k"("f.py":3:0)))))"), "f.py:2:1");
}

}  // namespace
}  // namespace smalti
