#pragma once

#include <string_view>

#include "smalti/diagnostic.h"

namespace smalti {

/// Whether a kernel may hold the op, by full name ("arith.addf"): what Pallas' TensorCore lowering emits, or did in
/// older versions. All of arith and math, our tpu ops; of the other dialects those that kernels use.
bool isKernelOp(std::string_view name);
/// Why an op is refused: SM3101 when it is one of the `tpu` dialect's that we know by name, else SM3103.
Diagnostic refuseOp(std::string_view name, SourcePlace);

}  // namespace smalti
