#include "machine/flat/ops/Table.h"

#include <string_view>
#include <unordered_map>

#include "base/Lasting.h"

namespace smalti::machine::flat {
namespace {

using ByName = std::unordered_map<std::string_view, const FlatOpRow*>;

const ByName& table() {
  static constinit Lasting<const ByName> kTable;
  return kTable.get([] {
    ByName all;
    for (const auto rows : {atomicTable(), bitsTable(), constantTable(), controlTable(), convTable(), debugTable(),
                            elementwiseTable(), loadTable(), matmulTable(), matrixUnitTable(), reduceTable(),
                            refTable(), shapeTable(), storeTable(), syncTable(), vectorTable()})
      for (const FlatOpRow& row : rows) all.emplace(row.name, &row);
    return all;
  });
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
