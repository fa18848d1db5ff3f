// Checks of a pallas_call's specs against the arrays and the grid (E-A1 … E-A6, E-B5 … E-B7).
#pragma once

#include "lang/call/TracedKernel.h"
#include "smalti/pallas_call.h"

namespace smalti::lang {

/// A grid size that is not a part of the kernel: the call's operand.
inline bool isDynamic(const GridDim& d) { return d.dynamic || d.at_call; }

/// The fields of a Call with its grid_spec merged in; error SM6204 when both say something.
Call merged(const Call&);
/// One operand's spec (at the `call` when there is none) resolved: block, space, whether it is windowed. Errors SM6206
/// (rank), SM6218 (no axes), SM6207 (block dim kinds), SM6208 (pipeline mode), SM6209 (ANY operands whose block is not
/// the whole array).
TracedOperand resolve(std::string name, const ArrayType&, const BlockSpec*, bool hasGrid, MemorySpace wanted,
                      const Location& call);
/// Checks the type of a kernel's array; errors SM6219 (64-bit types), SM6220 (negative sizes).
void checkType(std::string_view name, const ArrayType&);
/// Aliases as the package has them; error SM6210.
std::vector<Alias> resolveAliases(const Call&, std::span<const ArrayType> operands, int numDynamicBounds);

}  // namespace smalti::lang
