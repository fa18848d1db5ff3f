// Calls of the kernel library that are compared with NumPy, checked, exported and shown to the TPU compiler.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "smalti/smalti.h"

namespace smalti::kernels::test {

struct Case {
  std::string name;
  /// Function of test/python/kernel_oracles.py and its keyword arguments.
  std::string oracle;
  nlohmann::json parameters;
  std::vector<Array> inputs;
  /// Through the function that users call.
  std::function<Array()> run;
  /// The same through its PallasCall.
  PallasCall call;
  std::vector<Operand> operands;
  /// Blocks that a TPU takes: exported.
  bool exportable = true;
  /// Of dynamic axes of the grid, which the call has and the module takes as its first arguments.
  std::vector<Array> grid_sizes = {};
};

class Cases {
 public:
  void add(Case c) { all.push_back(std::move(c)); }
  /// Uniform in (-1, 1), or integers in [-100, 100); always the same.
  Array random(DType dtype, Shape shape, double scale = 1);
  Array integers(Shape shape, int32_t low, int32_t high);

  std::vector<Case> all;

 private:
  std::mt19937 engine_{20260101};
};

void matmulCases(Cases&);
void rowCases(Cases&);
void vectorCases(Cases&);
void attentionCases(Cases&);
void sparseCases(Cases&);
void copyCases(Cases&);

/// All of them.
Cases allCases();

}  // namespace smalti::kernels::test
