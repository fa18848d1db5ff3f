// Matrix products as register-tiled loop nests over packed panels.
#pragma once

#include <cstdint>

#include "cpu/Processor.h"
#include "smalti/dtype.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace smalti::cpu {

/// C[m,n] = A[m,k] · B[k,n] (+ C). Floats accumulate in f32, integers in i32 with wrap-around.
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  DType a = DType::f32, b = DType::f32;  ///< f32, bf16, f16, i8 (signed), u8
  DType c = DType::f32;                  ///< f32, i32
  bool transposedA = false;              ///< A is stored [k,m]
  bool transposedB = false;              ///< B is stored [n,k]
  bool accumulate = false;               ///< add to C; else C is overwritten and never read
  bool cachesPackedB = false;            ///< packed B stays in memory of its own, where later products find it
  bool addsRow = false;                  ///< C = A·B + a row vector added to every row (a bias); not with `accumulate`
  bool roundsB = false;                  ///< B is rounded from f32 to bf16 as it is read; skinny products only
  bool operator==(const GemmShape&) const = default;
};

/// The chosen blocking, for `show` and tests.
struct GemmPlan {
  int tileRows = 0, tileColumns = 0;                        ///< of C, in registers
  int64_t blockRows = 0, blockColumns = 0, blockDepth = 0;  ///< of the loops around it
  int64_t packedBytes = 0;                                  ///< workspace
  int64_t packedCacheBytes = 0;                             ///< of packed B, with `cachesPackedB`
  bool packsA = false, packsB = false, usesDot = false;
  bool mayUseUnpackedB = false;  ///< packsRowsOfB(): rows of B may be used without packing
  bool usesTiles = false;        ///< uses the processor's tile registers (Tiles.h)
};
GemmPlan planGemm(const GemmShape&, const Processor&);

/// Whether pairs of bf16 are multiplied in one instruction, the fastest way without tile registers.
bool multipliesBf16Pairs(DType a, DType b, const Processor&);
/// Whether floats of these dtypes are multiplied as f32, for any number of rows.
bool multipliesAsF32(DType a, DType b, const Processor&);

/// The function void(ptr a, i64 lda, ptr b, i64 ldb, ptr c, i64 ldc, ptr workspace) in the module, made on first use;
/// with `cachesPackedB` two more: ptr kept, of planGemm().packedCacheBytes, and i1 packed: B has been packed there by a
/// product of the same B, k and n whose plan has the same tileColumns, blockDepth, mayUseUnpackedB and usesTiles; with
/// `addsRow` one more: ptr row. Leading dimensions count elements; the last dimension of each operand is contiguous.
/// `workspace`: planGemm().packedBytes bytes, 64-byte aligned, not shared between threads. Elements past the edges are
/// neither read nor written, except that rows may be read past their end inside vectors under a mask.
llvm::Function* emitGemm(llvm::Module&, const GemmShape&, const Processor&);

}  // namespace smalti::cpu
