// Element-wise ops of a program as a kernel.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "ir/program/Program.h"
#include "lang/call/CalledKernel.h"

namespace smalti::lang {

/// Ops on arrays of one number of elements in memory order, whatever their shapes.
struct ElementwiseForm {
  /// What the ops see as `value`: its element i is the array's element (i / inner) % count.
  struct Operand {
    ValueId value = -1;
    DType dtype = DType::f32;
    int64_t inner = 1, count = 1;
  };
  int64_t elements = 0;
  std::vector<const Op*> ops;  ///< in an order in which they can be computed
  std::vector<Operand> operands;
  std::map<ValueId, Array> constants;  ///< of one element each
  std::vector<ValueId> results;
};

/// A kernel, and the shapes in which it takes the arrays and gives the results.
struct ElementwiseKernel {
  std::shared_ptr<const CalledKernel> kernel;
  std::vector<Shape> operands, results;
};
/// Without a kernel where kernels do not have an op or a dtype, or arrays repeat in ways that rows and columns do not.
ElementwiseKernel elementwiseKernel(const ElementwiseForm&, const std::vector<ArrayType>& types);

}  // namespace smalti::lang
