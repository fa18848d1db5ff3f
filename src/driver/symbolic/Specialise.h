// Programs with symbolic shapes, as jax.export writes them, become programs when the shapes of their arguments are
// known.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/program/Program.h"

namespace smalti::driver {

/// Whether an argument of type `given` may stand for one that is declared with unknown dimensions.
bool fits(const ArrayType& given, const ArrayType& declared);

/// The verified program for arguments of these types. Functions are copied for each signature with which they are
/// called; shapes are computed, and ops and kernels of unknown shape replaced by those of known shape. SM1008: other
/// arguments than main takes; SM2015: they violate a constraint of the module; SM2003: a shape depends on elements of
/// arrays; SM2006, SM2007, SM2009: the module is wrong.
Result<Program> specialise(const Program& symbolic, std::span<const ArrayType> arguments);

/// The results of a program that computes sizes of arrays from sizes of arrays, all of them scalars. Codes of
/// `specialise`.
Result<std::vector<Array>> computeSizes(const Program&, std::span<const Array> arguments);

struct SpecialisedKernel {
  KernelPackage kernel;
  std::vector<size_t> operands;  ///< of the call: grid bounds of known value become static, and are passed no more
};
/// The kernel of a call with operands of these types, of which `known` has the small arrays of known value. Its module
/// has numbers near 2^31 in place of symbolic dimensions (ir/facts/SymbolicDims.h), and a program for each that
/// computes it.
Result<SpecialisedKernel> specialiseKernel(const KernelPackage&, std::vector<ArrayType> operands,
                                           std::span<const std::optional<Array>> known, std::vector<ArrayType> results);

}  // namespace smalti::driver
