// The values that the compiler keeps in VMEM in addition to windows and scratch, because registers do not suffice.
#pragma once

#include <string>
#include <vector>

#include "ir/KernelPackage.h"
#include "tpu/chip/Chip.h"

namespace smalti::tpu {

/// A value that is kept at the place of the largest need.
struct KeptValue {
  std::string what;  ///< "result of math.exp", "left operand, copied"
  ArrayType array;
  int64_t bytes = 0;  ///< before those that registers hold
  SourcePlace place;
  bool ofProduct = false;  ///< a matrix unit's: every product of such a size has it, however well it is written
};

/// Bytes: the most likely number, and what it is surely between.
struct Temporaries {
  int64_t low = 0, likely = 0, high = 0;
  std::vector<KeptValue> kept;  ///< largest first
};

/// A model of liveness over the body; its constants (`Chip::Spills`) are fitted to what libtpu 0.0.50.1 allots.
/// Element-wise chains are computed register by register and take nothing. What is needed again after a reduction or a
/// product that depends on it is kept, for all rows or for those in flight; products keep copies of packed operands and
/// partial sums (Products.h). `docs/tpu_legality.md` has the accuracy.
Temporaries temporariesOf(const KernelPackage&, const Chip&);

}  // namespace smalti::tpu
