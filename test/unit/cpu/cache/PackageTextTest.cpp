#include "cpu/cache/PackageText.h"

#include <gtest/gtest.h>

#include "cpu/cache/ReportText.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

namespace smalti::cpu {
namespace {

KernelPackage kernel(const std::string& constant = "1.0", const std::string& location = "\"a.py\":1:1") {
  KernelPackage package;
  package.context = makeContext();
  const std::string text = R"(module {
  func.func @main(%x: memref<8x128xf32>) attributes {tpu.core_type = #tpu.core_type<tc>} {
    %c = arith.constant )" +
                           constant + " : f32 loc(" + location + R"()
    return
  }
})";
  package.module = mlir::parseSourceString<mlir::ModuleOp>(text, package.context.get());
  EXPECT_TRUE(package.module);
  package.results.push_back({DType::f32, {8, 128}});
  return package;
}

TEST(PackageText, TheSameKernelIsTheSameText) { EXPECT_EQ(packageText(kernel()), packageText(kernel())); }

TEST(PackageText, PlacesAndNamesDoNotCount) {
  KernelPackage other = kernel("1.0", "\"b.py\":7:7");
  other.name = "another";
  EXPECT_EQ(packageText(other), packageText(kernel()));
}

TEST(PackageText, AllThatChangesCodeCounts) {
  EXPECT_NE(packageText(kernel("2.0")), packageText(kernel()));
  KernelPackage types = kernel(), aliases = kernel(), config = kernel();
  types.results[0].shape = {128, 8};
  aliases.aliases.push_back({.output = 0, .operand = 1});
  config.config.disableBoundsChecks = false;
  for (const KernelPackage* changed : {&types, &aliases, &config})
    EXPECT_NE(packageText(*changed), packageText(kernel()));
}

TEST(ReportText, IsReadBack) {
  NativeReport report;
  report.compile.objectBytes = 1234;
  report.arenaBytes = 1 << 20;
  report.matmuls = {"128x128x128 f32: tile 6x64", "second"};
  const auto read = readReport(reportText(report));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->compile.fromCache);
  EXPECT_EQ(read->compile.objectBytes, report.compile.objectBytes);
  EXPECT_EQ(read->arenaBytes, report.arenaBytes);
  EXPECT_EQ(read->matmuls, report.matmuls);
}

TEST(ReportText, OtherTextIsRefused) {
  for (const char* text :
       {"object 12", "object x\n", "object\n", "interpreted tpu.sort\n", "colour 7\n", "object 99999999999999999999\n"})
    EXPECT_FALSE(readReport(text)) << text;
}

}  // namespace
}  // namespace smalti::cpu
