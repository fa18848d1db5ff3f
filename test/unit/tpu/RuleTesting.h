// What the compiler of a chip says of a kernel in Mosaic text with one prefetched i32[4], one input and one output.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "tpu/Legality.h"

namespace smalti::testing {

/// Of %v in a body, to %o: a value that a reduction needs again.
inline const std::string kSoftmax = R"MLIR(
    %low = arith.constant dense<0xFF800000> : vector<256xf32>
    %e = math.exp %v : vector<256x1024xf32>
    %m = vector.multi_reduction <maximumf>, %e, %low [1] : vector<256x1024xf32> to vector<256xf32>
    %c = vector.shape_cast %m : vector<256xf32> to vector<256x1xf32>
    %b = vector.broadcast %c : vector<256x1xf32> to vector<256x1024xf32>
    %d = arith.divf %e, %b : vector<256x1024xf32>
    vector.store %d, %o[%zero, %zero] : memref<256x1024xf32, #tpu.memory_space<vmem>>, vector<256x1024xf32>
)MLIR";

inline KernelPackage kernelOf(const Shape& array, const std::string& text) {
  KernelPackage package;
  package.context = makeContext();
  package.module = mlir::parseSourceString<mlir::ModuleOp>(
      text, mlir::ParserConfig(package.context.get(), /*verifyAfterParse=*/false), "k.mlir");
  EXPECT_TRUE(package.module) << text;
  package.name = "kernel";
  package.operands = {{DType::i32, {4}}, {DType::f32, array}};
  package.results = {{DType::f32, array}};
  const Status ok = finish(package);
  EXPECT_TRUE(ok) << ok.error().str();
  return package;
}

/// The whole message of the first reason to refuse; "" where the kernel is accepted.
inline std::string refusalOf(std::string_view chip, const Shape& array, const std::string& text) {
  const auto found = tpu::findChip(chip);
  if (!found) return found.error().str();
  const tpu::Verdict verdict = tpu::judge(kernelOf(array, text), *found);
  return verdict.accepted() ? "" : verdict.refusals.front().diagnostic.str();
}

}  // namespace smalti::testing
