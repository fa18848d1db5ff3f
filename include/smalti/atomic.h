// Atomic updates of memory that the programs of a grid share (D8): of Refs in ANY or HBM. Programs that run in any
// order, or at the same time, may update the same elements: no update is lost, since no other update happens between
// the read and the write of an element. The order of updates is not defined. No TPU has these ops: kernels with them
// run on interpret, cpu and cuda, and are not exported for a TPU (SM6402).
//
// Errors: SM6106 (outside kernels), SM6302 (a Ref of another dtype), SM6112 (a value of another dtype than the Ref's;
// C++ numbers are converted), SM6301 (a value that does not broadcast to the Ref), SM6401 (a Ref in another memory).
#pragma once

#include "smalti/ref.h"

namespace smalti {

/// A Ref, or the part of one that an index selects: counts, counts.at(ds(i, 8)), counts[bin].
class AtomicRef {
 public:
  AtomicRef(const Ref& ref) : ref_(ref) {}
  AtomicRef(const RefView& view) : ref_(view.ref()), index_(view.index()) {}
  Ref ref() const { return index_.empty() ? ref_ : ref_.at(index_); }

 private:
  Ref ref_;
  std::vector<Index> index_;
};

// Each returns the elements before its update, with the shape and dtype of the Ref or of its part; values are broadcast
// to that shape. Elements are f32, i32 or u32; of atomic_and, atomic_or and atomic_xor, i32 or u32.

/// ref += value.
Array atomic_add(const AtomicRef& ref, const Operand& value);
/// ref = maximum(ref, value), which is NaN if either is.
Array atomic_max(const AtomicRef& ref, const Operand& value);
/// ref = minimum(ref, value), which is NaN if either is.
Array atomic_min(const AtomicRef& ref, const Operand& value);
/// ref &= value.
Array atomic_and(const AtomicRef& ref, const Operand& value);
/// ref |= value.
Array atomic_or(const AtomicRef& ref, const Operand& value);
/// ref ^= value.
Array atomic_xor(const AtomicRef& ref, const Operand& value);
/// ref = value.
Array atomic_xchg(const AtomicRef& ref, const Operand& value);
/// ref = value where ref is equal to `compare`, bit for bit.
Array atomic_cas(const AtomicRef& ref, const Operand& compare, const Operand& value);

}  // namespace smalti
