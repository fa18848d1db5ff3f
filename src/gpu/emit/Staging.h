// Copies operands of products to shared memory, one chunk of K at a time.
//
// A stage contains a matrix of each operand, in rows of 128 bytes that are swizzled as TMA and wgmma require (PTX ISA,
// "Swizzling Modes"): the 16 bytes at column c of row r are at column c xor r mod 8, so that 8 rows are read without
// bank conflicts. If K is not the inner dimension and a row is too short for the other dimension, several matrices
// follow each other.
#pragma once

#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {

/// One operand. Its dimensions are the side (rows or columns of the result) and the depth (K).
struct StagedOperand {
  DType dtype = DType::bf16;
  Reg base = nullptr;                               ///< address of the first element
  Reg sideStride = nullptr, depthStride = nullptr;  ///< i64, in elements
  int64_t side = 0, depth = 0;                      ///< sizes of the dimensions
  int64_t staged = 0;                               ///< size of the side in a stage
  bool depthInner = true;                           ///< in the stage, K is the inner dimension
  bool isTransposed = false;                        ///< in memory, the other dimension is the inner one
  Reg aligned = nullptr;                            ///< i1: 16-byte vectors are aligned

  /// Keeps the order of memory, except where tensor cores cannot transpose: they only do so for 16-bit elements, and
  /// read others with K as the inner dimension (PTX ISA, ldmatrix; "Matrix Descriptor").
  void setOrder(bool depthIsInner, ProductUnit unit) {
    depthInner = depthIsInner || (unit != ProductUnit::threads && storage_bytes(dtype) != 2);
    isTransposed = depthInner != depthIsInner;
  }
  int64_t bytes() const { return storage_bytes(dtype); }
  int64_t perRow() const { return ProductTile::kRowBytes / bytes(); }  ///< elements of a row of the stage
  int64_t perVector() const { return kCopyBytes / bytes(); }           ///< elements of 16 bytes
  /// Rows of 128 bytes in each matrix of the stage.
  int64_t rows() const { return depthInner ? (staged + 7) / 8 * 8 : perRow(); }
  static constexpr int64_t kCopyBytes = 16;
};

/// Computes `aligned` from the address and strides. `inShared`: the operand may be in shared memory, which cp.async
/// cannot read.
void computeAlignment(GpuLowering&, StagedOperand&, bool inShared);
/// All threads copy a chunk of the depth to a stage; elements outside the operand are 0. Copies are complete after
/// Primitives::waitForCopies.
void stageChunk(GpuLowering&, const StagedOperand&, Reg to, Reg firstSide, Reg firstDepth);

}  // namespace smalti::gpu
