// A product of matrices between kernels, as a kernel.
#pragma once

#include <memory>

#include "lang/call/CalledKernel.h"

namespace smalti::lang {

struct DotKernel {
  std::shared_ptr<const CalledKernel> kernel;
  Shape lhs, rhs, result;  ///< of its operands and its result: batch, then two axes
};
/// Null for a dot_general that is not a batch of products of two matrices in memory order, or too large or small to
/// gain.
DotKernel dotKernel(const Op&, const std::vector<ArrayType>& types);

}  // namespace smalti::lang
