#include "cpu/emit/ops/HazardChecks.h"

#include "cpu/runtime/DmaHazardTracker.h"
#include "llvm/IR/Module.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace smalti::cpu {
namespace {

/// The address range [begin, end) of the elements; without elements, end ≤ begin.
std::pair<Reg, Reg> spanOf(NativeLowering& l, const View& v) {
  Builder& b = l.b;
  Reg last = l.index(0);
  for (size_t d = 0; d < v.shape.size(); ++d) {
    // An empty dimension makes the whole view empty.
    Reg size = extent(b, v, d);
    last = b.CreateAdd(last, b.CreateMul(b.CreateSub(size, l.index(1)), v.strides[d]));
    if (v.dynamic())
      last = b.CreateSelect(b.CreateICmpSGT(size, l.index(0)), last, l.index(INT32_MIN));
    else if (v.shape[d] == 0)
      return {v.base, v.base};
  }
  Reg bytes = b.CreateMul(b.CreateAdd(last, l.index(1)), l.index(storage_bytes(v.dtype)));
  return {v.base, b.CreateGEP(b.getInt8Ty(), v.base, bytes)};
}

Reg call(NativeLowering& l, const char* name, llvm::Type* result, std::vector<Reg> arguments) {
  arguments.insert(arguments.begin(), l.context);
  std::vector<llvm::Type*> types;
  for (Reg r : arguments) types.push_back(r->getType());
  auto callee = l.module.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
  return l.b.CreateCall(callee, arguments);
}

/// Calls a function that returns 0 if the access is safe; otherwise the kernel call ends with a fault.
void ask(NativeLowering& l, const char* name, std::vector<Reg> arguments) {
  l.require(l.b.CreateICmpEQ(call(l, name, l.b.getInt32Ty(), std::move(arguments)), l.b.getInt32(0)));
}

}  // namespace

void emitHazardCheck(NativeLowering& l, mlir::Operation& op, const View& box, bool write) {
  const mlir::Attribute watched = op.getAttr(kHazardChecked);
  if (!watched) return;
  auto [begin, end] = spanOf(l, box);
  const bool counts = write || mlir::isa<mlir::StringAttr>(watched);
  ask(l, kDmaAccessSymbol, {begin, end, l.b.getInt32(counts ? 1 : 0)});
}

void trackCopyStart(NativeLowering& l, mlir::Operation& op, const View& source, const View& target,
                    const View& semaphore, Reg amount) {
  if (!op.hasAttr(kHazardChecked)) return;
  auto [sourceBegin, sourceEnd] = spanOf(l, source);
  auto [targetBegin, targetEnd] = spanOf(l, target);
  ask(l, kDmaStartSymbol, {sourceBegin, sourceEnd, targetBegin, targetEnd, semaphore.base, amount});
}

void trackCopyWait(NativeLowering& l, mlir::Operation& op, const View* target, const View& semaphore, Reg amount) {
  if (!op.hasAttr(kHazardChecked)) return;
  Reg none = llvm::ConstantPointerNull::get(l.b.getPtrTy());
  auto [begin, end] = target ? spanOf(l, *target) : std::pair{none, none};
  call(l, kDmaWaitSymbol, l.b.getVoidTy(), {begin, end, semaphore.base, amount});
}

}  // namespace smalti::cpu
