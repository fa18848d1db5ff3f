// A reduction as alternating runs of kept and reduced dims.
#pragma once

#include "eval/shape/Strides.h"

namespace smalti::eval {

/// Dims of a row-major operand, neighbours of the same kind merged, split in kept and reduced ones.
struct ReduceLayout {
  DimList kept, keptStrides, reduced, reducedStrides;
  bool lastIsReduced = false;  ///< the contiguous dim is a reduced one

  ReduceLayout(Dims shape, Dims dims) {
    const DimList strides = rowMajorStrides(shape);
    const DimList which(dims);
    int previous = -1;  // kind of the dim before: 0 kept, 1 reduced
    for (int d = 0; d < strides.size(); ++d) {
      if (shape[d] == 1) continue;
      const int kind = which.contains(d);
      DimList& sizes = kind ? reduced : kept;
      DimList& steps = kind ? reducedStrides : keptStrides;
      if (kind == previous) {
        sizes[sizes.size() - 1] *= shape[d];
        steps[steps.size() - 1] = strides[d];
      } else {
        sizes.push(shape[d]);
        steps.push(strides[d]);
      }
      previous = kind;
    }
    lastIsReduced = previous == 1;
  }
};

}  // namespace smalti::eval
