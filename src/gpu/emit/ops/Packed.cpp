#include "gpu/emit/ops/Packed.h"

#include "cpu/emit/PackedBits.h"

namespace smalti::gpu {
namespace {

using cpu::PackedBits;
using cpu::PackedView;

Reg loadBits(GpuLowering& l, const PackedView& v, const ElementIndex& at) {
  const PackedBits bits(l.b, v);
  return bits.load(bits.at(at), l.index(0), 1, nullptr);
}

}  // namespace

View gatherPacked(GpuLowering& l, const PackedView& from) {
  View made = l.allocate(from.dtype, from.cells.shape);
  copyPacked(l, from, cpu::unpacked(made));
  return made;
}

void scatterPacked(GpuLowering& l, const PackedView& to, const MemorySet& reads,
                   const std::function<Reg(const ElementIndex&)>& bits,
                   const std::function<Reg(const ElementIndex&)>& condition) {
  const PackedBits out(l.b, to);
  std::vector<Reg> sizes;
  for (size_t d = 0; d < to.cells.shape.size(); ++d) sizes.push_back(cpu::extent(l.b, to.cells, d));
  // Elements that share a stored one are written one after another, so that no thread overwrites what another has
  // written.
  for (int64_t share = 0; share < to.elementsPerCell; ++share) {
    l.touch(reads, {to.cells.memory});
    const auto element = [&](const ElementIndex& at) {
      const cpu::PackedRow row = out.at(at);
      const auto write = [&] {
        if (Reg r = bits(at)) out.store(r, row, l.index(0), 1, nullptr);
      };
      Reg here = condition ? condition(at) : nullptr;
      if (condition && !here) return;
      if (to.elementsPerCell > 1) {
        Reg mine = l.b.CreateICmpEQ(row.shift, l.index(share * bit_width(to.dtype)));
        here = here ? l.b.CreateAnd(here, mine) : mine;
      }
      if (here)
        l.when(here, write);
      else
        write();
    };
    if (to.cells.dynamic())
      l.forElements(sizes, element);
    else
      l.forElements(to.cells.shape, element);
  }
}

void copyPacked(GpuLowering& l, const PackedView& from, const PackedView& to) {
  scatterPacked(l, to, {from.cells.memory}, [&](const ElementIndex& at) { return loadBits(l, from, at); });
}

}  // namespace smalti::gpu
