// Every recorded kernel compiles to a flat program, where the recordings are at hand.
#include <filesystem>

#include "gtest/gtest.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "../../Recordings.h"
#include "ir/KernelPackage.h"
#include "machine/FlatProgram.h"

namespace smalti::machine::test {
namespace {

TEST(Corpus, EveryRecordedKernelCompiles) {
  namespace fs = std::filesystem;
  const fs::path corpus = smalti::test::recordingsFolder();
  if (!fs::exists(corpus)) GTEST_SKIP() << "no recordings at " << corpus;
  auto context = makeContext();
  int functions = 0;
  for (const auto& entry : fs::recursive_directory_iterator(corpus)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with("kernel") || !file.ends_with(".mosaic.generic.mlir") ||
        entry.path().string().find("versions") != std::string::npos)
      continue;
    auto module = mlir::parseSourceFile<mlir::ModuleOp>(entry.path().string(), context.get());
    ASSERT_TRUE(module) << entry.path();
    module->walk([&](mlir::func::FuncOp function) {
      auto program = compile(function, {});
      EXPECT_TRUE(program) << entry.path() << "\n" << program.error().str();
      ++functions;
    });
  }
  EXPECT_GT(functions, 0);
}

}  // namespace
}  // namespace smalti::machine::test
