// Matrix products as register-tiled nests over packed panels.
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
  bool keepsB = false;                   ///< packed B lies in memory of its own, where later products find it
  bool addsRow = false;                  ///< C = A·B + a row that every row of C gets; not with `accumulate`
  bool operator==(const GemmShape&) const = default;
};

/// What the emitter chose, for `show`.
struct GemmPlan {
  int tileRows = 0, tileColumns = 0;                        ///< of C, in registers
  int64_t blockRows = 0, blockColumns = 0, blockDepth = 0;  ///< of the loops around it
  int64_t packedBytes = 0;                                  ///< workspace
  int64_t keptBytes = 0;                                    ///< of B when it is kept
  bool packsA = false, packsB = false, usesDot = false;
  bool inPlaceLines = false;  ///< packsRowsOfB(): rows of B may be used as they lie
  bool usesTiles = false;     ///< the processor's (Tiles.h)
};
GemmPlan planGemm(const GemmShape&, const Processor&);

/// Two bf16 at once, the fastest way to multiply them where there are no tiles.
bool multipliesBf16Pairs(DType a, DType b, const Processor&);
/// Products of floats of these dtypes multiply them as f32, however many rows there are.
bool multipliesAsF32(DType a, DType b, const Processor&);

/// The function void(ptr a, i64 lda, ptr b, i64 ldb, ptr c, i64 ldc, ptr workspace) in the module, made on first use;
/// with `keepsB` two more: ptr kept, of planGemm().keptBytes, and i1 packed: B has been packed there by a product of
/// the same B, k and n whose plan has the same tileColumns, blockDepth, inPlaceLines and usesTiles; with `addsRow` one
/// more: ptr row. Leading dimensions count elements; the last dimension of each operand is contiguous. `workspace`:
/// planGemm().packedBytes bytes, 64-byte aligned, not shared between threads. Elements past the edges are neither read
/// nor written, except that rows may be read past their end inside vectors under a mask.
llvm::Function* emitGemm(llvm::Module&, const GemmShape&, const Processor&);

}  // namespace smalti::cpu
