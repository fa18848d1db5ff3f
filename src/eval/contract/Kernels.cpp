#include "eval/contract/Kernels.h"

#include "eval/Isa.h"

namespace smalti::eval {

const ContractKernels& contractKernels() {
  switch (activeIsa()) {
    case Isa::avx512:
      return avx512::kContractKernels;
    case Isa::avx2:
      return avx2::kContractKernels;
    default:
      return baseline::kContractKernels;
  }
}

}  // namespace smalti::eval
