#include "plain/linear/Kernels.h"

#include "eval/Isa.h"

namespace smalti::plain {
namespace {

const AllMatrixKernels& activeKernels() {
  return eval::activeIsa() == eval::Isa::baseline ? baseline::kMatrixKernels : avx2::kMatrixKernels;
}

}  // namespace

MultiplyDoubles multiplyDoubles() { return activeKernels().multiply; }

template <>
const MatrixKernels<double>& matrixKernels<double>() {
  return activeKernels().ofReals;
}

template <>
const MatrixKernels<Complex>& matrixKernels<Complex>() {
  return activeKernels().ofComplex;
}

}  // namespace smalti::plain
