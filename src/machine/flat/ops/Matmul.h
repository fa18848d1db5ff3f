// Functions that tpu.matmul and the explicit MXU ops share.
#pragma once

#include <string_view>

#include "eval/Contract.h"
#include "ir/facts/DotDimensions.h"
#include "machine/FlatProgram.h"

namespace smalti::machine::flat {

/// The form that src/eval takes; `dims` owns the lists.
inline eval::DotDims viewOf(const DotDimensions& dims) {
  return {dims.lhsContracting, dims.rhsContracting, dims.lhsFree, dims.rhsFree, dims.lhsBatch, dims.rhsBatch};
}
/// `precision`: keyword of #tpu.contract_precision, empty for DEFAULT.
eval::DotNumerics numericsOf(const CompileOptions&, std::string_view precision);
bool hasProduct(DType lhs, DType rhs, DType acc, DType out);

}  // namespace smalti::machine::flat
