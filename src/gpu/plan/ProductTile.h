// The part of a matrix product that the threads of a block have in registers at once, and how its operands are staged.
#pragma once

#include <cstdint>
#include <optional>

#include "gpu/Architecture.h"
#include "smalti/dtype.h"

namespace smalti::gpu {

/// What multiplies.
enum class ProductUnit : uint8_t {
  threads,     ///< each by itself, by multiply-adds of f32
  warps,       ///< tensor cores, by mma.sync
  warpGroups,  ///< tensor cores, by wgmma
};

/// Whether tensor cores multiply elements of this type: f32 as TF32, with 10 bits of the mantissa.
bool isForTensorCores(DType, const Architecture&);

/// A product of matrices: m × k by k × n.
struct ProductShape {
  DType dtype = DType::bf16;  ///< of both operands
  bool exact = false;         ///< of f32: not by tensor cores
  int64_t m = 0, n = 0, k = 0;
  bool lhsDepthInner = true, rhsDepthInner = false;  ///< whether elements along k are neighbours in the stage
};

/// Sums have the layout of the fragments of mma.m16n8k16 (PTX ISA, "Matrix Fragments for mma.m16n8k16"), those of
/// wgmma.m64nNk16 too: of each piece of 16 rows × 8 columns a thread has four.
struct ProductTile {
  static constexpr int64_t kRows = 16, kColumns = 8, kPiece = 4;  ///< of a piece; sums of a thread
  /// Of the depth of an operand, what is staged at once: the 128 bytes in which shared memory is swizzled. An
  /// instruction multiplies 32 bytes of it.
  static constexpr int64_t kRowBytes = 128, kStepBytes = 32;

  DType dtype = DType::bf16;  ///< of the operands
  ProductUnit unit = ProductUnit::warps;
  int64_t warpsDown = 1, warpsAcross = 1;  ///< of the block, along rows and columns
  int64_t high = 1, wide = 1;              ///< pieces of a warp
  int stages = 2;                          ///< of operands in shared memory: all but one are on their way
  int64_t lhsBytes = 0, rhsBytes = 0;      ///< of a stage

  int64_t rows() const { return kRows * high * warpsDown; }
  int64_t columns() const { return kColumns * wide * warpsAcross; }
  /// Elements of the depth that are staged at once.
  int64_t depth() const { return kRowBytes / storage_bytes(dtype); }
  int64_t sums() const { return kPiece * high * wide; }  ///< f32 registers of each thread
  int64_t stageBytes() const { return lhsBytes + rhsBytes; }
  /// First row of a warp's i-th piece: pieces of different warps take turns, as those of a warp group do.
  int64_t pieceRow(int64_t i, int64_t warpDown) const { return (i * warpsDown + warpDown) * kRows; }
  bool operator==(const ProductTile&) const = default;
};

/// Of shared memory that stays for other values of the kernel.
inline constexpr int64_t kOtherSharedBytes = 16 << 10;

/// More stages do not hide more.
inline constexpr int kMaxStages = 4;

/// Threads of a block that a kernel's products are best computed by; 0: it has none.
int threadsForProduct(const ProductShape&, const Architecture&);
/// Registers of a thread that its sums may take (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability": 64 K of a block, 255 of a thread), which leave as many for addresses and operands.
constexpr int64_t mostSums(int threads) { return threads > 256 ? (32 << 10) / threads : 128; }
/// The tile for a block of so many threads. `covers`: all of the result is to be in registers at once; absent where it
/// does not fit.
std::optional<ProductTile> tileFor(const ProductShape&, int threads, const Architecture&, bool covers);

}  // namespace smalti::gpu
