// The values that ops use, also inside their regions.
#pragma once

#include <unordered_set>

#include "ir/program/Program.h"

namespace smalti {

std::unordered_set<ValueId> valuesUsedBy(const std::vector<Op>&);

}  // namespace smalti
