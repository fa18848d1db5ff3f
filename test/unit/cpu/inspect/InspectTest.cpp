#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../jit/JitModules.h"
#include "cpu/inspect/InnerLoop.h"
#include "cpu/inspect/Mca.h"
#include "cpu/jit/Optimised.h"

namespace smalti::cpu {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kNest = R"(	.text
f:                                      # @f
	.cfi_startproc
	movq	%rdi, 8(%rsp)                   # 8-byte Spill
.LBB0_1:                                # =>This Loop Header: Depth=1
	vmovups	(%rsi), %zmm0
.LBB0_2:                                #   Parent Loop BB0_1 Depth=1
	vfmadd231ps	(%rdi){1to16}, %zmm2, %zmm0
	addq	8(%rsp), %rsi                   # 8-byte Reload
	decq	%rcx
	jne	.LBB0_2
	decq	%rdx
	jne	.LBB0_1
.LBB0_3:
	incq	%rax
	cmpq	%rax, %rbx
	jl	.LBB0_3
	retq
)";

TEST(InnerLoop, IsTheOneWithTheWork) {
  const auto loop = findInnerLoop(kNest);
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->text,
            ".LBB0_2:\n\tvfmadd231ps	(%rdi){1to16}, %zmm2, %zmm0\n\taddq	8(%rsp), %rsi\n\tdecq	%rcx\n"
            "\tjne	.LBB0_2\n");
  EXPECT_EQ(loop->instructions, 4);
  EXPECT_EQ(loop->multiplyAdds, 1);
  EXPECT_EQ(loop->spills, 1);
  EXPECT_EQ(countSpills(kNest), 2);
}

TEST(InnerLoop, StraightCodeHasNone) {
  EXPECT_FALSE(findInnerLoop("f:\n\tjmp .L2\n.L2:\n\tretq\n"));
  EXPECT_FALSE(findInnerLoop(""));
}

TEST(InnerLoop, OfAMatmulTileHoldsItsMultiplyAdds) {
  const Processor& host = hostProcessor();
  const auto assembly = generateAssembly(matmulModule(host, 4, 2, 2), host);
  ASSERT_TRUE(assembly);
  const auto loop = findInnerLoop(*assembly);
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->multiplyAdds, 4 * 2 * 2);
  EXPECT_EQ(loop->spills, 0);
}

TEST(InnerLoop, OfOtherProcessorsIsFoundToo) {
  const auto arm = processorNamed("aarch64-linux-gnu/neoverse-n1");
  ASSERT_TRUE(arm);
  const auto assembly = generateAssembly(matmulModule(*arm, 4, 2, 2), *arm);
  ASSERT_TRUE(assembly);
  const auto loop = findInnerLoop(*assembly);
  ASSERT_TRUE(loop) << *assembly;
  EXPECT_EQ(loop->multiplyAdds, 4 * 2 * 2);
}

TEST(Generate, TheOptimisedIrIsText) {
  const auto text = generateOptimised(addModule(hostProcessor()), hostProcessor());
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, HasSubstr("define i64 @add(i64 %0, i64 %1)"));
}

TEST(Mca, ReportsAreRead) {
  const auto loop = parseMca(R"(Iterations:        100
Instructions:      600
Total Cycles:      411

Instruction Info:
[1]: #uOps
[3]: RThroughput

[1]    [2]    [3]    [4]    [5]    [6]    Instructions:
 1      8     0.50    *                   vmovups	(%rsi), %zmm2
 1      11    1.00    *                   vfmadd231ps	(%rdi){1to16}, %zmm2, %zmm0
 1      11    1.00    *                   vfmadd231ps	4(%rdi){1to16}, %zmm2, %zmm1
 1      1     0.50                        jne	.L1

)");
  ASSERT_TRUE(loop);
  EXPECT_DOUBLE_EQ(loop->cycles, 4.11);
  EXPECT_DOUBLE_EQ(loop->multiplyAddBound, 2);
  EXPECT_FALSE(parseMca("error: no model"));
  EXPECT_FALSE(parseMca(""));
}

TEST(Mca, OnlyMultiplyAddsOfVectorsCount) {
  const auto loop = parseMca(R"(Iterations:        100
Total Cycles:      400

Instruction Info:
[1]    [2]    [3]    [4]    [5]    [6]    Instructions:
 1      3     1.00                        vfpclassps	$1, %zmm1, %k0
 1      4     0.50                        vfixupimmps	$0, %zmm1, %zmm2, %zmm3
 1      4     0.50           *            vfnmsub231ps	%zmm1, %zmm2, %zmm3
 1      4     0.25                        fmla	v0.4s, v1.4s, v2.4s

)");
  ASSERT_TRUE(loop);
  EXPECT_DOUBLE_EQ(loop->multiplyAddBound, 0.75);
}

TEST(Mca, SaysHowLongALoopTakes) {
  const auto mca = findMca();
  if (!mca) GTEST_SKIP() << "llvm-mca is not installed";
  const auto haswell = processorNamed("x86_64-linux-gnu/haswell");
  const auto assembly = generateAssembly(matmulModule(*haswell, 6, 2, 1), *haswell);
  ASSERT_TRUE(assembly);
  const auto cycles = loopCycles(*mca, findInnerLoop(*assembly)->text, *haswell);
  ASSERT_TRUE(cycles) << cycles.error().str();
  EXPECT_GE(cycles->cycles, 6);  // 12 multiply-adds on 2 ports
  EXPECT_DOUBLE_EQ(cycles->multiplyAddBound, 6);
  EXPECT_GT(cycles->fraction(), 0.5);
  EXPECT_LE(cycles->fraction(), 1.0);
}

TEST(Mca, AProcessorWithoutAModelIsReported) {
  const auto mca = findMca();
  if (!mca) GTEST_SKIP() << "llvm-mca is not installed";
  const auto cycles = loopCycles(*mca, "this is not assembly\n", hostProcessor());
  ASSERT_FALSE(cycles);
  EXPECT_EQ(cycles.error().code, "SM7004");
}

}  // namespace
}  // namespace smalti::cpu
