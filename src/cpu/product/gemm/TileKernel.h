// The innermost loops of products in tiles.
#pragma once

#include "cpu/product/gemm/MicroKernel.h"

namespace smalti::cpu {

struct TileKernelSpec {
  DType a = DType::bf16, b = DType::bf16;  ///< as they are packed: bf16, i8 or u8
  int planes = 1;                          ///< number of planes of A
  int64_t finiteB = 0;                     ///< offset in bytes of the copy of B that planes after the first multiply
  int top = 16, bottom = 16;               ///< rows of the two tiles of A; bottom 0: only one tile
  int left = 16, right = 16;               ///< columns of the two tiles of B; right 0: only one tile
  StoreMode store = StoreMode::either;
  bool addsRow = false;  ///< a row vector is added to C when it is overwritten
};

/// A function of TileKernelArguments (Arguments.h): `tiles` vertically adjacent parts of C, of `steps` · 64 bytes of
/// each row of A.
llvm::Function* tileKernel(llvm::Module&, const TileKernelSpec&);

/// void(ptr from, i64 fromStride, ptr to, i64 toStride, i64 toPlane, i64 rows, i64 depth): splits rows of f32 into
/// three planes of bf16 whose sum they are, exactly except below the smallest normal bf16. Whole tiles are written,
/// with zeros past the elements. Only the first plane has NaN and infinity. `tail`: elements of k in the last vector of
/// 32.
llvm::Function* splitF32IntoBf16x3(llvm::Module&, int tail);

}  // namespace smalti::cpu
