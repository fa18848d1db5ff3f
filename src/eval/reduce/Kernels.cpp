#include "eval/reduce/Kernels.h"

#include "eval/Isa.h"

namespace smalti::eval {

const ReduceKernels& reduceKernels() {
  switch (activeIsa()) {
    case Isa::avx512:
      return avx512::kReduceKernels;
    case Isa::avx2:
      return avx2::kReduceKernels;
    default:
      return baseline::kReduceKernels;
  }
}

}  // namespace smalti::eval
