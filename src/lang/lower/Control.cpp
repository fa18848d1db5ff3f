// Grid queries and control flow.
#include <array>

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "lang/lower/Lowering.h"

namespace smalti::lang {
namespace {

void programId(Lowering& l, const Op& op) { l.set(op.results[0], l.gridIndices[std::get<int64_t>(*op.find("axis"))]); }

void numPrograms(Lowering& l, const Op& op) {
  l.set(op.results[0],
        l.create1("tpu.iteration_bound", {}, l.b.getI32Type(),
                  {l.b.getNamedAttr(
                      "dim", l.b.getI32IntegerAttr(static_cast<int32_t>(std::get<int64_t>(*op.find("axis")))))}));
}

/// Two branches: the region of true, then that of false.
void ifElse(Lowering& l, const Op& op) {
  std::vector<mlir::Type> types;
  for (const ValueId v : op.results) types.push_back(l.mlirType(l.typeOf(v)));
  auto branch = mlir::scf::IfOp::create(l.b, l.loc, types, l.value(op.operands[0]), true);
  for (int i = 0; i < 2; ++i) {
    const mlir::OpBuilder::InsertionGuard guard(l.b);
    mlir::Block& block = (i == 0 ? branch.getThenRegion() : branch.getElseRegion()).front();
    if (!block.empty()) block.back().erase();  // the terminator the builder made
    l.b.setInsertionPointToEnd(&block);
    const auto results = l.ops(op.regions[i].ops);
    mlir::scf::YieldOp::create(l.b, l.loc, results);
  }
  for (size_t i = 0; i < op.results.size(); ++i) l.set(op.results[i], branch.getResult(i));
}

constexpr std::array kRows{
    LowerRow{"if", ifElse},
    LowerRow{"num_programs", numPrograms},
    LowerRow{"program_id", programId},
};

}  // namespace

std::span<const LowerRow> controlRules() { return kRows; }

}  // namespace smalti::lang
