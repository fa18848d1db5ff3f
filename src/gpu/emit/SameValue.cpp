#include "gpu/emit/SameValue.h"

#include "llvm/IR/Instructions.h"

namespace smalti::gpu {
namespace {

bool same(cpu::Reg x, cpu::Reg y, int depth) {
  if (x == y) return true;
  auto *a = llvm::dyn_cast<llvm::Instruction>(x), *c = llvm::dyn_cast<llvm::Instruction>(y);
  if (!a || !c || depth == 0 || a->mayReadOrWriteMemory() || llvm::isa<llvm::PHINode>(a) || !a->isSameOperationAs(c))
    return false;
  for (unsigned i = 0; i < a->getNumOperands(); ++i)
    if (!same(a->getOperand(i), c->getOperand(i), depth - 1)) return false;
  return true;
}

}  // namespace

bool sameValue(cpu::Reg x, cpu::Reg y) {
  constexpr int kDepth = 10;
  return same(x, y, kDepth);
}

bool sameBox(const cpu::View& x, const cpu::View& y) {
  if (x.dtype != y.dtype || x.shape != y.shape || x.dynamic() || y.dynamic() || !sameValue(x.base, y.base))
    return false;
  for (size_t d = 0; d < x.shape.size(); ++d)
    if (x.shape[d] != 1 && !sameValue(x.strides[d], y.strides[d])) return false;
  return true;
}

}  // namespace smalti::gpu
