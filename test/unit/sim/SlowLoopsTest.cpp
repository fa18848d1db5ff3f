// Loops that wait for a slow unit: the whole message, and loops that do not.
#include "sim/SlowLoops.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

namespace smalti::testing {
namespace {

std::vector<std::string> slowLoops(const std::string& chip, const std::string& rounds, const std::string& body) {
  const std::string text = fmt::format(R"MLIR(module {{
  func.func @kernel(%x: memref<256x256xf32, #tpu.memory_space<vmem>>, %o: memref<256x256xf32, #tpu.memory_space<vmem>>)
      attributes {{dimension_semantics = [], scalar_prefetch = 0 : i64, scratch_operands = 0 : i64,
                  tpu.core_type = #tpu.core_type<tc>}} {{
    %zero = arith.constant 0 : index
    %from = arith.constant 0 : i32
    %by = arith.constant 1 : i32
    %to = arith.constant {} : i32
    scf.for %i = %from to %to step %by : i32 {{
      %v = vector.load %x[%zero, %zero] : memref<256x256xf32, #tpu.memory_space<vmem>>, vector<256x256xf32>
      {}
      tpu.vector_store %o[%zero, %zero], %r {{strides = array<i32>}} : memref<256x256xf32, #tpu.memory_space<vmem>>, vector<256x256xf32>,
    }}
    return
  }}
}}
)MLIR",
                                       rounds, body);
  KernelPackage package;
  package.context = makeContext();
  package.module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(package.context.get()), "k.mlir");
  EXPECT_TRUE(package.module) << text;
  package.name = "kernel";
  package.operands = package.results = {{DType::f32, {256, 256}}};
  const Status ok = finish(package);
  EXPECT_TRUE(ok) << ok.error().str();
  std::vector<std::string> out;
  for (const Diagnostic& d : sim::slowLoops(package, *tpu::findChip(chip))) out.push_back(d.str());
  return out;
}

constexpr auto kTranspose = "%r = tpu.transpose %v, [1, 0] : vector<256x256xf32> -> vector<256x256xf32>";

TEST(SlowLoops, SM6639_ATransposeInALoop) {
  const auto found = slowLoops("v5e", "8", kTranspose);
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0], R"MESSAGE(error[SM6639]: a loop waits for the cross-lane units
  --> k.mlir:11:12
   in kernel 'kernel'
   in chip v5e
  need: a round in which no slow unit takes longer than the others (the vector stores: 64 cycles)
  have: 288 cycles of the cross-lane units in each round, 288 of them for tpu.transpose of f32[256,256]
  help: let the product contract the other dimension (dot_general), or transpose before the loop
)MESSAGE");
}

TEST(SlowLoops, ExponentialsWaitForTheTranscendentalUnit) {
  const auto found =
      slowLoops("v6e", "8", "%e = math.exp %v : vector<256x256xf32>\n      %r = math.log %e : vector<256x256xf32>");
  ASSERT_EQ(found.size(), 1);
  EXPECT_NE(found[0].find("a loop waits for the transcendental unit\n  --> k.mlir:11:12"), std::string::npos)
      << found[0];
  EXPECT_NE(found[0].find("help: compute it in bf16"), std::string::npos) << found[0];
}

TEST(SlowLoops, NoneIfOtherUnitsAreAsSlow) {
  EXPECT_TRUE(slowLoops("v5e", "8", "%r = arith.addf %v, %v : vector<256x256xf32>").empty());
}

TEST(SlowLoops, NoneIfALoopHasOneIteration) { EXPECT_TRUE(slowLoops("v5e", "1", kTranspose).empty()); }

}  // namespace
}  // namespace smalti::testing
