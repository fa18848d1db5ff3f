// The rewrites of native code as MLIR passes, one each, for smalti-opt.
#pragma once

namespace smalti {

/// --smalti-NAME for each row of cpu::rewritePasses(). A module says what its kernel is called with, in attributes:
/// `smalti.operands` and `smalti.results`, lists of tensor types (arrays; dynamic grid bounds and scalars first, as a
/// call has them).
void registerRewritePasses();

}  // namespace smalti
