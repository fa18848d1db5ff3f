// What tpu.matmul and the explicit MXU ops share.
#pragma once

#include <optional>
#include <string_view>

#include "eval/Contract.h"
#include "machine/FlatProgram.h"

namespace mlir {
class Operation;
}

namespace smalti::machine::flat {

/// Owning form of eval::DotDims.
struct DotLists {
  Shape lhsContracting, rhsContracting, lhsFree, rhsFree, lhsBatch, rhsBatch;
  eval::DotDims view() const { return {lhsContracting, rhsContracting, lhsFree, rhsFree, lhsBatch, rhsBatch}; }
};

/// The dimension numbers of a tpu.matmul, from its attributes of either form; nullopt when they are malformed.
std::optional<DotLists> dotListsOf(mlir::Operation&);
/// `precision`: keyword of #tpu.contract_precision, empty for DEFAULT.
eval::DotNumerics numericsOf(const CompileOptions&, std::string_view precision);
bool hasProduct(DType lhs, DType rhs, DType acc, DType out);

}  // namespace smalti::machine::flat
