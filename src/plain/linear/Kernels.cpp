#include "plain/linear/Kernels.h"

#include "base/process/ForkGate.h"
#include "eval/Isa.h"

namespace smalti::plain {
namespace {

const AllMatrixKernels& activeKernels() {
  const AllMatrixKernels& active =
      eval::activeIsa() == eval::Isa::baseline ? baseline::kMatrixKernels : avx2::kMatrixKernels;
  const UnforkedWork work;  // Eigen's first query has a lock
  active.prepare();
  return active;
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
