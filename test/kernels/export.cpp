// smalti_kernels_export DIR: DIR/NAME.mlir, StableHLO of every case whose blocks a TPU takes.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "Cases.h"

using namespace smalti;
using namespace smalti::kernels::test;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: smalti_kernels_export DIR\n";
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  int failed = 0;
  for (const Case& c : allCases().all) {
    if (!c.exportable) continue;
    const auto text = attempt([&] { return unwrap(c.call.lower_all(c.operands).stablehlo()); });
    if (!text) {
      std::cerr << c.name << ":\n" << text.error().str() << '\n';
      ++failed;
      continue;
    }
    std::ofstream(std::filesystem::path(argv[1]) / (c.name + ".mlir")) << *text;
  }
  return failed ? 1 : 0;
}
