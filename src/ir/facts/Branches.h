// Facts about branches.
#pragma once

#include "mlir/IR/Region.h"

namespace smalti {

/// The region, of a branch for instance, has no op besides its terminator.
inline bool doesNothing(mlir::Region& region) { return region.empty() || region.front().without_terminator().empty(); }

}  // namespace smalti
