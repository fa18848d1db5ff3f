// The innermost loops: a column of register tiles of C.
#pragma once

#include <optional>

#include "cpu/product/gemm/Pack.h"

namespace smalti::cpu {

/// C is overwritten, accumulated into, or either, depending on the argument.
enum class StoreMode { set, add, either };

struct KernelSpec {
  MultiplyAdd instruction = MultiplyAdd::floatFma;
  DType memoryB = DType::f32;  ///< dtype of B in memory if B is read in place; f32 and i32 need no conversion
  bool nativeHalf = true;
  bool unsignedA = false;  ///< i8Dot: the bytes of A are the unsigned side
  int lanes = 4, rows = 1, vectors = 1;
  int lastLanes = 4;         ///< valid lanes of the last vector of columns
  bool transposedA = false;  ///< words of A are [k][rows], else [rows][k]
  int panelRows = 0;  ///< rows of a packed tile of A, [tile][k][rows]; with `transposedA`. 0: not packed by tiles
  int unroll = 1;     ///< words of k in a body
  bool rest = false;  ///< the number of words need not be a multiple of `unroll`
  bool few = false;   ///< there may be fewer words than `unroll`
  StoreMode store = StoreMode::either;
  int prefetches = 1;               ///< lines of `next` per body; divides `vectors`
  bool prefetchesC = false;         ///< a tile first prefetches its part of C, and of A for the next tile
  bool starts = false;              ///< accumulators start at a value per row, else at 0
  bool addsRow = false;             ///< a row vector is added to C when it is overwritten
  std::optional<PackSpec> packs{};  ///< B is not packed; the kernel writes its packed words to `next`. Not unrolled
};

/// A function of MicroKernelArguments (Arguments.h).
llvm::Function* microKernel(llvm::Module&, const KernelSpec&);

/// sum + dot products of four bytes, the first operand's unsigned; vectors of 32-bit words.
llvm::Value* dotBytes(Ir&, llvm::Value* sum, llvm::Value* unsignedWords, llvm::Value* signedWords);

}  // namespace smalti::cpu
