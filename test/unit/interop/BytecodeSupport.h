// What the bytecode tests share: files, the recorded corpus, and printing.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../Recordings.h"
#include "interop/Interop.h"
#include "ir/KernelPackage.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

namespace smalti::interop::test {

namespace fs = std::filesystem;

inline std::string slurp(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline fs::path dataFolder() { return fs::path(SMALTI_SOURCE_DIR) / "test/data/bytecode"; }

/// Recorded kernels next to the checkout, or where SMALTI_CORPUS says; empty when there are none.
inline fs::path corpusFolder() {
  const fs::path folder = smalti::test::recordingsFolder();
  return fs::exists(folder) ? folder : fs::path();
}

inline std::vector<fs::path> bodiesBelow(const fs::path& folder) {
  std::vector<fs::path> bodies;
  for (const auto& e : fs::recursive_directory_iterator(folder))
    if (e.path().extension() == ".bc" && e.path().filename().string().starts_with("kernel")) bodies.push_back(e.path());
  std::sort(bodies.begin(), bodies.end());
  return bodies;
}

inline std::string genericText(mlir::ModuleOp module, bool locations = false) {
  std::string text;
  llvm::raw_string_ostream out(text);
  mlir::OpPrintingFlags flags;
  flags.printGenericOpForm();
  if (locations) flags.enableDebugInfo();
  module->print(out, flags);
  return text;
}

/// jaxlib's generic text as our context prints it; "" when it does not parse.
inline std::string reprinted(const fs::path& file, mlir::MLIRContext& context) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(slurp(file), &context);
  return module ? genericText(*module) : std::string();
}

/// Everything after the producer's name: what must agree between two writers.
inline std::string afterProducer(const std::string& body) { return body.substr(body.find('\0', 5)); }

}  // namespace smalti::interop::test
