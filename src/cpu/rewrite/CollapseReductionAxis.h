// Steps of the last grid axis that add up a product, made one step with the whole sum.
//
//   before: grid (…, n), in step k                                 after: grid (…, 1)
//   if k == 0: first                                               first
//   always                                                         always, on blocks n times as long
//   if k == n - 1: last                                            last
#pragma once

#include "ir/KernelPackage.h"

namespace smalti::cpu {

class AxisDims;

/// Zero everywhere, whatever it was converted from.
bool isZero(mlir::Value);

/// Drops whole loads without users, and dead computations: JAX loads what a store replaces.
void dropUnused(KernelPackage&);

/// Whether all steps of the last axis can be one: its conditions are those of the first and the last step, and what
/// runs in every step adds products over the axis to accumulators of 32 bits.
bool canCollapse(const KernelPackage&, const AxisDims&);

/// The body for all steps of the axis in one: conditions on the first and the last step are taken, others go.
void collapseReductionAxis(KernelPackage&, int axis);

/// Within the body's own block: what is stored to a whole scratch buffer or output is not loaded again, and what
/// is never observed is not stored. Zeros are not added to. Buffers that nothing uses any more are dropped.
void forwardStores(KernelPackage&);

}  // namespace smalti::cpu
