// What indices are provably multiples of: as libtpu proves it.
#include "tpu/Multiple.h"

#include <gtest/gtest.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "RuleTesting.h"

namespace smalti::testing {
namespace {

/// What `of` says of %r, or of the first index in the body; %k is a number from memory.
template <typename Of>
auto ofIndex(const std::string& body, Of of) {
  KernelPackage kernel = kernelOf({16, 128}, R"(module {
  func.func @kernel(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                    %o: memref<8x128xf32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 0 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @map, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @map, window_bounds = array<i64: 8, 128>}]} {
    %zero = arith.constant 0 : index
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %c8 = arith.constant 8 : i32
    %c12 = arith.constant 12 : i32
    %c32 = arith.constant 32 : i32
    %k = memref.load %n[%zero] : memref<4xi32, #tpu.memory_space<smem>>
    )" + body + R"(
    %last = arith.index_cast %r : i32 to index
    return
  }
  func.func @map(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    return %i, %i : i32, i32
  }
})");
  mlir::Value index;
  kernel.kernelFunction().walk([&](mlir::Operation* op) {
    if (!index && op->getName().getStringRef() == "arith.index_cast") index = op->getResult(0);
  });
  return of(index);
}

int64_t multipleOf(const std::string& body) { return ofIndex(body, tpu::knownMultiple); }

std::string counterexample(const std::string& body) {
  return ofIndex(body, [](mlir::Value index) { return tpu::counterexampleOf(index, 8); });
}

TEST(KnownMultiple, FollowsWhatTheCompilerFollows) {
  EXPECT_EQ(multipleOf("%r = arith.muli %k, %c8 : i32"), 8);
  EXPECT_EQ(multipleOf("%r = arith.muli %i, %c32 : i32"), 32);
  EXPECT_EQ(multipleOf("%m = arith.muli %k, %c8 : i32\n %r = arith.addi %m, %c12 : i32"), 4);
  EXPECT_EQ(multipleOf("%m = arith.muli %k, %c8 : i32\n %r = arith.subi %c32, %m : i32"), 8);
  EXPECT_EQ(multipleOf("%m = arith.muli %k, %c8 : i32\n %r = arith.minsi %m, %c32 : i32"), 8);
  EXPECT_EQ(multipleOf("%m = arith.muli %k, %c32 : i32\n %r = arith.divsi %m, %c2 : i32"), 16);
  EXPECT_EQ(multipleOf("%m = arith.muli %k, %c8 : i32\n %r = arith.remsi %m, %c32 : i32"), 8);
  EXPECT_EQ(multipleOf("%r = tpu.assume_multiple %k, 24 : i32"), 24);
  EXPECT_EQ(multipleOf("%b = arith.cmpi eq, %k, %c1 : i32\n %r = arith.select %b, %c8, %c12 : i32"), 4);
  EXPECT_EQ(multipleOf("%b = arith.cmpi eq, %c0, %c1 : i32\n %r = arith.select %b, %k, %c12 : i32"), 12);
}

TEST(KnownMultiple, StopsWhereTheCompilerStops) {
  EXPECT_EQ(multipleOf("%r = arith.addi %k, %c0 : i32"), 1);
  EXPECT_EQ(multipleOf("%m = arith.muli %k, %c8 : i32\n %r = arith.maxsi %m, %c32 : i32"), 1);
  EXPECT_EQ(multipleOf("%r = arith.shli %k, %c8 : i32"), 1);
  EXPECT_EQ(multipleOf("%m = arith.remsi %k, %c32 : i32\n %r = arith.subi %k, %m : i32"), 1);
}

TEST(KnownMultiple, OfLoopCountersWithConstantStartAndStep) {
  const auto loop = [](const std::string& start, const std::string& step, const std::string& index = "%j") {
    return multipleOf("%r = scf.for %j = " + start + " to %c32 step " + step +
                      " iter_args(%a = %c0) -> (i32) : i32 {\n %q = arith.index_cast " + index +
                      " : i32 to index\n scf.yield %a : i32\n}");
  };
  EXPECT_EQ(loop("%c0", "%c8"), 8);
  EXPECT_EQ(loop("%c12", "%c8"), 4);
  EXPECT_EQ(loop("%k", "%c8"), 1);
  EXPECT_EQ(loop("%c0", "%k"), 1);
  EXPECT_EQ(loop("%c0", "%c8", "%a"), 1);  // a value that the loop carries
}

TEST(Counterexamples, AreSteppedIndicesThatAreNoSuchMultiple) {
  EXPECT_EQ(counterexample("%r = arith.muli %i, %c12 : i32"), "12 where program_id(0) = 1");
  EXPECT_EQ(counterexample("%m = arith.muli %i, %c8 : i32\n %r = arith.addi %m, %c12 : i32"),
            "12 where program_id(0) = 0");
  EXPECT_EQ(counterexample("%m = arith.muli %i, %c8 : i32\n %r = arith.subi %m, %c2 : i32"),
            "-2 where program_id(0) = 0");
  EXPECT_EQ(counterexample("%r = scf.for %j = %c0 to %c32 step %c2 iter_args(%a = %c0) -> (i32) : i32 {\n"
                           "%q = arith.index_cast %j : i32 to index\n scf.yield %a : i32\n}"),
            "2 where i = 2");
}

TEST(Counterexamples, AreNotGuessed) {
  EXPECT_EQ(counterexample("%r = arith.muli %i, %c8 : i32"), "");
  EXPECT_EQ(counterexample("%r = arith.muli %k, %c12 : i32"), "");
  EXPECT_EQ(counterexample("%m = arith.addi %i, %k : i32\n %r = arith.muli %m, %c12 : i32"), "");
  EXPECT_EQ(counterexample("%r = scf.for %j = %c0 to %c1 step %c1 iter_args(%a = %c0) -> (i32) : i32 {\n"
                           "%q = arith.index_cast %j : i32 to index\n scf.yield %a : i32\n}"),
            "");
}

}  // namespace
}  // namespace smalti::testing
