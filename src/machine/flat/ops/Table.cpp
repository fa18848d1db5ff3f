#include "machine/flat/ops/Table.h"

#include <string_view>
#include <unordered_map>

namespace smalti::machine::flat {
namespace {

const std::unordered_map<std::string_view, LowerFunction>& table() {
  static const auto kTable = [] {
    std::unordered_map<std::string_view, LowerFunction> all;
    for (const auto rows : {bitsTable(), constantTable(), controlTable(), convTable(), debugTable(), elementwiseTable(),
                            loadTable(), matmulTable(), matrixUnitTable(), reduceTable(), refTable(), shapeTable(),
                            storeTable(), syncTable(), vectorTable()})
      all.insert(rows.begin(), rows.end());
    return all;
  }();
  return kTable;
}

}  // namespace

Status lowerByName(Lowering& lowering, mlir::Operation& op) {
  const llvm::StringRef name = op.getName().getStringRef();
  const auto row = table().find(std::string_view(name.data(), name.size()));
  return row == table().end() ? lowerElementwise(lowering, op) : row->second(lowering, op);
}

}  // namespace smalti::machine::flat
