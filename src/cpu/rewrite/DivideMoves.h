// Moves parts of vectors between memory and memory without joining them first.
//
//   before                                                  after
//   %x = vector.load %a[0, 0] : vector<8x256xf32>           %l = vector.load %a[0, 128] : vector<8x128xf32>
//   %l = vector.extract_strided_slice %x [0, 128]
//   %j = tpu.concatenate %l, %m in 1                        tpu.vector_store %o[0, 0], %l
//   tpu.vector_store %o[0, 0], %j                           tpu.vector_store %o[0, 128], %m
#pragma once

#include <optional>

#include "ir/KernelPackage.h"

namespace smalti::cpu {

/// A concatenation that is only stored is stored part by part, and a part of a load is loaded alone. Parts of rows are
/// at least a vector of the narrowest processor long. Reshapes that divide the dimensions of a ref are reshapes of the
/// ref. Only loads inside their refs are divided, so that no read outside is lost. nullopt: there is nothing to divide.
std::optional<KernelPackage> divideMoves(const KernelPackage&);

}  // namespace smalti::cpu
