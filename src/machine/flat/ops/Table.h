// The lowering of each op: one function per op name, in one table per family.
#pragma once

#include <span>
#include <string_view>

#include "machine/flat/FlatLowering.h"

namespace smalti::machine::flat {

using FlatLowerFunction = Status (*)(FlatLowering&, mlir::Operation&);
/// The instruction of an op, and its class of work. Rows of the vector class hold for single numbers, too: scalar then.
struct FlatOpRow {
  std::string_view name;
  FlatLowerFunction lower;
  OpClass kind;
};

// One per file of this folder.
std::span<const FlatOpRow> atomicTable();
std::span<const FlatOpRow> bitsTable();
std::span<const FlatOpRow> constantTable();
std::span<const FlatOpRow> controlTable();
std::span<const FlatOpRow> convTable();
std::span<const FlatOpRow> debugTable();
std::span<const FlatOpRow> elementwiseTable();
std::span<const FlatOpRow> loadTable();
std::span<const FlatOpRow> matmulTable();
std::span<const FlatOpRow> matrixUnitTable();
std::span<const FlatOpRow> reduceTable();
std::span<const FlatOpRow> refTable();
std::span<const FlatOpRow> shapeTable();
std::span<const FlatOpRow> storeTable();
std::span<const FlatOpRow> syncTable();
std::span<const FlatOpRow> vectorTable();

/// The row of the op's name; null: ops without a row are tried as element-wise ones.
const FlatOpRow* rowOf(mlir::Operation&);
/// The class of an op: its row's; of an element-wise op, which has no row, by its type.
OpClass classOf(mlir::Operation&, const FlatOpRow*);
/// An element-wise op that src/eval knows by this name; SM4001 otherwise.
Status lowerElementwise(FlatLowering&, mlir::Operation&);

/// Slots that an element-wise instruction reads; empty for other instructions.
std::vector<int32_t> elementwiseOperands(const Instruction&);

/// Ends the run: hands out the results.
const Instruction* finish(Frame&, const Instruction*);

}  // namespace smalti::machine::flat
