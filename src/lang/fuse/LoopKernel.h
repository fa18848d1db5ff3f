// A loop over the slices of arrays, as a kernel whose grid is its steps: carries stay where the kernel computes them.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "lang/call/CalledKernel.h"

namespace smalti::lang {

struct LoopKernel {
  struct Operand {
    ValueId value;
    Shape shape;
  };
  std::shared_ptr<const CalledKernel> kernel;
  std::vector<Operand> operands;
  int64_t steps = 0;
  std::vector<size_t> results;  ///< of the loop, by result of the kernel
};
/// Null for a loop that does not go from 0 to a known number in steps of 1, takes more of an array than whole values
/// and slices of its first axis, computes what kernels lack, or does so much in a step that its ops are better
/// shared by cores.
LoopKernel loopKernel(const Op& loop, const std::vector<ArrayType>& types, const std::map<ValueId, Array>& constants);

}  // namespace smalti::lang
