#include "machine/flat/ops/Table.h"

#include <string_view>
#include <unordered_map>

namespace smalti::machine::flat {
namespace {

const std::unordered_map<std::string_view, const FlatOpRow*>& table() {
  static const auto kTable = [] {
    std::unordered_map<std::string_view, const FlatOpRow*> all;
    for (const auto rows : {atomicTable(), bitsTable(), constantTable(), controlTable(), convTable(), debugTable(),
                            elementwiseTable(), loadTable(), matmulTable(), matrixUnitTable(), reduceTable(),
                            refTable(), shapeTable(), storeTable(), syncTable(), vectorTable()})
      for (const FlatOpRow& row : rows) all.emplace(row.name, &row);
    return all;
  }();
  return kTable;
}

}  // namespace

const FlatOpRow* rowOf(mlir::Operation& op) {
  const llvm::StringRef name = op.getName().getStringRef();
  const auto row = table().find(std::string_view(name.data(), name.size()));
  return row == table().end() ? nullptr : row->second;
}

OpClass classOf(mlir::Operation& op, const FlatOpRow* row) {
  if (row && row->kind != OpClass::vector) return row->kind;
  if (!row && op.hasTrait<mlir::OpTrait::IsTerminator>()) return OpClass::control;
  const auto isVector = [](mlir::Type type) { return llvm::isa<mlir::VectorType>(type); };
  return llvm::any_of(op.getResultTypes(), isVector) || llvm::any_of(op.getOperandTypes(), isVector) ? OpClass::vector
                                                                                                     : OpClass::scalar;
}

}  // namespace smalti::machine::flat
