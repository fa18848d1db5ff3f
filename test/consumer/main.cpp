// Runs and checks a module with inputs of ones: what a program outside Smalti's tree looks like.
#include <smalti/kernels/softmax.h>
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
  const smalti::Array half = smalti::kernels::softmax(smalti::zeros({1, 2}));
  if (half.as<float>()[0] != 0.5f) return std::cerr << "softmax of (0, 0) is not (1/2, 1/2)\n", 1;
  std::cout << report->findings.size() << " findings\n";
}
