// Whole messages, and hostile input: always a diagnostic, never an end of the process.
#include <gmock/gmock.h>

#include "TestText.h"

namespace smalti::interop {
namespace {

using namespace testing;
using ::testing::AllOf;
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
  EXPECT_EQ(inMain("\"stablehlo.tuple\"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>"),
            "error[SM2002]: op 'stablehlo.tuple' is not supported around kernels\n"
            "  --> t.mlir:3:10\n"
            "  have: `%0 = \"stablehlo.tuple\"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>`\n"
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
            "  help: export the module again; it was edited or truncated\n");
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

TEST(ImportErrors, SM2008_NumbersThatTheirTypeDoesNotHold) {
  EXPECT_EQ(inMain("stablehlo.constant dense<[1.0, -1.0e39]> : tensor<2xf32>"),
            "error[SM2008]: a constant of type f32[2] is malformed: the value is out of range\n"
            "  --> t.mlir:3:41\n"
            "  have: `%0 = stablehlo.constant dense<[1.0, -1.0e39]> : tensor<2xf32>`\n"
            "  help: print the module again; do not elide large constants\n");
  const auto isRefused = [](const std::string& op) { return inMain(op).starts_with("error[SM2008]"); };
  for (const char* bad :
       {"65520.0> : tensor<f16>", "500.0> : tensor<f8E4M3FN>", "7.0> : tensor<f4E2M1FN>", "-1.0> : tensor<f8E8M0FNU>",
        "(1.0e39, 0.0)> : tensor<complex<f32>>", "4294967295> : tensor<i32>"})
    EXPECT_TRUE(isRefused(std::string("stablehlo.constant dense<") + bad)) << bad;
  for (const char* good :
       {"65519.0> : tensor<f16>", "0x7C00> : tensor<f16>", "0x7F> : tensor<f8E4M3FN>", "4294967295> : tensor<ui32>"})
    EXPECT_FALSE(isRefused(std::string("stablehlo.constant dense<") + good)) << good;
  for (const char* bad : {"4294967295 : i32", "9223372036854775808", "array<i32: 1, 4294967295>", "1.0e39 : f32",
                          "array<i64: 9223372036854775808>"})
    EXPECT_TRUE(isRefused(std::string("stablehlo.negate %a {note = ") + bad + "} : tensor<2x3xf32>")) << bad;
}

std::string inMainOf(const std::string& arguments, const std::string& op) {
  return errorOf(moduleOf(
      "(" + arguments + ") -> tensor<f32>",
      "    %0 = " + op + "\n    %c = stablehlo.constant dense<0.0> : tensor<f32>\n    return %c : tensor<f32>"));
}

TEST(ImportErrors, ConvolutionsThatDoNotFit) {
  const std::string arguments = "%x: tensor<2x7x6x4xf32>, %w: tensor<3x3x4x8xf32>";
  const auto conv = [&](const std::string& numbers, const std::string& window, const std::string& counts,
                        const std::string& result) {
    return inMainOf(arguments, "stablehlo.convolution(%x, %w) dim_numbers = " + numbers + ", window = {" + window +
                                   "} {" + counts + "} : (tensor<2x7x6x4xf32>, tensor<3x3x4x8xf32>) -> " + result);
  };
  const std::string numbers = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]";
  const std::string ones = "batch_group_count = 1 : i64, feature_group_count = 1 : i64";
  const auto wrong = [](const std::string& what) {
    return HasSubstr("error[SM2006]: types do not fit: convolution " + what + "\n");
  };
  EXPECT_THAT(conv(numbers, "", ones, "tensor<2x5x4x9xf32>"), wrong("needs a result of shape 2x5x4x8, has 2x5x4x9"));
  EXPECT_THAT(conv("[b, 0, 0, f]x[0, 1, i, o]->[b, 0, 1, f]", "", ones, "tensor<2x5x4x8xf32>"),
              wrong("needs each of the 4 dimensions of lhs once in its dimension numbers, has [0, 3, 2]"));
  EXPECT_THAT(
      conv("[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, 2]", "", ones, "tensor<2x5x4x8xf32>"),
      wrong("needs each of the 4 dimensions of the result once in its dimension numbers, has [0, -1, 1, 2, 3]"));
  EXPECT_THAT(conv(numbers, "stride = [0, 1]", ones, "tensor<2x5x4x8xf32>"),
              wrong("needs entries of window_strides from 1 to 2147483648, has 0"));
  EXPECT_THAT(conv(numbers, "pad = [[1, 1]]", ones, "tensor<2x5x4x8xf32>"),
              wrong("needs 4 entries of padding for its spatial dimensions, has 2"));
  EXPECT_THAT(conv(numbers, "", "batch_group_count = 1 : i64, feature_group_count = 3 : i64", "tensor<2x5x4x8xf32>"),
              wrong("needs a feature_group_count that divides 4, has 3"));
  EXPECT_THAT(conv(numbers, "", ones, "tensor<2x5x4x8xi32>"),
              wrong("convolves f32[2,7,6,4] with f32[3,3,4,8] to i32[2,5,4,8]: floats give floats, integers integers"));
  EXPECT_THAT(conv(numbers, "steps = [1, 1]", ones, "tensor<2x5x4x8xf32>"),
              HasSubstr("`stride`, `pad`, `lhs_dilate`, `rhs_dilate` or `reverse` expected"));
  EXPECT_THAT(conv(numbers, "pad = [[1], [1]]", ones, "tensor<2x5x4x8xf32>"),
              HasSubstr("two numbers for each spatial dimension expected"));
  EXPECT_THAT(conv("[b, 0, 99, f]x[0, 1, i, o]->[b, 0, 1, f]", "", ones, "tensor<2x5x4x8xf32>"),
              HasSubstr("the number of a spatial dimension expected"));
}

TEST(ImportErrors, LinearAlgebraThatDoesNotFit) {
  EXPECT_THAT(inMainOf("%a: tensor<2x3xf32>", "stablehlo.cholesky %a, lower = true : tensor<2x3xf32>"),
              HasSubstr("cholesky the operand must be square matrices, but is f32[2,3]\n"));
  EXPECT_THAT(inMainOf("%a: tensor<3x3xi32>", "stablehlo.cholesky %a, lower = true : tensor<3x3xi32>"),
              HasSubstr("cholesky takes floats, not i32\n"));
  const auto solve = [](const std::string& transpose, const std::string& b) {
    return inMainOf("%a: tensor<3x3xf32>, %b: " + b,
                    "\"stablehlo.triangular_solve\"(%a, %b) <{left_side = true, lower = true, transpose_a = "
                    "#stablehlo<transpose " +
                        transpose + ">, unit_diagonal = false}> : (tensor<3x3xf32>, " + b + ") -> " + b);
  };
  EXPECT_THAT(solve("TRANSPOSE", "tensor<2x3xf32>"),
              HasSubstr("triangular_solve a is f32[3,3], b f32[2,3]: their matrices do not fit with a on the left\n"));
  EXPECT_THAT(solve("SIDEWAYS", "tensor<3x2xf32>"),
              HasSubstr("transpose_a is SIDEWAYS, not one of NO_TRANSPOSE, TRANSPOSE, ADJOINT\n"));
}

TEST(ImportErrors, ComplexNumbersThatDoNotFit) {
  const std::string complex = "tensor<4xcomplex<f32>>", real = "tensor<4xf32>";
  const auto fft = [&](const std::string& type, const std::string& lengths, const std::string& from,
                       const std::string& to) {
    return inMainOf("%a: " + from,
                    "stablehlo.fft %a, type = " + type + ", length = [" + lengths + "] : (" + from + ") -> " + to);
  };
  EXPECT_THAT(fft("FFT", "4", real, complex), HasSubstr("fft FFT of lengths [4] does not turn f32[4] into c64[4]\n"));
  EXPECT_THAT(fft("RFFT", "4", real, complex), HasSubstr("fft RFFT of lengths [4] does not turn f32[4] into c64[4]\n"));
  EXPECT_THAT(fft("IFFT", "5", complex, complex),
              HasSubstr("fft IFFT of lengths [5] does not turn c64[4] into c64[4]"));
  EXPECT_THAT(fft("FFT", "1, 4", complex, complex), HasSubstr("fft transforms 2 dimensions of c64[4]\n"));
  EXPECT_THAT(fft("DCT", "4", complex, complex), HasSubstr("fft_type is DCT, not one of FFT, IFFT, RFFT, IRFFT\n"));
  EXPECT_THAT(inMainOf("%a: " + complex, "stablehlo.floor %a : " + complex),
              HasSubstr("floor takes floats, not c64\n"));
  EXPECT_THAT(inMainOf("%a: " + complex, "stablehlo.real %a : (" + complex + ") -> tensor<4xf64>"),
              HasSubstr("real takes f64[4] of c64[4]\n"));
  EXPECT_THAT(inMainOf("%a: " + real, "stablehlo.constant dense<(1.0, 2.0> : tensor<complex<f32>>"),
              HasSubstr("error[SM20"));
  EXPECT_THAT(inMainOf("%a: " + real, "stablehlo.constant dense<1.0> : tensor<complex<f32>>"),
              HasSubstr("error[SM2008]: a constant of type c64[] is malformed: `(` expected\n"));
}

TEST(ImportErrors, OpsAreRefusedByName) {
  EXPECT_THAT(inMain("chlo.is_inf %a : tensor<2x3xf32> -> tensor<2x3xf32>"),
              StartsWith("error[SM2002]: op 'chlo.is_inf'"));
  EXPECT_THAT(inMain("foo.bar %a"), StartsWith("error[SM2002]: op 'foo.bar'"));
}

TEST(ImportErrors, TypesAreRefusedByName) {
  EXPECT_THAT(errorOf("module { func.func @main(%a: tensor<2x?xf32>) { return } }"),
              StartsWith("error[SM2003]: the program has symbolic shapes\n  --> t.mlir\n"));
  EXPECT_THAT(errorOf("module { func.func @main(%a: tensor<*xf32>) { return } }"),
              StartsWith("error[SM2003]: arrays of unknown rank cannot be run\n  --> t.mlir:1:30\n"));
  EXPECT_THAT(errorOf("module { func.func @main(%a: tuple<tensor<f32>>) { return } }"),
              StartsWith("error[SM2003]: only arrays (tensor<…>) are values of a Program"));
  EXPECT_THAT(errorOf("module { func.func @main(%a: tensor<2xcomplex<f16>>) { return } }"),
              StartsWith("error[SM2003]: arrays of `complex<f16>` are not supported"));
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

TEST(ImportErrors, KernelsThatJaxCompiledForGpus) {
  const auto call = [](const std::string& target, const std::string& config) {
    return inMain("stablehlo.custom_call @" + target + "(%a) {" + config + "} : (tensor<2x3xf32>) -> tensor<2x3xf32>");
  };
  EXPECT_THAT(
      call(
          "__gpu$xla.gpu.triton",
          R"(backend_config = "", mhlo.backend_config = {debug = false, grid_x = 1 : i32, ir = "ML\EFR\0D", name = "add_k"})"),
      AllOf(StartsWith("error[SM2004]: the kernel 'add_k' is compiled for GPUs, by JAX's Triton back end "
                       "('__gpu$xla.gpu.triton')\n"),
            HasSubstr("  help: export the same kernel for TPUs, jax.export.export(f, platforms=['tpu']), without "
                      "compiler_params, memory spaces and ops of GPUs: --target cuda makes its code for GPUs\n")));
  for (const std::string target : {"triton_kernel_call", "triton_kernel_call_ffi"})
    EXPECT_THAT(
        call(target, R"(backend_config = "eJw")"),
        StartsWith("error[SM2004]: the kernel is compiled for GPUs, by JAX's Triton back end ('" + target + "')\n"));
  for (const std::string target : {"mosaic_gpu", "mosaic_gpu_v2"})
    EXPECT_THAT(call(target, R"(mhlo.backend_config = {module = "x"})"),
                StartsWith("error[SM2004]: the kernel is compiled for GPUs, by JAX's Mosaic GPU back end ('" + target));
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
