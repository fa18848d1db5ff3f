#include <array>

#include "cpu/emit/ops/Columns.h"
#include "cpu/emit/ops/PackedAccess.h"

namespace smalti::cpu {
namespace {

/// tpu.bitcast between widths (S-D8). Of one width it is an op of nests.
LowerResult lowerBitcast(NativeLowering& l, mlir::Operation& op) {
  const DType from = elementDType(op.getOperand(0).getType()), to = elementDType(op.getResult(0).getType());
  const Shape shape = shapeOf(op.getOperand(0).getType()), out = shapeOf(op.getResult(0).getType());
  if (bit_width(from) == bit_width(to) || shape.size() < 2) return lowerByInterpreter(l, op);
  if (auto ok = l.flush(); !ok) return ok;
  const View source = denseView(l, op.getOperand(0));
  const auto seen = bitcastView(l.b, [&](Reg ok) { l.require(ok); }, unpacked(source), to, out);
  if (!seen) return lowerByInterpreter(l, op);
  l.setView(op.getResult(0), gatherPacked(l, *seen));
  return {};
}

constexpr std::array<NativeOpRow, 1> kTable{{{"tpu.bitcast", lowerBitcast}}};

}  // namespace

std::span<const NativeOpRow> bitcastOps() { return kTable; }

}  // namespace smalti::cpu
