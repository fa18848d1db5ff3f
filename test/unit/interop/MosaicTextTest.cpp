// What the reader of Mosaic text refuses (SM22xx, and ops that no kernel holds), with whole messages.
#include <gtest/gtest.h>

#include "interop/Interop.h"

namespace smalti::interop {
namespace {

std::string messageOf(const std::string& body) {
  const auto kernel = importKernel(
      "func.func @f(%i: i32, %x: memref<8x128xf32, #tpu.memory_space<vmem>>) {\n" + body + "\n  return\n}\n", "k.mlir");
  return kernel ? "" : kernel.error().str();
}

TEST(MosaicText, ValidTextIsRead) {
  EXPECT_EQ(messageOf("  %0 = tpu.iota {dimensions = array<i32: 1>} : vector<8x128xi32>"), "");
}

TEST(MosaicText, SM2204_IntegersThatTheirTypeDoesNotHold) {
  EXPECT_EQ(messageOf("  %0 = arith.constant 2147483648 : i32"), R"(error[SM2204]: i32 does not hold 2147483648
  --> k.mlir:2:23
  need: a number as MLIR prints it: negative where the sign bit is set
  have: 2147483648
  help: write the negative number, or the bits in hexadecimal: 0x...
)");
  const auto isRefused = [](const std::string& attribute) {
    return messageOf("  %0 = \"arith.constant\"() {value = " + attribute + "} : () -> i32")
        .starts_with("error[SM2204]");
  };
  for (const char* bad :
       {"4294967295 : i32", "128 : i8", "9223372036854775808 : i64", "dense<32768> : vector<8x128xi16>",
        "dense<[[1, 2147483648], [-3, 4]]> : tensor<2x2xi32>", "0002147483648 : i32", "array<i32: 1, 4294967295>",
        "array<i8: 128>", "9223372036854775808", "[1, 9223372036854775808]", "9223372036854775808 : index",
        "dense<9223372036854775808> : vector<8xindex>"})
    EXPECT_TRUE(isRefused(bad)) << bad;
  for (const char* good :
       {"2147483647 : i32", "-2147483648 : i32", "0x80000000 : i32", "3000000000 : i64", "1 : i1", "255 : ui8",
        "dense<2147483647> : vector<8xi32>", "dense<-128> : vector<8xi8>", "dense<3000000000.0> : vector<8xf32>",
        "dense<\"0xFFFFFFFF\"> : vector<1xi32>", "000000000002147483647 : i32", "18446744073709551615 : ui64",
        "9223372036854775807 : index", "array<i32: 2147483647, -2147483648>", "array<i64: -9223372036854775808>"})
    EXPECT_FALSE(isRefused(good)) << good;
  EXPECT_EQ(messageOf("  %0 = arith.constant 0x80000000 : i32\n  %1 = arith.constant -2147483648 : i32"), "");
  EXPECT_EQ(messageOf("  %0 = arith.constant dense<2.5e9> : vector<8xf32>\n  %1 = tpu.iota {dimensions = array<i32: "
                      "0>} : vector<8x128xi32>"),
            "");
}

TEST(MosaicText, SM2204_TypesHaveAliases) {
  const auto constantOf = [](const std::string& aliases, const std::string& value) {
    const auto kernel =
        importKernel(aliases + "func.func @f(%i: i32) {\n  %0 = arith.constant " + value + "\n  return\n}\n", "k.mlir");
    return kernel ? "" : kernel.error().str();
  };
  EXPECT_EQ(constantOf("!t = i32\n", "4294967295 : !t"), R"(error[SM2204]: i32 does not hold 4294967295
  --> k.mlir:3:23
  need: a number as MLIR prints it: negative where the sign bit is set
  have: 4294967295
  help: write the negative number, or the bits in hexadecimal: 0x...
)");
  const auto isRefused = [&](const std::string& aliases, const std::string& value) {
    return constantOf(aliases, value).starts_with("error[SM2204]");
  };
  EXPECT_TRUE(isRefused("!t = vector<8x128xi32>\n", "dense<4294967295> : !t"));
  EXPECT_TRUE(isRefused("!t = i32\n", "dense<4294967295> : vector<8x128x!t>"));
  EXPECT_TRUE(isRefused("!u = f16\n!t = vector<8x128x!u>\n", "dense<65520.0> : !t"));
  EXPECT_EQ(constantOf("!t = i32\n", "0xFFFFFFFF : !t"), "");
  EXPECT_EQ(constantOf("!s = vector<8x128xi32>\n!t = i64\n", "4294967295 : !t"), "");
  EXPECT_EQ(constantOf("!t = i32\n", "dense<2147483647> : vector<8x128x!t>"), "");
}

TEST(MosaicText, SM2204_FloatsThatTheirTypeDoesNotHold) {
  EXPECT_EQ(messageOf("  %0 = arith.constant 1.0e39 : f32"), R"(error[SM2204]: f32 does not hold 1.0e39
  --> k.mlir:2:23
  need: at most 3.40282347e+38
  have: 1.0e39
  help: write a number of that range, or the bits of infinity or NaN in hexadecimal: 0x...
)");
  const auto isRefused = [](const std::string& constant) {
    return messageOf("  %0 = arith.constant " + constant).starts_with("error[SM2204]");
  };
  for (const char* bad : {"-1.0e39 : f32", "65520.0 : f16", "500.0 : f8E4M3FN", "1.0e39 : bf16", "1.0e400 : f64",
                          "7.0 : f4E2M1FN", "dense<[[1.0, -65520.0], [0.5, 3.0]]> : vector<2x2xf16>",
                          "{a = array<f32: 1.0, 1.0e39>} 1 : i32", "{a = 1.0e400} 1 : i32"})
    EXPECT_TRUE(isRefused(bad)) << bad;
  for (const char* good :
       {"3.4028235e38 : f32", "0x7F800000 : f32", "0xFF800000 : f32", "0x7FC00000 : f32", "65519.0 : f16",
        "448.0 : f8E4M3FN", "0x7F : f8E4M3FN", "3.0e38 : bf16", "1.0e39 : f64", "1.0e-60 : f32", "6.0 : f4E2M1FN",
        "dense<[[1.0, 0xFC00], [0.5, 3.0]]> : vector<2x2xf16>", "dense<\"0x0000807F\"> : vector<1xf32>"})
    EXPECT_EQ(messageOf(std::string("  %0 = arith.constant ") + good), "") << good;
}

TEST(MosaicText, SM2201_BeyondALimit) {
  EXPECT_EQ(messageOf("  %0 = arith.constant " + std::string(50, '1') + " : i32"),
            R"(error[SM2201]: a number has too many digits
  --> k.mlir:2:23
  need: 40 at most
  have: 50
)");
  EXPECT_EQ(messageOf(std::string(200, '{')), R"(error[SM2201]: brackets are nested too deep
  --> k.mlir:2:128
  need: 128 levels at most
  have: more
)");
  EXPECT_EQ(messageOf("  %0 = \"tpu.iota\"() : () -> vector<99999999999999x8xi32>"),
            R"(error[SM2201]: a shape has too many elements
  --> k.mlir:2:36
  need: 2^40 at most
  have: 99999999999999
)");
  EXPECT_EQ(messageOf("  %0 = \"arith.constant\"() : () -> i65000"), R"(error[SM2201]: kernels have no such type
  --> k.mlir:2:35
  need: integers of 1 to 64 bits
  have: i65000
)");
  EXPECT_EQ(messageOf("  \"tpu.trace_stop\"() {a = 0 : i0} : () -> ()"), R"(error[SM2201]: kernels have no such type
  --> k.mlir:2:31
  need: integers of 1 to 64 bits
  have: i0
)");
  EXPECT_EQ(messageOf("  %0 = \"arith.constant\"() : () -> vector<8x128xi0>"),
            R"(error[SM2201]: kernels have no such type
  --> k.mlir:2:43
  need: integers of 1 to 64 bits
  have: x128xi0
)");
}

TEST(MosaicText, SM2202_CannotBeRead) {
  EXPECT_EQ(messageOf("  %0 = arith.addi %i plus %i : i32"), R"(error[SM2202]: the text cannot be read: expected ','
  --> k.mlir:2:21
  help: a newer MLIR may print another syntax: give the generic form (print_generic_op_form=True)
)");
  EXPECT_EQ(messageOf("  %0 = arith.addi %i, %j : i32"),
            R"(error[SM2202]: the text cannot be read: use of undeclared SSA value name
  --> k.mlir:2:23
  help: a newer MLIR may print another syntax: give the generic form (print_generic_op_form=True)
)");
  EXPECT_EQ(messageOf("  \"nowhere.op\"() : () -> ()"),
            R"(error[SM2202]: the text cannot be read: operation being parsed with an unregistered dialect
  --> k.mlir:2:15
  help: a newer MLIR may print another syntax: give the generic form (print_generic_op_form=True)
)");
}

TEST(MosaicText, SM2202_ArraysOfNonNumbers) {
  EXPECT_EQ(messageOf("  %0 = tpu.iota {dimensions = array<index: 1>} : vector<8x128xi32>"),
            R"(error[SM2202]: array<…> holds integers or floats
  --> k.mlir:2:37
)");
  const auto aliased = importKernel("!t = index\n\"builtin.module\"() ({}) {a = array< !t: 1>} : () -> ()", "k.mlir");
  ASSERT_FALSE(aliased);
  EXPECT_EQ(aliased.error().code, "SM2202");
}

TEST(MosaicText, SM2203_IsInvalid) {
  EXPECT_EQ(messageOf("  %0 = tpu.iota {dimensions = array<i32: 2>} : vector<8x128xi32>"),
            R"(error[SM2203]: the kernel is invalid: 'tpu.iota' op needs a dimension below the rank 2, has 2
  --> k.mlir:2:8
)");
  EXPECT_EQ(messageOf("  %0 = \"arith.addi\"(%i) : (i32) -> i32"),
            R"(error[SM2203]: the kernel is invalid: 'arith.addi' op expected 2 operands, but found 1
  --> k.mlir:2:8
)");
}

TEST(MosaicText, SM3101_OpsOfTheDialectThatKernelsDoNotHold) {
  EXPECT_EQ(messageOf("  \"tpu.barrier\"(%i) : (i32) -> ()"),
            R"(error[SM3101]: 'tpu.barrier' is a SparseCore op; kernels for a TensorCore cannot contain it
  --> k.mlir:2:3
)");
  EXPECT_EQ(
      messageOf("  \"tpu.no_such_op\"(%i) : (i32) -> ()"),
      R"(error[SM2203]: the kernel is invalid: unregistered operation 'tpu.no_such_op' found in dialect ('tpu') that does not allow unknown operations
  --> k.mlir:2:3
)");
}

TEST(MosaicText, SM3103_OpsOfOtherDialects) {
  EXPECT_EQ(messageOf("  %0 = memref.dim %x, %x : memref<8x128xf32, #tpu.memory_space<vmem>>"),
            R"(error[SM3103]: a kernel cannot contain the op 'memref.dim'
  --> k.mlir:2:8
  need: the ops that Pallas lowers TensorCore kernels to
)");
  EXPECT_EQ(messageOf("  %c0 = arith.constant 0 : index\n"
                      "  %0 = memref.dim %x, %c0 : memref<8x128xf32, #tpu.memory_space<vmem>>"),
            R"(error[SM3103]: a kernel cannot contain the op 'memref.dim'
  --> k.mlir:3:8
  need: the ops that Pallas lowers TensorCore kernels to
)");
}

}  // namespace
}  // namespace smalti::interop
