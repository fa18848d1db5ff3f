#include <array>

#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {
namespace {

NativeResult lowerConcatenate(GpuLowering& l, mlir::Operation& op) {
  const auto dimension = static_cast<size_t>(integerAttribute(op, "dimension", -1));
  View result = l.allocate(elementDType(op.getResult(0).getType()), shapeOf(op.getResult(0).getType()));
  if (dimension >= result.shape.size()) return unsupported("a concatenation of an unknown form");
  MemorySet reads;
  for (mlir::Value v : op.getOperands()) {
    const MemorySet more = l.reads(v);
    reads.insert(more.begin(), more.end());
  }
  l.touch(reads, {result.memory});
  int64_t begin = 0;
  for (mlir::Value v : op.getOperands()) {
    const Shape part = shapeOf(v.getType());
    std::vector<Reg> starts(result.shape.size(), l.index(0));
    starts[dimension] = l.index(begin);
    begin += part[dimension];
    const View to = cpu::slice(l.b, result, starts, part);
    l.forElements(part, [&](const ElementIndex& at) {
      if (Reg r = l.element(v, at)) cpu::storeElements(l.b, to.dtype, r, cpu::elementPointer(l.b, to, at), 1);
    });
  }
  l.setView(op.getResult(0), std::move(result));
  return l.status;
}

constexpr std::array<GpuOpRow, 1> kConcatenateTable{{{"tpu.concatenate", lowerConcatenate}}};

}  // namespace

std::span<const GpuOpRow> concatenateOps() { return kConcatenateTable; }

}  // namespace smalti::gpu
