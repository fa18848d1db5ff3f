// Matrix products as register-tiled loop nests over packed panels.
#pragma once

#include "cpu/plan/product/GemmPlan.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace smalti::cpu {

/// The function of GemmArguments (Arguments.h) in the module, made on first use. `packedB` has
/// GemmPlan::packedCacheBytes; `isPacked`: B has been packed there by a product of the same B, k and n whose plan has
/// the same tileColumns, blockDepth, mayUseUnpackedB and usesTiles. The last dimension of each operand is contiguous.
/// `workspace`: GemmPlan::packedBytes bytes, 64-byte aligned, not shared between threads. Elements past the edges are
/// neither read nor written, except that rows may be read past their end inside vectors under a mask.
llvm::Function* emitGemm(llvm::Module&, const GemmPlan&);

}  // namespace smalti::cpu
