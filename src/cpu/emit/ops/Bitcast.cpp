#include <array>

#include "cpu/analysis/NativeOps.h"
#include "cpu/emit/ops/Columns.h"
#include "cpu/emit/ops/PackedAccess.h"

namespace smalti::cpu {
namespace {

/// tpu.bitcast between widths (S-D8). Of one width it is an op of nests.
NativeResult lowerBitcast(NativeLowering& l, mlir::Operation& op) {
  if (!isNativeBitcast(op)) return lowerByInterpreter(l, op);
  const DType to = elementDType(op.getResult(0).getType());
  const Shape out = shapeOf(op.getResult(0).getType());
  if (auto ok = l.flush(); !ok) return ok;
  const View source = denseView(l, op.getOperand(0));
  const auto seen = bitcastView(l.b, [&](Reg ok) { l.require(ok); }, unpacked(source), to, out);
  if (!seen) return unsupported("a bitcast of an unknown form");
  l.setView(op.getResult(0), gatherPacked(l, *seen));
  return {};
}

constexpr std::array<NativeOpRow, 1> kTable{{{"tpu.bitcast", lowerBitcast}}};

}  // namespace

bool isNativeBitcast(mlir::Operation& op) {
  const DType from = elementDType(op.getOperand(0).getType()), to = elementDType(op.getResult(0).getType());
  const auto hasParts = [](DType t) { return bit_width(t) >= 2 && !is_semaphore(t); };
  return bit_width(from) != bit_width(to) && hasParts(from) && hasParts(to) &&
         shapeOf(op.getOperand(0).getType()).size() >= 2;
}

std::span<const NativeOpRow> bitcastOps() { return kTable; }

}  // namespace smalti::cpu
