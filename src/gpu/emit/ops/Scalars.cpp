// Scalars that are elements of vectors or sizes of the grid.
#include <array>

#include "gpu/emit/GpuLowering.h"
#include "mlir/IR/BuiltinTypes.h"

namespace smalti::gpu {
namespace {

/// vector.extract of a scalar or of the trailing dimensions at leading positions.
NativeResult lowerExtract(GpuLowering& l, mlir::Operation& op) {
  const Shape from = shapeOf(op.getOperand(0).getType());
  const auto positions = integersAttribute(op, "static_position");
  if (positions.size() > from.size()) return unsupported("vector.extract of an unknown form");
  ElementIndex at(from.size(), l.index(0));
  unsigned dynamic = 1;
  for (size_t d = 0; d < positions.size(); ++d) {
    if (positions[d] == mlir::ShapedType::kDynamic) {
      at[d] = dynamic < op.getNumOperands() ? l.scalar(op.getOperand(dynamic++)) : nullptr;
      if (!at[d]) return unsupported("a position that device code does not follow");
      l.require(l.b.CreateICmpULT(at[d], l.index(from[d])));
      continue;
    }
    if (positions[d] < 0 || positions[d] >= from[d]) return unsupported("vector.extract outside of its vector");
    at[d] = l.index(positions[d]);
  }
  const mlir::Value source = op.getOperand(0), result = op.getResult(0);
  if (!isVector(result)) {
    // Every thread computes it.
    const GpuLowering::Scope scope(l);
    l.touch(l.reads(source), {});
    Reg r = l.element(source, at);
    if (!r) return l.status;
    l.setScalar(result, r);
    return {};
  }
  View made = l.allocate(elementDType(result.getType()), shapeOf(result.getType()));
  l.touch(l.reads(source), {made.memory});
  l.forElements(made.shape, [&](const ElementIndex& inner) {
    ElementIndex place = at;
    for (size_t d = 0; d < inner.size(); ++d) place[d + positions.size()] = inner[d];
    if (Reg r = l.element(source, place))
      cpu::storeElements(l.b, made.dtype, r, cpu::elementPointer(l.b, made, inner), 1);
  });
  l.setView(result, std::move(made));
  return l.status;
}

NativeResult lowerIterationBound(GpuLowering& l, mlir::Operation& op) {
  const auto dim = static_cast<size_t>(integerAttribute(op, "dim", -1));
  if (dim >= l.gridBounds.size()) return unsupported("the bound of a grid axis that does not exist");
  l.setScalar(op.getResult(0), l.b.CreateTrunc(l.gridBounds[dim], l.b.getInt32Ty()));
  return {};
}

NativeResult lowerDevice(GpuLowering& l, mlir::Operation& op) {
  l.setScalar(op.getResult(0), l.b.getInt32(0));
  return {};
}

constexpr std::array<GpuOpRow, 3> kScalarsTable{{
    {"vector.extract", lowerExtract},
    {"tpu.iteration_bound", lowerIterationBound},
    {"tpu.device_id", lowerDevice},
}};

}  // namespace

std::span<const GpuOpRow> scalarOps() { return kScalarsTable; }

}  // namespace smalti::gpu
