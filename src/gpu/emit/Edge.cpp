#include "gpu/emit/Edge.h"

namespace smalti::gpu {
namespace {

void copyInside(GpuLowering& l, const EdgeBlock& block, bool fetching, Reg outside) {
  Builder& b = l.b;
  const DType t = block.buffer.dtype;
  llvm::Type* type = cpu::storageType(b.getContext(), t);
  const llvm::Align align(static_cast<uint64_t>(storage_bytes(t)));
  const View &from = fetching ? block.array : block.buffer, &to = fetching ? block.buffer : block.array;
  l.touch({from.memory}, {to.memory});
  l.forElements(block.buffer.shape, [&](const ElementIndex& at) {
    ElementIndex inArray;
    Reg inside = b.getTrue();
    for (size_t d = 0; d < at.size(); ++d) {
      inArray.push_back(b.CreateAdd(at[d], block.starts[d]));
      inside = b.CreateAnd(inside, b.CreateICmpULT(inArray[d], l.index(block.array.shape[d])));
    }
    Reg buffer = cpu::elementPointer(b, block.buffer, at);
    l.when(inside, [&] {
      Reg array = cpu::elementPointer(b, block.array, inArray);
      b.CreateAlignedStore(b.CreateAlignedLoad(type, fetching ? array : buffer, align), fetching ? buffer : array,
                           align);
    });
    if (outside)
      l.when(b.CreateNot(inside), [&] { b.CreateAlignedStore(cpu::toStorage(b, t, outside), buffer, align); });
  });
}

}  // namespace

void fetchInside(GpuLowering& l, const EdgeBlock& block, Reg outside) { copyInside(l, block, true, outside); }
void storeInside(GpuLowering& l, const EdgeBlock& block) { copyInside(l, block, false, nullptr); }

}  // namespace smalti::gpu
