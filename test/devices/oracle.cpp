// smalti_devices_oracle DIR: a folder per case with in0.npy …, out0.npy …, module.mlir and findings.txt.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "Cases.h"

using namespace smalti;
using namespace smalti::devices::test;

namespace {

void write(const std::filesystem::path& folder, const Case& c) {
  std::filesystem::create_directories(folder);
  for (size_t i = 0; i < c.inputs.size(); ++i)
    unwrap(write_npy(folder / ("in" + std::to_string(i) + ".npy"), c.inputs[i]));
  const std::vector<Operand> operands(c.inputs.begin(), c.inputs.end());
  const Results results = c.call.run(operands);
  for (size_t i = 0; i < results.size(); ++i)
    unwrap(write_npy(folder / ("out" + std::to_string(i) + ".npy"), results[i]));
  std::ofstream(folder / "module.mlir") << unwrap(c.call.lower_all(operands).stablehlo());
  std::ofstream findings(folder / "findings.txt");
  for (const Finding& f : c.call.check_all(operands).findings) findings << f.diagnostic.str() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: smalti_devices_oracle DIR [NAME…]\n";
    return 2;
  }
  Cases cases;
  collectiveCases(cases);
  kernelCases(cases);
  guideCases(cases);
  int failed = 0;
  for (const Case& c : cases.all) {
    bool chosen = argc == 2;
    for (int i = 2; i < argc; ++i) chosen |= c.name == argv[i];
    if (!chosen) continue;
    try {
      write(std::filesystem::path(argv[1]) / c.name, c);
    } catch (const Error& e) {
      std::cerr << c.name << ":\n" << e.what() << '\n';
      ++failed;
    }
  }
  return failed ? 1 : 0;
}
