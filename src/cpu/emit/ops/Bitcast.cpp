#include <array>

#include "cpu/emit/ops/Columns.h"
#include "cpu/emit/ops/OpTables.h"
#include "cpu/emit/ops/PackedAccess.h"

namespace smalti::cpu {
namespace {

/// tpu.bitcast between widths (S-D8). Of one width it is an op of nests.
NativeResult lowerBitcast(NativeLowering& l, mlir::Operation& op) {
  const DType to = elementDType(op.getResult(0).getType());
  const Shape out = shapeOf(op.getResult(0).getType());
  const View source = denseView(l, op.getOperand(0));
  const auto seen = bitcastView(l.b, [&](Reg ok) { l.require(ok); }, unpacked(source), to, out);
  if (!seen) return unsupported("a bitcast of an unknown form");
  l.setView(op.getResult(0), gatherPacked(l, *seen));
  return {};
}

constexpr std::array<NativeOpRow, 1> kBitcastOps{{{"tpu.bitcast", lowerBitcast}}};

}  // namespace

std::span<const NativeOpRow> bitcastOps() { return kBitcastOps; }

}  // namespace smalti::cpu
