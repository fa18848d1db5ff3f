#include "tpu/Registers.h"

#include "base/Arithmetic.h"
#include "mlir/IR/BuiltinTypes.h"

#include "ir/Types.h"
#include "tpu/Tiling.h"

namespace smalti::tpu {
namespace {

constexpr int64_t kSublanes = 8;

std::optional<ArrayType> arrayOf(mlir::Value v) {
  return mlir::isa<mlir::VectorType>(v.getType()) ? arrayTypeOf(v.getType()) : std::nullopt;
}

}  // namespace

int64_t registersOf(const ArrayType& t) {
  if (t.shape.empty()) return 0;
  const int64_t rows = t.shape.size() < 2 ? 1 : t.shape[t.shape.size() - 2];
  int64_t count = ceilDiv(rows, kSublanes * packingOf(t.dtype)) * ceilDiv(t.shape.back(), kLanes);
  for (size_t i = 0; i + 2 < t.shape.size(); ++i) count *= t.shape[i];
  return count;
}

int64_t registersOf(mlir::Value v) {
  const auto array = arrayOf(v);
  return array ? registersOf(*array) : 0;
}

int64_t registersOfRow(mlir::Value v) {
  const auto array = arrayOf(v);
  return array && !array->shape.empty() ? ceilDiv(array->shape.back(), kLanes) : 0;
}

}  // namespace smalti::tpu
