#include <fmt/format.h>

#include "ir/Tpu.h"
#include "ir/package/Checks.h"

namespace smalti::package {

void checkFunction(mlir::func::FuncOp function, Violations& violations) {
  const std::string name = function.getSymName().str();
  if (mlir::Attribute attribute = function->getAttr("tpu.core_type")) {
    auto core = mlir::dyn_cast<tpu::CoreTypeAttr>(attribute);
    if (!core)
      violations.add({.code = "SM3002",
                      .message = "the kernel's attribute 'tpu.core_type' is malformed",
                      .need = "#tpu.core_type<tc>"});
    else if (core.getValue() != tpu::CoreType::tc)
      violations.add({.code = "SM3102",
                      .message = fmt::format("'{}' is a kernel for a SparseCore", name),
                      .need = "a kernel for a TensorCore (#tpu.core_type<tc>)",
                      .have = fmt::format("#tpu.core_type<{}>", tpu::stringifyCoreType(core.getValue()).str()),
                      .help = "run the SparseCore part with JAX's interpreter"});
  }
  if (function.getBody().empty())
    violations.add({.code = "SM3001", .message = fmt::format("kernel function '{}' has no body", name)});
  else if (!function.getBody().hasOneBlock())
    violations.add({.code = "SM3001",
                    .message = fmt::format("kernel function '{}' branches between blocks", name),
                    .need = "structured control flow (scf.if, scf.for, scf.while)"});
  if (function.getNumResults() != 0)
    violations.add({.code = "SM3001",
                    .message = fmt::format("kernel function '{}' returns values", name),
                    .need = "results written to output refs",
                    .have = fmt::format("{} results", function.getNumResults())});
}

bool checkCounts(const KernelPackage& p, mlir::func::FuncOp function, Violations& violations) {
  const KernelSignature& s = p.signature;
  const int numBounds = s.numDynamicBounds(), numOperands = static_cast<int>(p.operands.size());
  const int numResults = static_cast<int>(p.results.size()), rank = static_cast<int>(s.grid.size());
  if (numOperands < numBounds + s.numScalarPrefetch) {
    violations.add({.code = "SM3012",
                    .message = "the call has too few operands",
                    .need = fmt::format("{} dynamic grid bounds, {} scalar prefetch operands, then the inputs",
                                        numBounds, s.numScalarPrefetch),
                    .have = fmt::format("{} operands", numOperands)});
    return false;
  }
  for (int i = 0; i < numBounds; ++i)
    if (p.operands[i].dtype != DType::i32 || p.operands[i].elements() != 1)
      violations.add({.code = "SM3012",
                      .message = fmt::format("operand {} must be the value of a dynamic grid bound", i),
                      .need = "one number, i32[] or i32[1]",
                      .have = p.operands[i].str()});

  const int need = rank + s.numScalarPrefetch + p.numInputs() + numResults + s.numScratch;
  const int have = static_cast<int>(function.getNumArguments());
  bool fits = need == have;
  if (!fits)
    violations.add({.code = "SM3003",
                    .message = fmt::format("the kernel function takes {} arguments, its call gives {}", have, need),
                    .need = fmt::format("{} grid indices + {} scalar prefetch + {} inputs + {} outputs + {} scratch",
                                        rank, s.numScalarPrefetch, p.numInputs(), numResults, s.numScratch),
                    .have = fmt::format("{} arguments", have)});

  const size_t numWindows = p.numInputs() + numResults;
  if (rank == 0 && s.windows.empty()) {
    const_cast<KernelPackage&>(p).signature.windows.resize(numWindows);
  } else if (s.windows.size() != numWindows) {
    fits = false;
    violations.add({.code = "SM3006",
                    .message = "window_params does not fit the call",
                    .need = fmt::format("one per input and output: {} + {}", p.numInputs(), numResults),
                    .have = fmt::format("{}", s.windows.size())});
  }
  return fits;
}

}  // namespace smalti::package
