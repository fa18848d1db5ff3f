#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mlir/IR/Verifier.h"

#include "interop/serde/Serde.h"

#include "BytecodeSupport.h"

namespace smalti::interop::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

/// A function around `ops`, which may use %sem, %n (i32), %v (vector<8x128xf32>) and %ref (vmem 8x128xf32).
std::string kernel(const std::string& ops) {
  return R"mlir("builtin.module"() ({
    "func.func"() <{function_type = (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, vector<8x8xf32>) -> (), sym_name = "k"}> ({
    ^bb0(%sem: memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, %n: i32, %v: vector<8x8xf32>):
)mlir" + ops +
         R"mlir(
      "func.return"() : () -> ()
    }) : () -> ()
  }) : () -> ())mlir";
}

/// `verify` false: also what a TensorCore kernel may not hold.
Result<std::string> written(const std::string& ops, int version, bool verify = true) {
  auto context = makeContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kernel(ops), mlir::ParserConfig(context.get(), verify));
  if (!module) return fail({.code = "test", .message = "the text does not parse"});
  return writeBytecode(*module, version);
}

TEST(BytecodeWriter, OtherVersionsThan8To18AreRefused) {
  for (int version : {-1, 0, 7, 19}) EXPECT_EQ(written("", version).error().code, "SM2110") << version;
  for (int version = 8; version <= 18; ++version) EXPECT_TRUE(written("", version)) << version;
}

constexpr const char* kMatmul = R"mlir(
  %r = "tpu.matmul"(%v, %v, %v) <{dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs = false, transpose_lhs_hint = HINT, transpose_rhs = false}> : (vector<8x8xf32>, vector<8x8xf32>, vector<8x8xf32>) -> vector<8x8xf32>
)mlir";

std::string matmul(const std::string& hint) {
  std::string text = kMatmul;
  return text.replace(text.find("HINT"), 4, hint);
}

TEST(BytecodeWriter, TheTransposeHintNeedsVersion13) {
  EXPECT_TRUE(written(matmul("false"), 12));
  EXPECT_TRUE(written(matmul("true"), 13));
  const Diagnostic d = written(matmul("true"), 12).error();
  EXPECT_EQ(d.code, "SM2111");
  EXPECT_THAT(d.message, HasSubstr("transpose_lhs_hint"));
  EXPECT_EQ(d.need, "version 13 or later");
}

TEST(BytecodeWriter, AConvolutionIsTheSameInEveryVersion) {
  const std::string properties =
      "<{batch_group_count = 1 : i64, dimension_numbers = #tpu.conv_dimension_numbers<0, 1, [], 0, 1, [], 0, 1, []>, "
      "feature_group_count = 1 : i64, lhs_dilation = array<i64>, padding = array<i64>, "
      "precision = #tpu.contract_precision<fp32>, rhs_dilation = array<i64>, window_reversal = array<i1>, "
      "window_strides = array<i64>}>";
  const std::string conv = "%r = \"tpu.conv\"(%v, %v, %v) " + properties +
                           " : (vector<8x8xf32>, vector<8x8xf32>, vector<8x8xf32>) -> vector<8x8xf32>";
  for (int version = 8; version <= 18; ++version) {
    auto bytes = written(conv, version);
    ASSERT_TRUE(bytes) << bytes.error().str();
    auto context = makeContext();
    auto module = readBytecode(*bytes, *context, "conv.bc");
    ASSERT_TRUE(module) << module.error().str();
    EXPECT_THAT(genericText(**module), HasSubstr(properties));
  }
}

TEST(BytecodeWriter, ASubcoreNeedsVersion14) {
  const std::string signal = R"mlir(
    "tpu.sem_signal"(%sem, %n, %n) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 1>}> : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32, i32) -> ()
  )mlir";
  auto at14 = written(signal, 14, false);
  ASSERT_TRUE(at14) << at14.error().str();
  const Diagnostic d = written(signal, 13, false).error();
  EXPECT_EQ(d.code, "SM2111");
  EXPECT_THAT(d.message, HasSubstr("subcore"));
}

TEST(BytecodeWriter, EveryOpThatAVersionLacksIsReported) {
  auto context = makeContext();
  const std::string two = matmul("true") + "\n" + matmul("true").replace(matmul("true").find("%r"), 2, "%s");
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kernel(two), context.get());
  ASSERT_TRUE(module);
  EXPECT_EQ(writeBytecode(*module, 12).error().related.size(), 1u);
}

TEST(BytecodeWriter, ElementTypesAndConstantsComeBack) {
  std::string ops;
  int i = 0;
  for (const char* type : {"i1", "i2", "i4", "i8", "i16", "i32", "f32", "bf16", "f16", "f8E5M2", "f8E4M3FN",
                           "f8E4M3B11FNUZ", "f4E2M1FN"}) {
    const std::string one = type[0] == 'i' ? (std::string(type) == "i1" ? "true" : "1") : "1.5";
    const std::string t = type, name = "%c" + std::to_string(i++);
    ops += name + " = \"arith.constant\"() <{value = dense<" + one + "> : vector<8x16x" + t +
           ">}> : () -> vector<8x16x" + t + ">\n";
    ops += name + "s = \"arith.constant\"() <{value = " + (t == "i1" ? std::string("true") : one + " : " + t) +
           "}> : () -> " + t + "\n";
  }
  ops += "%m = \"arith.constant\"() <{value = dense<[true, false, true]> : vector<3xi1>}> : () -> vector<3xi1>\n";
  ops += "%neg = \"arith.constant\"() <{value = -1 : i32}> : () -> i32\n";
  ops += "%list = \"arith.constant\"() <{value = dense<[1, -2, 3]> : vector<3xi32>}> : () -> vector<3xi32>\n";
  auto context = makeContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kernel(ops), context.get());
  ASSERT_TRUE(module);
  for (int version : {8, 18}) {
    auto body = writeBytecode(*module, version);
    ASSERT_TRUE(body) << body.error().str();
    auto again = readBytecode(*body, *context, "x.bc");
    ASSERT_TRUE(again) << again.error().str();
    (**again)->removeAttr("stable_mosaic.version");
    EXPECT_EQ(genericText(**again, true), genericText(*module, true));
  }
}

TEST(StableText, UnregisteredOpsAreUpgradedInPlace) {
  const std::string text = R"mlir("builtin.module"() ({
    "stable_mosaic.func.func"() ({
    ^bb0(%v: vector<8x128xf32>, %s: memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, %n: i32):
      %r = "stable_mosaic.tpu.repeat"(%v) {dimension = 1 : i32, times = 2 : i32} : (vector<8x128xf32>) -> vector<8x256xf32>
      "stable_mosaic.tpu.sem_signal"(%s, %n) : (memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> ()
      "stable_mosaic.func.return"() : () -> ()
    }) {function_type = (vector<8x128xf32>, memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, i32) -> (), sym_name = "k"} : () -> ()
  }) {stable_mosaic.version = 1 : i64} : () -> ())mlir";
  auto context = makeContext();
  context->allowUnregisteredDialects(true);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  ASSERT_TRUE(module);
  const Status done = upgradeModule(*module);
  ASSERT_TRUE(done) << done.error().str();
  context->allowUnregisteredDialects(false);
  const std::string upgraded = genericText(*module);
  EXPECT_THAT(upgraded, HasSubstr("\"tpu.concatenate\"(%arg0, %arg0)"));
  EXPECT_THAT(upgraded, HasSubstr("operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>"));
}

TEST(StableText, TheLogisticFunctionIsWrittenOut) {
  const std::string text = R"mlir("builtin.module"() ({
    "stable_mosaic.func.func"() ({
    ^bb0(%v: vector<8x128xbf16>, %s: f32):
      %r = "stable_mosaic.tpu.logistic"(%v) : (vector<8x128xbf16>) -> vector<8x128xbf16>
      %t = "stable_mosaic.tpu.logistic"(%s) : (f32) -> f32
      "stable_mosaic.func.return"() : () -> ()
    }) {function_type = (vector<8x128xbf16>, f32) -> (), sym_name = "k"} : () -> ()
  }) {stable_mosaic.version = 18 : i64} : () -> ())mlir";
  auto context = makeContext();
  context->allowUnregisteredDialects(true);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  ASSERT_TRUE(module);
  const Status done = upgradeModule(*module);
  ASSERT_TRUE(done) << done.error().str();
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*module)));
  const std::string upgraded = genericText(*module);
  for (const char* type : {"vector<8x128xbf16>", "f32"}) {
    const std::string binary = std::string(" : (") + type + ", " + type + ") -> " + type;
    EXPECT_THAT(upgraded, ContainsRegex("arith.negf.* : \\(" + std::string(type) + "\\) -> " + type));
    EXPECT_THAT(upgraded, HasSubstr(binary));
  }
  EXPECT_THAT(upgraded, HasSubstr("value = dense<1.000000e+00> : vector<8x128xbf16>"));
}

TEST(StableText, ARepeatOfAbsurdCountIsRefused) {
  auto context = makeContext();
  OpForm form{.name = "tpu.repeat", .location = mlir::UnknownLoc::get(context.get())};
  mlir::OpBuilder b(context.get());
  form.operands.push_back(mlir::Value());
  form.attributes.set("times", b.getI32IntegerAttr(2'000'000'000));
  form.attributes.set("dimension", b.getI32IntegerAttr(0));
  const Status s = upgradeOp(form, 3, b);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().code, "SM2108");
}

}  // namespace
}  // namespace smalti::interop::test
