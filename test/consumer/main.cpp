// Runs and checks a module with inputs of ones: what a program outside Smalti's tree looks like.
#include <smalti/smalti.h>

#include <iostream>

int main(int argc, char** argv) {
  auto module = smalti::Module::load(argc > 1 ? argv[1] : "kernel.mlir");
  if (!module) return std::cerr << module.error().str(), 1;
  auto inputs = smalti::make_inputs(*module);
  if (!inputs) return std::cerr << inputs.error().str(), 1;
  auto report = module->check(*inputs);
  if (!report) return std::cerr << report.error().str(), 1;
  for (const smalti::Array& result : report->results) std::cout << result.type().str() << "\n";
  std::cout << report->findings.size() << " findings\n";
}
