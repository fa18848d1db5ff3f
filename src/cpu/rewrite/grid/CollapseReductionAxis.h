// Merges the steps of the last grid axis, if they accumulate a product, into one step with the whole reduction.
//
//   before: grid (…, n), in step k                                 after: grid (…, 1)
//   if k == 0: first                                               first
//   always                                                         always, on blocks n times as long
//   if k == n - 1: last                                            last
#pragma once

#include "ir/KernelPackage.h"

namespace smalti::cpu {

class AxisDims;

/// Removes loads of whole refs without users, and dead computations: JAX loads what a store is about to replace.
void dropUnused(KernelPackage&);

/// Whether all steps of the last axis can be merged: its only conditions are "first step" and "last step", and all that
/// runs in every step is the accumulation of products over the axis in accumulators of 32 bits, and loads of refs that
/// the first step does not write afterwards.
bool canCollapse(const KernelPackage&, const AxisDims&);

/// Makes the body that of a single step: bodies of conditions on the first and last step run unconditionally.
void collapseReductionAxis(KernelPackage&, int axis);

/// Forwards, within the body's block, values stored to whole scratch buffers or outputs to their loads; removes stores
/// that nothing observes, additions of zero, and buffers without users.
void forwardStores(KernelPackage&);

}  // namespace smalti::cpu
