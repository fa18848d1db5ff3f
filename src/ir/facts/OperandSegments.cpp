#include "ir/facts/OperandSegments.h"

#include <algorithm>
#include <numeric>

#include "ir/facts/Attributes.h"

namespace smalti {

OperandSegments::OperandSegments(mlir::Operation& op) : op_(op), sizes_(integersAttribute(op, "operandSegmentSizes")) {}

bool OperandSegments::isValid(size_t atLeast) const {
  return sizes_.size() >= atLeast && std::ranges::all_of(sizes_, [](int64_t n) { return n == 0 || n == 1; }) &&
         std::accumulate(sizes_.begin(), sizes_.end(), int64_t{0}) == op_.getNumOperands();
}

mlir::Value OperandSegments::operator[](size_t segment) const {
  if (segment >= sizes_.size() || sizes_[segment] == 0) return nullptr;
  const int64_t at = std::accumulate(sizes_.begin(), sizes_.begin() + static_cast<ptrdiff_t>(segment), int64_t{0});
  return at < op_.getNumOperands() ? op_.getOperand(static_cast<unsigned>(at)) : mlir::Value();
}

}  // namespace smalti
