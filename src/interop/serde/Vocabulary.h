// Which ops a kernel may hold: what Pallas' TensorCore lowering emits, or emitted in older versions.
#pragma once

#include <string_view>

#include "interop/serde/Serde.h"

namespace smalti::interop {

/// By full name ("arith.addf"). All of arith, math and our tpu ops; of the other dialects those that kernels use.
bool isKernelOp(std::string_view name);
/// Why an op outside the vocabulary is refused.
Diagnostic refuseOp(const OpForm&);

}  // namespace smalti::interop
