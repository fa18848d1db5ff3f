// The work of one op, or of a sequence of ops, on the units of a TensorCore.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "mlir/IR/Operation.h"

#include "tpu/chip/Chip.h"

namespace smalti::sim {

/// Cycles of each unit if it had nothing to wait for.
struct Work {
  enum Unit : uint8_t { matrix, alu, transcendental, crossLane, load, store, numUnits };
  std::array<double, numUnits> cycles{};

  Work& operator+=(const Work& o) {
    for (size_t u = 0; u < numUnits; ++u) cycles[u] += o.cycles[u];
    return *this;
  }
  /// The unit that is busy longest.
  Unit busiest() const;
  /// Cycles until all is done: the units work side by side, but not entirely.
  double elapsed(const tpu::Chip&) const;
};
std::string_view name(Work::Unit);

/// The work of one op on values; none for scalar ops and for ops that only name or reshape values.
Work workOf(mlir::Operation&, const tpu::Chip&);

/// The stores of what a product reads under a mask that ends within a register: such operands are masked as a whole and
/// kept in VMEM before it begins.
Work maskedOperandsOf(mlir::Operation&, const tpu::Chip&);

}  // namespace smalti::sim
