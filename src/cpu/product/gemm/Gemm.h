// Matrix products as register-tiled loop nests over packed panels.
#pragma once

#include "cpu/plan/product/GemmPlan.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace smalti::cpu {

/// The function void(ptr a, i64 lda, ptr b, i64 ldb, ptr c, i64 ldc, ptr workspace) in the module, made on first use;
/// with `cachesPackedB` two more: ptr kept, of GemmPlan::packedCacheBytes, and i1 packed: B has been packed there by a
/// product of the same B, k and n whose plan has the same tileColumns, blockDepth, mayUseUnpackedB and usesTiles; with
/// `addsRow` one more: ptr row. Leading dimensions count elements; the last dimension of each operand is contiguous.
/// `workspace`: GemmPlan::packedBytes bytes, 64-byte aligned, not shared between threads. Elements past the edges are
/// neither read nor written, except that rows may be read past their end inside vectors under a mask.
llvm::Function* emitGemm(llvm::Module&, const GemmPlan&);

}  // namespace smalti::cpu
