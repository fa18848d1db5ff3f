// SM4111: an index map gives a block that has no element in its array.
#pragma once

#include <cstdint>
#include <span>

#include "ir/BlockGeometry.h"
#include "smalti/diagnostic.h"

namespace smalti::machine {

struct OperandPlan;

/// A block of this operand; which one is not known.
Diagnostic blockOutside(const OperandPlan&);
Diagnostic blockOutside(const OperandPlan&, const BlockGeometry&, std::span<const int64_t> block);
/// Of an input, in a run that continues: the block is undefined.
Diagnostic undefinedBlock(Diagnostic blockOutside);

}  // namespace smalti::machine
