// Roles of a kernel's arguments, and what of the call they stand for.
#include <gtest/gtest.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "ir/KernelArguments.h"

namespace smalti {
namespace {

/// A dynamic bound, two axes, one scalar prefetch operand, two inputs, two outputs, two scratch buffers.
KernelPackage somePackage() {
  KernelPackage p;
  p.context = makeContext();
  p.module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @k(%i: i32, %j: i32, %n: memref<4xi32, #tpu.memory_space<smem>>,
                 %x: memref<8x128xf32, #tpu.memory_space<vmem>>, %y: memref<16x128xf32, #tpu.memory_space<any>>,
                 %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %q: memref<16x128xf32, #tpu.memory_space<any>>,
                 %s: memref<8x128xf32, #tpu.memory_space<vmem>>, %t: memref<8x128xi32, #tpu.memory_space<vmem>>)
        attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>, #tpu.dimension_semantics<arbitrary>],
                    iteration_bounds = array<i64: 2, -9223372036854775808>, scalar_prefetch = 1 : i64,
                    scratch_operands = 2 : i64, tpu.core_type = #tpu.core_type<tc>,
                    window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>}, {},
                                     {transform_indices = @map, window_bounds = array<i64: 8, 128>}, {}]} {
      %v = arith.constant 0 : i32
      return
    }
    func.func @map(%i: i32, %j: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
      return %i, %j : i32, i32
    })",
                                                     mlir::ParserConfig(p.context.get()));
  p.name = "k";
  p.operands = {{DType::i32, {}}, {DType::i32, {4}}, {DType::f32, {16, 128}}, {DType::f32, {16, 128}}};
  p.results = {{DType::f32, {16, 256}}, {DType::f32, {16, 128}}};
  p.aliases = {{.output = 1, .operand = 3}};
  return p;
}

TEST(KernelArguments, HaveTheirRoles) {
  KernelPackage p = somePackage();
  const Status status = finish(p);
  ASSERT_TRUE(status) << status.error().str();
  const KernelArguments arguments(p);
  EXPECT_EQ(arguments.count(), 9u);
  const char* const kRoles[] = {"grid index 0", "grid index 1", "scalar prefetch 0", "input 0",  "input 1",
                                "output 0",     "output 1",     "scratch 0",         "scratch 1"};
  for (unsigned a = 0; a < 9; ++a) {
    EXPECT_EQ(arguments.roleOf(a).str(), kRoles[a]);
    EXPECT_EQ(arguments.roleOf(mlir::func::FuncOp(arguments.function()).getArgument(a)), arguments.roleOf(a));
  }
  EXPECT_EQ(arguments.gridIndex(1).getArgNumber(), 1u);
  EXPECT_EQ(arguments.scalarPrefetch(0).getArgNumber(), 2u);
  EXPECT_EQ(arguments.input(1).getArgNumber(), 4u);
  EXPECT_EQ(arguments.output(0).getArgNumber(), 5u);
  EXPECT_EQ(arguments.scratch(1).getArgNumber(), 8u);
  EXPECT_EQ(arguments.blockNumber(arguments.output(1)), 3u);
  EXPECT_EQ(arguments.blockNumber(arguments.scratch(0)), std::nullopt);
  const mlir::Value inside = mlir::func::FuncOp(arguments.function()).getBody().front().front().getResult(0);
  EXPECT_EQ(arguments.roleOf(inside), std::nullopt);
  const mlir::Value ofTheMap = arguments.indexMap(*arguments.windowOf(0)).getArgument(0);
  EXPECT_EQ(arguments.roleOf(ofTheMap), std::nullopt);
}

TEST(KernelArguments, StandForOperandsAndResults) {
  KernelPackage p = somePackage();
  ASSERT_TRUE(finish(p));
  const KernelArguments arguments(p);
  EXPECT_EQ(arguments.prefetchOperand(0), 1u);
  EXPECT_EQ(arguments.inputOperand(1), 3u);
  EXPECT_EQ(arguments.arrayOf(0), p.operands[2]);
  EXPECT_EQ(arguments.arrayOf(2), p.results[0]);
  EXPECT_TRUE(arguments.windowOf(2));
  EXPECT_FALSE(arguments.windowOf(3));
  EXPECT_EQ(arguments.aliasedInput(1), 1u);
  EXPECT_EQ(arguments.aliasedInput(0), std::nullopt);
  EXPECT_EQ(arguments.aliasedOutput(1), 1u);
  EXPECT_EQ(arguments.aliasedOutput(0), std::nullopt);
  EXPECT_TRUE(arguments.isAliased(1));
  EXPECT_FALSE(arguments.isAliased(0));
}

TEST(KernelArguments, FollowAPackageThatChanges) {
  KernelPackage p = somePackage();
  ASSERT_TRUE(finish(p));
  const KernelArguments arguments(p);
  mlir::func::FuncOp function = arguments.function();
  const mlir::Value scratch = arguments.scratch(0);
  ASSERT_TRUE(mlir::succeeded(function.insertArgument(7, arguments.output(0).getType(), {}, function.getLoc())));
  p.results.push_back(p.results[0]);
  p.signature.windows.push_back(p.signature.windows[2]);
  EXPECT_EQ(arguments.scratch(0), scratch);
  EXPECT_EQ(arguments.roleOf(scratch)->str(), "scratch 0");
}

}  // namespace
}  // namespace smalti
