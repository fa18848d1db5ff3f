// Divisibility of numbers, as far as the TPU's compiler can prove it.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "mlir/IR/Value.h"

namespace smalti::tpu {

/// The largest number that the value is provably a multiple of: 1 when nothing is known, 0 for the constant 0.
/// Follows constants, +, -, ×, min, select, the results of scf.if, rem and div by constants, multiple_of, and loop
/// counters with constant start and step; not max, shifts, bit operations, floats, or values that a loop carries.
int64_t knownMultiple(mlir::Value);

/// The constant, if the value is one or is computed from constants alone.
std::optional<int64_t> constantOf(mlir::Value);
/// The same in a kernel function with this grid, where the index of an axis of one step is 0.
std::optional<int64_t> constantOnGrid(mlir::Value, std::span<const int64_t> grid);

/// How the value comes about, for people: "8 * (s + 1)".
std::string derivationOf(mlir::Value);
/// The factor or summand that spoils a proof that the value is a multiple of `wanted`: "'s', which is read from input
/// 0"; empty when there is none.
std::string culpritOf(mlir::Value, int64_t wanted);

/// A counterexample for a grid index or loop counter times a constant, plus a constant: "100 where i = 1".
std::string counterexampleOf(mlir::Value, int64_t wanted);

}  // namespace smalti::tpu
