// Debug prints append records to the kernel's buffer.
#include <array>

#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {
namespace {

/// Whether a ref can be printed.
bool isPrintable(GpuLowering& l, mlir::Value ref) {
  if (!l.hasRef(ref)) return false;
  const View& v = l.ref(ref);
  return !v.dynamic() && !v.extendsPast() && !v.shape.empty() && !l.registersOfMemory(v.memory);
}

NativeResult lowerPrint(GpuLowering& l, mlir::Operation& op) {
  const std::string name = op.getName().getStringRef().str();
  const auto isRef = [](mlir::Value v) { return llvm::isa<mlir::MemRefType>(v.getType()); };
  for (mlir::Value v : op.getOperands())
    if (isRef(v) && !isPrintable(l, v)) return unsupported(name + " of a ref that device code does not follow");
  auto number = l.prints.ops->add(op);
  if (!number) return unsupported(name);
  const std::vector<int64_t> offsets = l.prints.ops->offsets(*number);
  Builder& b = l.b;
  Reg used = b.CreateLoad(b.getInt64Ty(), l.prints.used);
  Reg end = b.CreateAdd(used, l.index(offsets.back()));
  l.require(b.CreateICmpSLE(end, l.prints.capacity), KernelStatus::printBufferFull);
  b.CreateStore(end, l.prints.used);
  Reg record = b.CreateGEP(b.getInt8Ty(), l.prints.memory, b.CreateAdd(used, l.index(PrintOps::kHeaderBytes)));
  const auto at = [&](size_t operand) { return b.CreateGEP(b.getInt8Ty(), record, l.index(offsets[operand])); };
  l.byOneThread([&] { b.CreateStore(l.index(*number), record); });
  for (unsigned i = 0; i < op.getNumOperands(); ++i) {
    const mlir::Value v = op.getOperand(i);
    View to;
    to.dtype = elementDType(v.getType());
    to.shape = shapeOf(v.getType());
    to.base = at(i);
    to.strides = cpu::denseStrides(b, to.shape);
    to.memory = l.newMemory();  // no thread reads it
    if (isVector(v)) {
      if (auto ok = l.computeInto(v, to); !ok) return ok;
    } else if (isRef(v)) {
      const View from = l.ref(v);
      l.touch({from.memory}, {});
      l.forElements(to.shape, [&](const ElementIndex& place) {
        cpu::storeElements(b, to.dtype, cpu::loadElements(b, from.dtype, cpu::elementPointer(b, from, place), 1),
                           cpu::elementPointer(b, to, place), 1);
      });
    } else {
      Reg r = l.scalar(v);
      if (!r) return unsupported("a scalar that device code does not follow");
      l.byOneThread([&] { cpu::storeElements(b, to.dtype, r, to.base, 1); });
    }
  }
  return l.status;
}

constexpr std::array<GpuOpRow, 2> kPrintTable{{{"tpu.log", lowerPrint}, {"tpu.log_buffer", lowerPrint}}};

}  // namespace

std::span<const GpuOpRow> printOps() { return kPrintTable; }

}  // namespace smalti::gpu
