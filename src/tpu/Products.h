// The values that a matrix product keeps in registers, or in VMEM if they do not suffice.
#pragma once

#include "ir/TpuOps.h"
#include "tpu/chip/Chip.h"

namespace smalti::tpu {

/// Numbers of registers.
struct ProductNeed {
  int64_t operand = 0;  ///< rows in the form that matrix units take: made once, used for each tile of columns
  int64_t sums = 0;     ///< partial sums of one tile of columns
};

/// `added`: the product is added to what is loaded from a ref, where sums go at once.
ProductNeed needOf(MatmulOp, bool added, const Chip&);

}  // namespace smalti::tpu
