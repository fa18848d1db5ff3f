// Op cases: the op in C++, and what JAX calls it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "smalti/smalti.h"

namespace smalti::ops::test {

using Inputs = std::vector<Array>;

struct Case {
  std::string jax;  ///< expression of a, b, c (the inputs), jnp, lax, jax, np, pl, pltpu
  Inputs inputs;
  std::function<Array(const Inputs&)> op;
  double tolerance = 0;  ///< relative to the largest magnitude of the expected values; 0: bit for bit
  bool kernel = true;    ///< also inside a kernel, where it gives the same bits
};

/// Numbers of both signs, not too large; `seed` shifts them.
Array numbers(Shape, DType, int seed = 0);
/// NaN, infinities, zeros of both signs, denormals, extremes (of integers too), cyclically.
Array special(Shape, DType, int seed = 0);
/// In (0, 1).
Array fractions(Shape, DType);

std::vector<Case> elementwiseCases();
std::vector<Case> arrayCases();
/// Transformations of functions, composed; with control flow. Outside kernels.
std::vector<Case> transformCases();
/// The same with kernels in them; twins.NAME in JAX's expression is of test/python/composition_twins.py.
std::vector<Case> compositionCases();
/// Modules of batched kernels, by name.
std::vector<std::pair<std::string, std::string>> vmapModules();
/// Functions of several devices under transformations; the names on_devices, P, LINE (4 devices "x") and SQUARE (2 by
/// 2, "x" and "y") in JAX's expression.
std::vector<Case> deviceCases();
/// Ops that only a TPU kernel has: exported, and not compared with JAX on the CPU.
std::vector<Case> tpuCases();

}  // namespace smalti::ops::test
