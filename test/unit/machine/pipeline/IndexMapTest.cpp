// Index maps: what is computed without a program, what is skipped, what is refused.
#include <gtest/gtest.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "../runtime/TextKernel.h"

namespace smalti::machine::testing {
namespace {

TEST(IndexMap, ComputedMapsRun) {
  TextKernel k({4});
  const Val x = k.input({.array = {8, 4},
                         .block = {1, 4},
                         .map = "%s, %c0",
                         .lines = "%d = arith.muli %i, %c2 : i32\n%s = arith.subi %c7, %d : i32"});
  const Val o = k.output({.array = {4, 4}, .block = {1, 4}, .map = "%i, %c0"});
  k.store(k.load(x), o);
  const auto out = floats(results(k, {counting({8, 4})})[0]);
  EXPECT_EQ(out[0], 28.f);
  EXPECT_EQ(out[12], 4.f);
}

TEST(IndexMap, AMapOverPrefetchSeesWhatTheKernelStored) {
  TextKernel k({3});  // the kernel moves the input's block itself, through the prefetch ref
  const Val p = k.prefetch("i32", {1});
  const Val x = k.input({.array = {3, 4},
                         .block = {1, 4},
                         .map = "%b, %c0",
                         .lines = "%n = arith.index_cast %c0 : i32 to index\n%b = memref.load %p0[%n] : memref<1xi32, "
                                  "#tpu.memory_space<smem>>"});
  const Val o = k.output({.array = {3, 4}, .block = {1, 4}, .map = "%i, %c0"});
  k.store(k.load(x), o);
  k.scalarStore(k.binary("arith.subi", k.constant(2), k.id(0)), p, {});
  const Array start = i32Array({1}, [](int64_t) { return 0; });
  const auto out = floats(results(k, {start, counting({3, 4})})[0]);
  EXPECT_EQ(out[0], 0.f);
  EXPECT_EQ(out[4], 8.f);
  EXPECT_EQ(out[8], 4.f);
  EXPECT_EQ(ints(start)[0], 0) << "the caller's array is not changed";
}

TEST(IndexMap, AMapThatDoesNotEndIsRefused) {
  TextKernel loops({1});
  loops.input({.array = {2, 4},
               .block = {1, 4},
               .map = "%q, %c0",
               .lines = "%t = arith.constant true\nscf.while : () -> () {\nscf.condition(%t)\n} do {\nscf.yield\n}\n"
                        "%q = arith.addi %i, %c1 : i32"});
  const auto r = runOn(loops, {{counting({2, 4})}});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, "SM4050") << r.error().str();
}

TEST(IndexMap, AnUndefinedBlockIndexIsFound) {
  TextKernel k({2});
  const Val scratch = k.scratch("i32", {1}, "smem"), prefetched = k.prefetch("i32", {1});
  k.input({.array = {1, 4},
           .block = {1, 4},
           .map = "%m, %c0",
           .lines = "%n = arith.index_cast %c0 : i32 to index\n%b = memref.load %p0[%n] : memref<1xi32, "
                    "#tpu.memory_space<smem>>\n%m = arith.muli %b, %c0 : i32"});
  k.scalarStore(k.scalarLoad(scratch, {}), prefetched, {});
  const auto r = runOn(k, {{i32Array({1}, [](int64_t) { return 0; }), counting({1, 4})}}, checked());
  ASSERT_TRUE(r) << r.error().str();
  EXPECT_EQ(codes(*r), std::vector<std::string>{"SM4101"});
  EXPECT_EQ(r->findings[0].diagnostic.place.line, lineOf(k, "@transform_0("));
}

// As JAX writes it: the function is nowhere, what it computes is at the user's lambda.
TEST(IndexMap, ThePlaceIsThatOfWhatItComputes) {
  TextKernel k({2});
  k.input(
      {.array = {2, 4},
       .block = {1, 4},
       .map = "%n, %c0",
       .lines = "%m = arith.muli %i, %c1 : i32 loc(\"f.py\":7:3)\n%n = arith.addi %m, %c1 : i32 loc(\"f.py\":8:42)"});
  KernelPackage package = k.package();
  package.module->walk([&](mlir::func::FuncOp f) {
    if (f.getSymName() != "transform_0") return;
    const mlir::Location nowhere = mlir::UnknownLoc::get(package.context.get());
    f->setLoc(nowhere);
    f->walk([&](mlir::Operation* op) {
      if (placeOf(op->getLoc()).file != "f.py") op->setLoc(nowhere);
    });
  });
  const auto compiled = compileKernel(package, Numerics::f32);
  ASSERT_TRUE(compiled) << compiled.error().str();
  const std::vector<std::vector<Array>> operands{{counting({2, 4})}};
  const auto r = smalti::machine::run(**compiled, operands, checked());
  ASSERT_TRUE(r) << r.error().str();
  ASSERT_EQ(codes(*r), std::vector<std::string>{"SM4111"});
  EXPECT_EQ(r->findings[0].diagnostic.place.str(), "f.py:8:43");
}

}  // namespace
}  // namespace smalti::machine::testing
