// The arguments of the functions that gemm emits, by name. Each list of members below is in the order of the function's
// parameters: callers and the emitted functions both use it.
#pragma once

#include <tuple>

#include "cpu/plan/product/GemmShape.h"
#include "cpu/product/gemm/Ir.h"

namespace smalti::cpu {

/// Arguments of a micro-kernel (MicroKernel.h), which computes `tiles` tiles of C = (C +) A·B, one below the other.
struct MicroKernelArguments {
  llvm::Value *a, *strideA;  ///< strides: i64, bytes
  llvm::Value *b, *strideB;
  llvm::Value *c, *strideC;
  llvm::Value *words, *tiles;  ///< i64
  llvm::Value* add;            ///< i1: C is accumulated into, with StoreMode::either
  /// Rows of one tile's width that are prefetched for the caller; a kernel that packs writes its words there.
  llvm::Value *next, *strideNext;
  llvm::Value* starts;  ///< the initial values of the accumulators: 32 bits per row
  /// Rows of one tile's width that `tilesAfter` (i64) more tiles prefetch.
  llvm::Value *after, *strideAfter, *tilesAfter;
  llvm::Value* row;  ///< the row vector that is added to C

  static constexpr std::string_view kTypes = "pipipiiibpippiip";
  auto members() {
    return std::tie(a, strideA, b, strideB, c, strideC, words, tiles, add, next, strideNext, starts, after, strideAfter,
                    tilesAfter, row);
  }
};

/// Arguments of a kernel in tile registers (TileKernel.h).
struct TileKernelArguments {
  llvm::Value *a, *strideA, *planeA;  ///< i64, bytes; planeA: from one plane of A to the next
  llvm::Value* b;                     ///< a panel (Tiles.h)
  llvm::Value *c, *strideC;
  llvm::Value *steps, *tiles;  ///< i64
  llvm::Value* add;            ///< i1
  llvm::Value* row;            ///< the row vector that is added to C

  static constexpr std::string_view kTypes = "piippiiibp";
  auto members() { return std::tie(a, strideA, planeA, b, c, strideC, steps, tiles, add, row); }
};

/// Arguments of a product (emitGemm). Leading dimensions are i64 and count elements.
struct GemmArguments {
  llvm::Value *a, *lda, *b, *ldb, *c, *ldc, *workspace;
  llvm::Value *packedB = nullptr, *isPacked = nullptr;  ///< with GemmShape::cachesPackedB; isPacked: i1
  llvm::Value* row = nullptr;                           ///< with GemmShape::addsRow

  static std::string typesOf(const GemmShape& s) {
    return std::string("pipipip") + (s.cachesPackedB ? "pb" : "") + (s.addsRow ? "p" : "");
  }
  static GemmArguments of(const llvm::Function& function, const GemmShape&);
  llvm::SmallVector<llvm::Value*, 10> values() const;
};

/// Types of parameters: 'p' a pointer, 'i' an i64, 'b' an i1.
llvm::SmallVector<llvm::Type*, 16> parameterTypes(llvm::LLVMContext&, std::string_view types);

/// The parameters of a function whose types are Arguments::kTypes.
template <class Arguments>
Arguments argumentsOf(const llvm::Function& function) {
  Arguments arguments{};
  unsigned i = 0;
  std::apply([&](auto&... each) { ((each = function.getArg(i++)), ...); }, arguments.members());
  return arguments;
}
/// The values to call such a function with.
template <class Arguments>
llvm::SmallVector<llvm::Value*, 16> valuesOf(Arguments arguments) {
  return std::apply([](auto&... each) { return llvm::SmallVector<llvm::Value*, 16>{each...}; }, arguments.members());
}

}  // namespace smalti::cpu
