// Functions that loads and stores share: the refs that they may access, and the traversal of refs without strides.
#pragma once

#include "base/RowMajor.h"
#include "machine/flat/Box.h"
#include "machine/flat/FlatLowering.h"

namespace smalti::machine::flat {

/// The box of a load or store op, checked as far as types go: SM4002 for HBM/ANY refs, SM4003 for vectors in SMEM.
/// `sizes` is the vector's shape; `scalar`: memref.load and memref.store, one element.
Result<BoxShape> boxOf(FlatLowering&, mlir::Operation&, mlir::Value ref, mlir::ValueRange indices, Shape sizes,
                       bool scalar);

/// Reads or writes the elements of a box (inside bounds) of any ref; `mask` may be null.
void readBox(Frame&, const BoxShape&, const Box&, std::byte* out, uint8_t* mask);
/// A box that is partly outside: elements outside are undefined.
void readBoxOverEdge(Frame&, const BoxShape&, const Box&, std::byte* out, uint8_t* mask);
void writeBox(Frame&, const BoxShape&, const Box&, const std::byte* in, const uint8_t* mask);

}  // namespace smalti::machine::flat
