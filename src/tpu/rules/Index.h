// How a proof about an index failed, in words.
#pragma once

#include <string>

#include "mlir/IR/Value.h"

namespace smalti::tpu {

/// "s * 4, provably a multiple of 4 only: nothing is known of 's', …".
std::string proofText(mlir::Value index, int64_t wanted);
/// The help for an index that is not provably such a multiple.
std::string multipleHelp(mlir::Value index, int64_t wanted);

}  // namespace smalti::tpu
