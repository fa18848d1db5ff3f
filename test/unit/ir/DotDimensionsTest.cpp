// Dimension numbers of products, in either form.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "ir/KernelPackage.h"
#include "ir/TpuOpsMxu.h"
#include "ir/facts/DotDimensions.h"

namespace smalti {
namespace {

DotDimensions dimensionsOf(const std::string& attributes, const char* lhs, const char* rhs, const char* acc) {
  const auto context = makeContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      fmt::format("func.func @k(%l: vector<{0}>, %r: vector<{1}>, %a: vector<{2}>) {{\n"
                  "%o = tpu.matmul %l, %r, %a {{{3}}} : vector<{0}>, vector<{1}>, vector<{2}> -> vector<{2}>\n"
                  "return\n}}",
                  lhs, rhs, acc, attributes),
      mlir::ParserConfig(context.get()));
  EXPECT_TRUE(bool(module));
  DotDimensions found;
  if (module) module->walk([&](tpu::MatmulOp op) { found = dotDimensionsOf(*op); });
  return found;
}

constexpr const char* kHint = "transpose_lhs_hint = false";

TEST(DotDimensions, OfMatricesWithTransposes) {
  EXPECT_EQ(dimensionsOf(kHint, "2x3xf32", "3x5xf32", "2x5xf32"), (DotDimensions{{1}, {0}, {0}, {1}, {}, {}}));
  EXPECT_EQ(dimensionsOf(std::string("transpose_lhs = true, transpose_rhs = true, ") + kHint, "3x2xf32", "5x3xf32",
                         "2x5xf32"),
            (DotDimensions{{0}, {1}, {1}, {0}, {}, {}}));
}

TEST(DotDimensions, OfTheAttribute) {
  EXPECT_EQ(dimensionsOf(std::string("dimension_numbers = #tpu.dot_dimension_numbers<[2], [1], [1], [2], [0, 0, 0, 1, "
                                     "1, 2], [0], [0]>, ") +
                             kHint,
                         "4x2x3xf32", "4x3x5xf32", "4x2x5xf32"),
            (DotDimensions{{2}, {1}, {1}, {2}, {0}, {0}}));
}

}  // namespace
}  // namespace smalti
