// Whole messages, and hostile input: always a diagnostic, never an end of the process.
#include <gmock/gmock.h>

#include "TestText.h"

namespace smalti::interop {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string inMain(const std::string& op) {
  return errorOf(moduleOf("(%a: tensor<2x3xf32>, %i: tensor<i32>) -> tensor<2x3xf32>",
                          "    %0 = " + op + "\n    return %a : tensor<2x3xf32>"));
}

TEST(ImportErrors, WholeMessages) {
  EXPECT_EQ(inMain("stablehlo.add %a, %a tensor<2x3xf32>"),
            "error[SM2001]: this is not StableHLO as JAX prints it: `:` expected\n"
            "  --> t.mlir:3:31\n"
            "  have: `%0 = stablehlo.add %a, %a tensor<2x3xf32>`\n"
            "  help: print the module with `print(jax.jit(f).lower(...).as_text())`\n");
  EXPECT_EQ(inMain("\"stablehlo.fft\"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>"),
            "error[SM2002]: op 'stablehlo.fft' is not supported around kernels\n"
            "  --> t.mlir:3:10\n"
            "  have: `%0 = \"stablehlo.fft\"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>`\n"
            "  help: compute it outside the exported function\n");
  EXPECT_EQ(inMain("stablehlo.add %a, %b : tensor<2x3xf32>"),
            "error[SM2005]: `%b` is used but not defined before\n"
            "  --> t.mlir:3:28\n"
            "  help: pass the whole module\n");
  EXPECT_EQ(inMain("stablehlo.add %a, %i : tensor<2x3xf32>"),
            "error[SM2006]: types do not fit: operand 1 of stablehlo.add is i32[], its type says f32[2,3]\n"
            "  --> t.mlir:3:10\n"
            "  help: export the module again\n");
  EXPECT_EQ(inMain("stablehlo.slice %a [0:3, 0:3] : (tensor<2x3xf32>) -> tensor<3x3xf32>"),
            "error[SM2006]: types do not fit: slice takes [0:3:1] of dimension 0 of f32[2,3]\n"
            "  --> t.mlir:3:10\n"
            "   in function 'main'\n"
            "  help: export the module again; it was changed by hand or cut\n");
  EXPECT_EQ(inMain("\"stablehlo.iota\"() <{iota_dimension = \"one\"}> : () -> tensor<2x3xf32>"),
            "error[SM2007]: attribute 'iota_dimension' of stablehlo.iota has an unexpected value: \"one\"\n"
            "  --> t.mlir:3:10\n"
            "  have: `%0 = \"stablehlo.iota\"() <{iota_dimension = \"one\"}> : () -> tensor…`\n"
            "  help: export the module again\n");
  EXPECT_EQ(inMain("stablehlo.constant dense<[1.0, 2.0]> : tensor<3xf32>"),
            "error[SM2008]: a constant of type f32[3] is malformed: 2 of 3 elements in dimension 0\n"
            "  --> t.mlir:3:44\n"
            "  have: `%0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<3xf32>`\n"
            "  help: print the module again; do not elide large constants\n");
}

TEST(ImportErrors, OpsAreRefusedByName) {
  EXPECT_THAT(inMain("stablehlo.complex %a, %a : tensor<2x3xcomplex<f32>>"), HasSubstr("help: use two real arrays"));
  EXPECT_THAT(inMain("chlo.lgamma %a : tensor<2x3xf32> -> tensor<2x3xf32>"),
              StartsWith("error[SM2002]: op 'chlo.lgamma'"));
  EXPECT_THAT(inMain("foo.bar %a"), StartsWith("error[SM2002]: op 'foo.bar'"));
}

TEST(ImportErrors, TypesAreRefusedByName) {
  EXPECT_THAT(errorOf("module { func.func @main(%a: tensor<2x?xf32>) { return } }"),
              StartsWith("error[SM2003]: arrays of unknown shape cannot be run\n  --> t.mlir:1:30\n"));
  EXPECT_THAT(errorOf("module { func.func @main(%a: tuple<tensor<f32>>) { return } }"),
              StartsWith("error[SM2003]: only arrays (tensor<…>) are values of a Program"));
  EXPECT_THAT(errorOf("module { func.func @main(%a: tensor<2xcomplex<f32>>) { return } }"),
              StartsWith("error[SM2003]: arrays of `complex` are not supported"));
  EXPECT_THAT(errorOf("module { func.func @main(%a: tensor<9999999999x9999999999xf32>) { return } }"),
              StartsWith("error[SM2003]: an array has more bytes than 64 bits count"));
}

TEST(ImportErrors, CallsThatAreNoKernels) {
  EXPECT_THAT(inMain("stablehlo.custom_call @SPMDFullToShardShape(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>"),
              StartsWith("error[SM2004]: this shard_map was lowered for the old partitioner (GSPMD)"));
  EXPECT_THAT(inMain("stablehlo.custom_call @foo(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>"),
              StartsWith("error[SM2004]: custom call 'foo' is not supported"));
  EXPECT_THAT(inMain("stablehlo.custom_call @tpu_custom_call(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>"),
              StartsWith("error[SM2010]: a kernel call has no backend_config"));
}

TEST(ImportErrors, KernelErrorsNameTheKernel) {
  std::string text = dataCase("alias_partial_update");
  const size_t body = text.find("TUzvUg");
  text.replace(body + 40, 8, "AAAAAAAA");
  EXPECT_THAT(errorOf(text), HasSubstr("   in kernel 'inc_alias_k'\n"));
}

TEST(ImportErrors, Structure) {
  EXPECT_THAT(errorOf(""), StartsWith("error[SM2012]: the program has no main function"));
  EXPECT_THAT(errorOf("module {"), StartsWith("error[SM2001]"));
  EXPECT_THAT(errorOf("module { func.func @main(%a: tensor<f32>) { } }"),
              StartsWith("error[SM2012]: a block does not end in a return"));
  EXPECT_THAT(errorOf("module { func.func @main(%a: tensor<f32>, %a: tensor<f32>) { return } }"),
              StartsWith("error[SM2005]: `%a` is defined twice"));
  EXPECT_THAT(errorOf("module { func.func @main() { return }\n func.func @main() { return } }"),
              StartsWith("error[SM2005]: two functions are called 'main'"));
  EXPECT_THAT(errorOf("module { func.func @main() { call @main() : () -> () return } }"),
              StartsWith("error[SM2007]: function 'main' calls itself"));
  EXPECT_THAT(errorOf("module { func.func @main() { call @f() : () -> () return } }"),
              StartsWith("error[SM2005]: function 'f' is called but not defined"));
  EXPECT_THAT(errorOf("module { func.func @main() -> tensor<f32> { return } }"),
              StartsWith("error[SM2006]: types do not fit: return has 0 results instead of 1"));
}

TEST(ImportErrors, Shardings) {
  const auto sharded = [](const std::string& sharding, const std::string& part) {
    return errorOf(
        "module { sdy.mesh @mesh = <[\"x\"=2]>\n func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {\n" +
        std::string("%0 = sdy.manual_computation(%a) in_shardings=[<") + sharding + ">] out_shardings=[<" + sharding +
        ">] manual_axes={\"x\"} (%b: tensor<" + part + "xf32>) { sdy.return %b : tensor<" + part +
        "xf32> } : (tensor<4x4xf32>) -> tensor<4x4xf32>\nreturn %0 : tensor<4x4xf32> } }");
  };
  EXPECT_EQ(sharded("@mesh, [{\"x\"}, {}]", "2x4"), "");
  EXPECT_EQ(sharded("@mesh, [{}, {\"x\", ?}p1], replicated={}", "4x2"), "");
  EXPECT_THAT(sharded("@mesh, [{\"x\"}, {}]", "4x4"),
              HasSubstr("each device's part of f32[4,4] is f32[2,4], but the body has f32[4,4]"));
  EXPECT_THAT(sharded("@other, [{}, {}]", "4x4"), StartsWith("error[SM2005]: mesh 'other' is not defined"));
  EXPECT_THAT(sharded("@mesh, [{\"y\"}, {}]", "2x4"), StartsWith("error[SM2013]: dimension 0 of f32[4,4]"));
  EXPECT_THAT(sharded("@mesh, [{\"x\"}, {\"x\"}]", "2x2"), StartsWith("error[SM2013]: axis 'x' splits an array twice"));
  EXPECT_THAT(sharded("@mesh, [{\"x\":(1)2}, {}]", "2x4"),
              StartsWith("error[SM2013]: shardings with parts of an axis are not supported"));
  EXPECT_THAT(errorOf("module { sdy.mesh @m = <[\"x\"=2000, \"y\"=2000]> func.func @main() { return } }"),
              StartsWith("error[SM2013]: mesh 'm' has axis 'y' of size 2000"));
}

TEST(ImportErrors, NestingIsBounded) {
  const auto nested = [](const std::string& open, const std::string& close, int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += open;
    for (int i = 0; i < n; ++i) text += close;
    return text;
  };
  constexpr int kDeep = 100'000;
  const std::string end = " func.func @main() { return } }";
  EXPECT_THAT(errorOf("module attributes {a = " + nested("[", "]", kDeep) + "} {" + end), StartsWith("error[SM2009]"));
  EXPECT_THAT(errorOf("module attributes {a = " + nested("{b = ", "}", kDeep) + "} {" + end), StartsWith("error[SM20"));
  EXPECT_THAT(errorOf("module attributes {a = " + nested("() -> (", ")", kDeep) + "} {" + end),
              StartsWith("error[SM2009]"));
  EXPECT_THAT(errorOf("module attributes {a = #x.y<" + nested("<", ">", kDeep) + ">} {" + end),
              StartsWith("error[SM2001]"));
  EXPECT_THAT(errorOf("module { func.func @main() { return loc(" + nested("\"a\"(", ")", kDeep) + ") } }"),
              StartsWith("error[SM2"));
  EXPECT_THAT(errorOf("module { func.func @main() { " + nested("\"stablehlo.case\"() ({", "})", kDeep)),
              StartsWith("error[SM2009]"));
  EXPECT_THAT(inMain("stablehlo.constant dense<" + nested("[", "]", kDeep) + "> : tensor<1xf32>"),
              StartsWith("error[SM2"));
  std::string chain;
  for (int i = 0; i < 20'000; ++i)
    chain += "#a" + std::to_string(i) + " = [#a" + std::to_string(i + 1) + ", #a" + std::to_string(i + 1) + "]\n";
  EXPECT_THAT(errorOf(chain + "module attributes {a = #a0} {" + end), StartsWith("error[SM2009]"));
}

TEST(ImportErrors, EveryPrefixOfAModuleIsRefusedOrRead) {
  const std::string text = dataCase("dist_all_reduce_ring");
  for (size_t n = 0; n < text.size(); n += 1 + n / 64) {
    const std::string error = errorOf(text.substr(0, n));
    EXPECT_THAT(error, StartsWith("error[SM2")) << n;
  }
}

}  // namespace
}  // namespace smalti::interop
