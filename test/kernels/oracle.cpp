// smalti_kernels_oracle DIR [PREFIX…]: runs and checks the cases; a folder each with in0.npy …, out.npy and case.json.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "Cases.h"

using namespace smalti;
using namespace smalti::kernels::test;

namespace {

bool chosen(const std::string& name, int argc, char** argv) {
  if (argc == 2) return true;
  for (int i = 2; i < argc; ++i)
    if (name.starts_with(argv[i])) return true;
  return false;
}

void write(const std::filesystem::path& folder, const Case& c) {
  std::filesystem::create_directories(folder);
  nlohmann::json j{{"oracle", c.oracle}, {"parameters", c.parameters}};
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    unwrap(write_npy(folder / ("in" + std::to_string(i) + ".npy"), c.inputs[i]));
    j["inputs"].push_back(std::string(smalti::name(c.inputs[i].dtype())));
  }
  const Array out = c.run();
  unwrap(write_npy(folder / "out.npy", out));
  j["out"] = std::string(smalti::name(out.dtype()));
  const RunReport report = c.call.check_all(c.operands);
  j["findings"] = nlohmann::json::array();
  for (const Finding& f : report.findings) j["findings"].push_back(f.diagnostic.str());
  std::ofstream(folder / "case.json") << j.dump(1) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: smalti_kernels_oracle DIR [PREFIX…]\n";
    return 2;
  }
  int failed = 0;
  for (const Case& c : allCases().all) {
    if (!chosen(c.name, argc, argv)) continue;
    try {
      write(std::filesystem::path(argv[1]) / c.name, c);
    } catch (const Error& e) {
      std::cerr << c.name << ":\n" << e.what() << '\n';
      ++failed;
    }
  }
  return failed ? 1 : 0;
}
