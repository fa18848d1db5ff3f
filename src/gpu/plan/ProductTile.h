// The part of a matrix product that a block of threads computes at once in registers, and how its operands are staged.
#pragma once

#include <cstdint>
#include <optional>

#include "gpu/Architecture.h"
#include "smalti/dtype.h"

namespace smalti::gpu {

/// The hardware that multiplies.
enum class ProductUnit : uint8_t {
  threads,     ///< fused multiply-adds of f32 in each thread
  warps,       ///< tensor cores: mma.sync
  warpGroups,  ///< tensor cores: wgmma.mma_async
};

/// How the warps of a block divide the rows and columns of a tile (`mma.sync`).
enum class WarpGrid : uint8_t {
  square,  ///< as evenly as the result permits: a warp then needs the fewest operands
  rows,    ///< each warp has whole rows, so that values of rows stay in its registers
};

/// Whether tensor cores multiply elements of this type. They multiply f32 as TF32, with 10 bits of the mantissa.
bool isForTensorCores(DType, const Architecture&);

/// A product of an m × k by a k × n matrix.
struct ProductShape {
  DType dtype = DType::bf16;  ///< dtype of both operands
  bool exact = false;         ///< f32 products that tensor cores must not compute
  int parts = 1;              ///< ProductTile::parts
  int64_t m = 0, n = 0, k = 0;
  bool lhsDepthInner = true, rhsDepthInner = false;  ///< in a stage, elements along k are contiguous
};

/// The sums of mma.m16n8k16 and of wgmma.m64nNk16 have the same layout (PTX ISA, "Matrix Fragments for mma.m16n8k16"):
/// a thread has four sums of each fragment, which has 16 rows and 8 columns.
struct ProductTile {
  static constexpr int64_t kRows = 16, kColumns = 8, kFragmentSums = 4;  ///< size of a fragment; its sums per thread
  /// Bytes along K that a stage contains, which is the unit of the 128-byte swizzle, and that an instruction multiplies
  /// (PTX ISA, "Swizzling Modes"; wgmma.mma_async, mma.sync).
  static constexpr int64_t kRowBytes = 128, kStepBytes = 32;

  DType dtype = DType::bf16;  ///< dtype of the operands
  /// How many values of `dtype` an element of the left operand is the sum of, each of which is multiplied: three bf16
  /// are an f32. Such an operand must be in registers.
  int parts = 1;
  ProductUnit unit = ProductUnit::warps;
  int64_t warpsDown = 1, warpsAcross = 1;  ///< warps of the block along rows and columns
  int64_t fragmentsM = 1, fragmentsN = 1;  ///< fragments of a warp along rows and columns
  int stages = 2;                          ///< number of stages: one is multiplied while the others are being filled
  int64_t lhsBytes = 0, rhsBytes = 0;      ///< bytes of each operand in a stage

  int64_t rows() const { return kRows * fragmentsM * warpsDown; }
  int64_t columns() const { return kColumns * fragmentsN * warpsAcross; }
  /// Elements along K in a stage.
  int64_t depth() const { return kRowBytes / storage_bytes(dtype); }
  int64_t sums() const { return kFragmentSums * fragmentsM * fragmentsN; }  ///< per thread, each in a register
  int64_t stageBytes() const { return lhsBytes + rhsBytes; }
  bool operator==(const ProductTile&) const = default;
};

/// Bytes of shared memory that are left for other values of the kernel. Chosen, not measured.
inline constexpr int64_t kOtherSharedBytes = 16 << 10;

/// Four stages of the largest tile, 48 KiB each, fit into the shared memory of sm_90. Whether smaller tiles gain from
/// more has not been measured.
inline constexpr int kMaxStages = 4;

/// The number of threads of a block for the product.
int threadsForProduct(const ProductShape&, const Architecture&);
/// The most registers of a thread for sums: half of its registers (CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability": 64 K per block, 255 per thread). The other half is for addresses and
/// operands.
constexpr int64_t mostSums(int threads) { return threads > 256 ? (32 << 10) / threads : 128; }
/// The tile for a block of this many threads. `covers`: the tile must contain the whole result. Absent: it does not
/// fit, or the product is too small.
std::optional<ProductTile> tileFor(const ProductShape&, int threads, const Architecture&, bool covers,
                                   WarpGrid = WarpGrid::square, int mostStages = kMaxStages);

}  // namespace smalti::gpu
