// Large products of matrices and long element-wise groups between the kernels of a program, as native code.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "driver/target/Target.h"

namespace smalti::driver {

class ProgramSteps;

/// A step as a kernel.
struct StepKernel {
  std::shared_ptr<const TargetKernel> kernel;
  std::vector<Shape> operands;  ///< in which the kernel takes them

  /// The step's results, of these types.
  Result<std::vector<Array>> run(const std::vector<Array>& operands, std::span<const ArrayType>,
                                 const ExecuteSettings&) const;
};

/// Gives the steps of the functions that are worth it their kernels, compiled once for equal ones. Those without native
/// code remain ops.
void compileSteps(const std::vector<Function>&, ProgramSteps&, const KernelCompiler&, const CompileOptions&);

}  // namespace smalti::driver
