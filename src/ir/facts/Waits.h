// The refs that waits for copies name.
#pragma once

#include "mlir/IR/Value.h"

namespace smalti {

/// A view of a ref that is used for nothing but waits for copies, itself and its views: they take its bytes and touch
/// no element, so that it may reach outside of its ref.
bool isOnlyWaitedFor(mlir::Value ref);

}  // namespace smalti
