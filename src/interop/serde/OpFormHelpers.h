#pragma once

#include <optional>
#include <vector>

#include "interop/serde/Serde.h"

namespace smalti::interop {

/// `operandSegmentSizes`; nullopt when there is none.
std::optional<std::vector<int32_t>> segmentsOf(const OpForm&);
void setSegments(OpForm&, llvm::ArrayRef<int32_t>);
/// The user's line, if the op has one.
SourcePlace placeOfForm(const OpForm&);

}  // namespace smalti::interop
