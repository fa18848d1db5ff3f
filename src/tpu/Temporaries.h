// What the compiler keeps in VMEM beside windows and scratch: values too large for the registers.
#pragma once

#include "ir/KernelPackage.h"
#include "tpu/Chip.h"

namespace smalti::tpu {

/// Bytes: the most likely number, and what it is surely between.
struct Temporaries {
  int64_t low = 0, likely = 0, high = 0;
};

/// A model of liveness, fitted to what libtpu 0.0.50.1 allots. Element-wise chains are computed register by register
/// and take nothing. What is needed again after a reduction or a product that depends on it is kept, and so are
/// computed operands of products and copies of packed operands of products that are accumulated.
Temporaries temporariesOf(const KernelPackage&, const Chip&);

}  // namespace smalti::tpu
