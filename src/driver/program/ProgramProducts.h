// Products of matrices between the kernels of a program, as native code.
#pragma once

#include <memory>

#include "driver/target/Target.h"

namespace smalti::driver {

class ProgramSteps;

/// A product as a kernel.
struct ProgramProduct {
  std::shared_ptr<const TargetKernel> kernel;
  Shape lhs, rhs;  ///< in which the kernel takes the operands

  /// The op's result, of this type.
  Result<Array> run(const std::vector<Array>& operands, const ArrayType&, const ExecuteSettings&) const;
};

/// Gives the large products among the steps of the program their kernels, compiled once for equal ones. Those without
/// native code remain ops.
void compileProducts(const Program&, ProgramSteps&, const KernelCompiler&, const CompileOptions&);

}  // namespace smalti::driver
