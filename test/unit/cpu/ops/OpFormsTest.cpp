// Forms of ops that have no native code. The verifier refuses some of them already: it is off here.
#include <stdexcept>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "cpu/ops/OpForms.h"
#include "ir/KernelPackage.h"

namespace smalti::cpu::testing {
namespace {

/// Of the last op of a body; "" if nothing prevents native code.
std::string reasonFor(std::string_view ops) {
  const auto context = makeContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      fmt::format(R"(func.func @k(%x: vector<8x128xf32>, %i: vector<8x128xi32>, %n: i32,
                                  %v: memref<8x128xf32, #tpu.memory_space<vmem>>,
                                  %b: memref<8x128xbf16, #tpu.memory_space<vmem>>,
                                  %s: memref<8x128xf32, #tpu.memory_space<smem>>,
                                  %h: memref<8x128xf32, #tpu.memory_space<any>>) {{
        %c0 = arith.constant 0 : index
        {}
        return
      }})",
                  ops),
      mlir::ParserConfig(context.get(), /*verifyAfterParse=*/false));
  if (!module) throw std::runtime_error("no module");
  mlir::Block& body = (*module->getOps<mlir::func::FuncOp>().begin()).getBody().front();
  return unsupportedForm(*std::prev(body.without_terminator().end())).value_or("");
}

TEST(OpForms, VectorsAreInVmemAndScalarsInSmemToo) {
  constexpr const char* kRefused = "a load or store that the machine refuses";
  const auto load = [](const char* ref, const char* space) {
    return reasonFor(fmt::format(
        "%l = vector.load {}[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<{}>>, vector<8x128xf32>", ref, space));
  };
  EXPECT_EQ(load("%v", "vmem"), "");
  EXPECT_EQ(load("%s", "smem"), kRefused);
  EXPECT_EQ(load("%h", "any"), kRefused);
  EXPECT_EQ(reasonFor("%l = memref.load %s[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<smem>>"), "");
  EXPECT_EQ(reasonFor("%l = memref.load %h[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<any>>"), kRefused);
}

TEST(OpForms, StoresKeepTheElementType) {
  const auto store = [](const char* type, const char* ref, const char* element) {
    return reasonFor(fmt::format(
        R"("tpu.vector_store"(%x, {}, %c0, %c0) <{{operandSegmentSizes = array<i32: 1, 1, 2, 0>, strides = array<i32>,
           add = false}}> : (vector<8x128x{}>, memref<8x128x{}, #tpu.memory_space<vmem>>, index, index) -> ())",
        ref, type, element));
  };
  EXPECT_EQ(store("f32", "%v", "f32"), "");
  EXPECT_EQ(store("f32", "%b", "bf16"), "a store that changes the element type");
}

TEST(OpForms, AllocationsAreInVmemSmemOrHbm) {
  EXPECT_EQ(reasonFor("%a = memref.alloca() : memref<8x128xf32, #tpu.memory_space<vmem>>"), "");
  EXPECT_EQ(reasonFor("%a = memref.alloca() : memref<8x128xf32, #tpu.memory_space<hbm>>"), "");
  EXPECT_EQ(reasonFor("%a = memref.alloca() : memref<8x128xf32, #tpu.memory_space<cmem>>"),
            "an allocation outside VMEM, SMEM and HBM");
  EXPECT_EQ(reasonFor("%a = memref.alloca(%c0) : memref<?x128xf32, #tpu.memory_space<vmem>>"),
            "an allocation of a dynamic size");
  EXPECT_EQ(
      reasonFor("%a = \"tpu.sem_alloc\"() : () -> memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>"), "");
  EXPECT_EQ(
      reasonFor("%a = \"tpu.sem_alloc\"() : () -> memref<?x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>"),
      "an allocation of a dynamic size");
}

TEST(OpForms, DimensionsAreThoseOfTheValue) {
  const auto rotate = [](int dimension) {
    return reasonFor(fmt::format(
        "%r = tpu.dynamic_rotate %x by %n dim {} : vector<8x128xf32>, i32 -> vector<8x128xf32>", dimension));
  };
  EXPECT_EQ(rotate(1), "");
  EXPECT_EQ(rotate(2), "a rotation of an unknown form");
  const auto gather = [](int dimension) {
    return reasonFor(fmt::format(
        "%g = tpu.dynamic_gather %x[%i] in [{}] : vector<8x128xf32>, vector<8x128xi32> -> vector<8x128xf32>",
        dimension));
  };
  EXPECT_EQ(gather(0), "");
  EXPECT_EQ(gather(2), "a gather of an unknown form");
  const auto concatenate = [](int dimension) {
    return reasonFor(
        fmt::format("%c = tpu.concatenate %x, %x in {} : vector<8x128xf32>, vector<8x128xf32> -> "
                    "vector<16x128xf32>",
                    dimension));
  };
  EXPECT_EQ(concatenate(0), "");
  EXPECT_EQ(concatenate(2), "a concatenation of an unknown form");
}

TEST(OpForms, LoopsCompareSignedNumbers) {
  EXPECT_EQ(reasonFor("scf.for %k = %n to %n step %n : i32 {\n}"), "");
  EXPECT_EQ(reasonFor("scf.for unsigned %k = %n to %n step %n : i32 {\n}"), "a loop with an unsigned comparison");
}

}  // namespace
}  // namespace smalti::cpu::testing
