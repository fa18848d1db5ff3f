// One good kernel, and what finish(KernelPackage) says to edits of it.
#pragma once

#include <functional>

#include <gtest/gtest.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "ir/KernelPackage.h"

namespace smalti::testing {

inline constexpr std::string_view kKernel = R"(module {
  func.func @add_one(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>, %x: memref<8x128xf32, #tpu.memory_space<vmem>>,
                     %o: memref<8x128xf32, #tpu.memory_space<vmem>>, %s: memref<8x128xf32, #tpu.memory_space<vmem>>)
      attributes {dimension_semantics = [#tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 2>,
                  scalar_prefetch = 1 : i64, scratch_operands = 1 : i64, tpu.core_type = #tpu.core_type<tc>,
                  window_params = [{transform_indices = @in, window_bounds = array<i64: 8, 128>},
                                   {transform_indices = @out, window_bounds = array<i64: 8, 128>}]} {
    // body
    return
  }
  func.func @in(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    return %i, %i : i32, i32
  }
  func.func @out(%i: i32, %n: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    return %i, %i : i32, i32
  }
}
)";

struct Case {
  const char* name;
  std::vector<std::pair<std::string, std::string>> edits;  ///< of the text: from, to (the first one found)
  std::function<void(KernelPackage&)> change;              ///< of what the package holds besides the text; may be empty
  std::string message;                                     ///< "": nothing is wrong
};

inline std::string edited(const Case& c) {
  std::string text(kKernel);
  for (const auto& [from, to] : c.edits) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
  }
  return text;
}

/// What `check` says of the case's kernel.
inline std::string messageOf(const Case& c, const std::function<Status(KernelPackage&)>& check = finish) {
  KernelPackage package;
  package.context = makeContext();
  package.module = mlir::parseSourceString<mlir::ModuleOp>(
      edited(c), mlir::ParserConfig(package.context.get(), /*verifyAfterParse=*/false), "k.mlir");
  if (!package.module) return "the text does not parse";
  package.name = "add_one";
  package.operands = {{DType::i32, {4}}, {DType::f32, {16, 128}}};
  package.results = {{DType::f32, {16, 128}}};
  if (c.change) c.change(package);
  const Status status = check(package);
  return status ? "" : status.error().str();
}

inline std::string nameOf(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

}  // namespace smalti::testing
