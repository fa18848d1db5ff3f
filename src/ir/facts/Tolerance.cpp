#include "ir/facts/Tolerance.h"

#include <algorithm>
#include <cmath>

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace smalti {
namespace {

constexpr llvm::StringLiteral kTolerance("tolerance");

}  // namespace

Tolerance toleranceOf(mlir::Operation& op) {
  const auto numbers = op.getAttrOfType<mlir::DenseF64ArrayAttr>(kTolerance);
  if (!numbers || numbers.size() != 2) return {};
  if (!std::ranges::all_of(numbers.asArrayRef(), [](double x) { return std::isfinite(x) && x >= 0; })) return {};
  return {.atol = numbers[0], .rtol = numbers[1]};
}

mlir::NamedAttribute toleranceAttribute(mlir::MLIRContext* context, Tolerance tolerance) {
  mlir::Builder b(context);
  return b.getNamedAttr(kTolerance, b.getDenseF64ArrayAttr({tolerance.atol, tolerance.rtol}));
}

void allow(mlir::Operation& op, Tolerance tolerance) {
  const Tolerance given = toleranceOf(op);
  const mlir::NamedAttribute made =
      toleranceAttribute(op.getContext(), {std::max(given.atol, tolerance.atol), std::max(given.rtol, tolerance.rtol)});
  op.setAttr(made.getName(), made.getValue());
}

}  // namespace smalti
