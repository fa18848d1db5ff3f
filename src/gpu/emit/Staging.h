// Copies operands of products to shared memory, one chunk of K at a time.
//
// A stage has of each operand a matrix of rows of 128 bytes, swizzled as TMA and wgmma have it (PTX ISA, "Swizzling
// Modes"): the 16 bytes at column c of row r are at column c xor r mod 8, so that 8 rows are read without bank
// conflicts. A side of more inner elements than a row has is several such matrices, one after the other.
#pragma once

#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {

/// One operand: a side (rows of the result, or columns) and the depth.
struct StagedOperand {
  DType dtype = DType::bf16;
  Reg base = nullptr;                               ///< of the first element
  Reg sideStride = nullptr, depthStride = nullptr;  ///< i64, in elements
  int64_t side = 0, depth = 0;                      ///< sizes
  int64_t staged = 0;                               ///< of the side, at once
  bool depthInner = true;                           ///< in the stage: along the rows of 128 bytes
  bool turned = false;                              ///< in memory it is the other way round
  Reg aligned = nullptr;                            ///< i1: 16 bytes may be copied at once

  /// As it is in memory. For tensor cores only elements of 16 bits are staged with the depth outside: others are not
  /// transposed on the way there (PTX ISA, ldmatrix; "Matrix Descriptor").
  void setOrder(bool depthIsInner, ProductUnit unit) {
    depthInner = depthIsInner || (unit != ProductUnit::threads && storage_bytes(dtype) != 2);
    turned = depthInner != depthIsInner;
  }
  int64_t bytes() const { return storage_bytes(dtype); }
  int64_t perRow() const { return ProductTile::kRowBytes / bytes(); }  ///< elements of a row of the stage
  int64_t perPiece() const { return kPieceBytes / bytes(); }           ///< elements of 16 bytes
  /// Rows of the stage in each of its matrices.
  int64_t rows() const { return depthInner ? (staged + 7) / 8 * 8 : perRow(); }
  static constexpr int64_t kPieceBytes = 16;
};

/// Sets `aligned` from where the operand begins and its strides. `inShared`: no asynchronous copy reads it.
void findAlignment(GpuLowering&, StagedOperand&, bool inShared);
/// All threads copy a chunk of the depth to a stage; what is not in the operand is 0. Copies may end later, when
/// Primitives::waitForCopies says so.
void stageChunk(GpuLowering&, const StagedOperand&, Reg to, Reg firstSide, Reg firstDepth);
/// Bytes from the operand's place in the stage to 16 bytes of it (i32): the piece `piece` of what is inside of row
/// `row`.
Reg stagedPlace(GpuLowering&, const StagedOperand&, Reg row, Reg piece);

}  // namespace smalti::gpu
