// Loads a StableHLO module once, then runs it for each line on standard input and prints the seconds it took.
//   bench_interpret_server MODULE [--check]
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>

#include "driver/program/RunProgram.h"
#include "interop/Interop.h"
#include "machine/observers/Registry.h"

namespace {

using namespace smalti;

[[noreturn]] void refuse(const Diagnostic& d) {
  std::fputs(d.str().c_str(), stderr);
  std::exit(3);
}

Array randomArray(const ArrayType& type) {
  auto array = Array::allocate(type);
  if (!array) refuse(array.error());
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  if (type.dtype == DType::f32)
    for (int64_t i = 0; i < type.elements(); ++i) array->as<float>()[i] = normal(engine);
  return *array;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  driver::RunSettings options;
  if (argc > 2 && std::string(argv[2]) == "--check") {
    options.compile.contract.checks = smalti::machine::allChecks();
  } else {
    options.compile.contract.checkBounds = false;
  }
  std::ifstream in(argv[1]);
  auto program = interop::importStableHlo(std::string(std::istreambuf_iterator<char>(in), {}), argv[1]);
  if (!program) refuse(program.error());
  auto compiled = driver::compileProgram({std::shared_ptr<void>(), &*program}, options.compile);
  if (!compiled) refuse(compiled.error());
  const Function& main = program->functions[program->main];
  std::vector<Array> arguments;
  for (ValueId v : main.arguments) arguments.push_back(randomArray(main.values[v]));
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = std::chrono::steady_clock::now();
    auto outcome = driver::run(**compiled, arguments, options.execute);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (!outcome) refuse(outcome.error());
    std::cout << seconds.count() << std::endl;
  }
}
