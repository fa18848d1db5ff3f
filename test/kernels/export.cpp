// smalti_kernels_export DIR: DIR/NAME.mlir, StableHLO of every case whose blocks a TPU takes.
// smalti_kernels_export --cases DIR: DIR/NAME/, each as a case folder for smalti conform, with what is computed here
// (SMALTI_NUMERICS=tpu: as a TPU multiplies).
#include <filesystem>
#include <fstream>
#include <iostream>

#include "Cases.h"

using namespace smalti;
using namespace smalti::kernels::test;

namespace {

/// By how much results on a device may differ: sums are added in other orders, functions approximated otherwise.
nlohmann::json toleranceOf(const Array& result) {
  const DType t = result.dtype();
  const double relative = t == bf16 || t == f16 ? 2e-2 : t == f32 ? 1e-3 : 0;
  return {{"rtol", relative}, {"atol", relative}, {"reason", "orders of sums and functions are a device's own"}};
}

nlohmann::json writeArray(const std::filesystem::path& folder, const std::string& file, const Array& array) {
  unwrap(write_npy(folder / file, array));
  return {{"file", file}, {"shape", array.shape()}, {"dtype", std::string(smalti::name(array.dtype()))}};
}

void writeCase(const std::filesystem::path& folder, const Case& c, const std::string& module) {
  std::filesystem::create_directories(folder);
  nlohmann::json j{{"name", c.name},
                   {"description", "a call of the kernel library"},
                   {"args", nlohmann::json::array()},
                   {"results", nlohmann::json::array()},
                   {"tolerance", nlohmann::json::array()}};
  const auto addInput = [&](const Array& array) {
    j["args"].push_back(writeArray(folder, "in" + std::to_string(j["args"].size()) + ".npy", array));
  };
  std::vector<Array> inputs;
  for (const Operand& operand : c.operands) inputs.push_back(operand.array());
  for (const Array& size : c.grid_sizes) addInput(size);
  for (const Array& input : inputs) addInput(input);
  const RunReport report = unwrap(c.call.compile_all(c.operands).execute(inputs));
  for (size_t i = 0; i < report.results.size(); ++i) {
    j["results"].push_back(writeArray(folder, "out" + std::to_string(i) + ".npy", report.results[i]));
    j["tolerance"].push_back(toleranceOf(report.results[i]));
  }
  std::ofstream(folder / "module.stablehlo.mlir") << module;
  std::ofstream(folder / "case.json") << j.dump(1) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  const bool cases = argc == 3 && std::string_view(argv[1]) == "--cases";
  if ((argc != 2 && !cases) || argv[argc - 1][0] == '-') {
    std::cerr << "usage: smalti_kernels_export [--cases] DIR\n";
    return 2;
  }
  const std::filesystem::path folder = argv[argc - 1];
  std::filesystem::create_directories(folder);
  int failed = 0;
  for (const Case& c : allCases().all) {
    if (!c.exportable) continue;
    const auto text = attempt([&] {
      const std::string module = unwrap(c.call.lower_all(c.operands).stablehlo());
      if (cases) writeCase(folder / c.name, c, module);
      return module;
    });
    if (!text) {
      std::cerr << c.name << ":\n" << text.error().str() << '\n';
      ++failed;
      continue;
    }
    if (!cases) std::ofstream(folder / (c.name + ".mlir")) << *text;
  }
  return failed ? 1 : 0;
}
