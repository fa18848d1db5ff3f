// What each op becomes: one lowering function per op name, kept in one table per family.
#pragma once

#include <span>
#include <string_view>

#include "machine/flat/Lowering.h"

namespace smalti::machine::flat {

using LowerFunction = Status (*)(Lowering&, mlir::Operation&);
/// The instruction of an op, and its class of work. Rows of the vector class hold for single numbers, too: scalar then.
struct LowerRow {
  std::string_view name;
  LowerFunction lower;
  OpClass kind;
};

// One per file of this folder.
std::span<const LowerRow> bitsTable();
std::span<const LowerRow> constantTable();
std::span<const LowerRow> controlTable();
std::span<const LowerRow> convTable();
std::span<const LowerRow> debugTable();
std::span<const LowerRow> elementwiseTable();
std::span<const LowerRow> loadTable();
std::span<const LowerRow> matmulTable();
std::span<const LowerRow> matrixUnitTable();
std::span<const LowerRow> reduceTable();
std::span<const LowerRow> refTable();
std::span<const LowerRow> shapeTable();
std::span<const LowerRow> storeTable();
std::span<const LowerRow> syncTable();
std::span<const LowerRow> vectorTable();

/// By its name; null: ops of no table are tried as element-wise ones.
const LowerRow* rowOf(mlir::Operation&);
/// The class of an op: its row's; of an element-wise op, which has no row, by its type.
OpClass classOf(mlir::Operation&, const LowerRow*);
/// An element-wise op that src/eval knows by this name; SM4001 otherwise.
Status lowerElementwise(Lowering&, mlir::Operation&);

/// Slots that an element-wise instruction reads; empty for other instructions.
std::vector<int32_t> elementwiseOperands(const Instruction&);

/// Ends the run: hands out the results.
const Instruction* finish(Frame&, const Instruction*);

}  // namespace smalti::machine::flat
