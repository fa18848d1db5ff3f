#include "cpu/emit/ops/PackedAccess.h"

#include <algorithm>

#include "cpu/emit/PackedBits.h"
#include "cpu/emit/ops/Columns.h"

namespace smalti::cpu {
namespace {

/// `body` for each place of the shape's first `rank` dimensions.
void forEachRow(NativeLowering& l, const View& shape, size_t rank,
                const std::function<void(std::span<const Reg>)>& body) {
  std::vector<Reg> at;
  std::function<void()> walk = [&] {
    if (at.size() == rank) return body(at);
    l.loop(l.index(0), extent(l.b, shape, at.size()), l.index(1), [&](Reg i) {
      at.push_back(i);
      walk();
      at.pop_back();
    });
  };
  walk();
}

void copyRows(NativeLowering& l, const PackedView& from, const PackedView& to, const View* where) {
  const PackedBits in(l.b, from), out(l.b, to);
  const size_t rank = to.cells.shape.size();
  const bool vectors = in.hasVectors() && out.hasVectors() && (!where || constantOf(where->strides.back()) == 1);
  forEachRow(l, to.cells, vectors ? rank - 1 : rank, [&](std::span<const Reg> at) {
    const PackedRow source = in.at(at), target = out.at(at);
    Reg chosen = where ? elementPointer(l.b, *where, at) : nullptr;
    const auto body = [&](Reg start, int lanes, Reg mask) {
      if (chosen) {
        Reg place = l.b.CreateGEP(storageType(l.b.getContext(), DType::pred), chosen, start);
        Reg here = loadElements(l.b, DType::pred, place, lanes, mask);
        mask = mask ? l.b.CreateAnd(mask, here) : here;
      }
      if (lanes == 1 && mask)
        return l.when(mask, [&] { out.store(in.load(source, start, 1, nullptr), target, start, 1, nullptr); });
      out.store(in.load(source, start, lanes, mask), target, start, lanes, mask);
    };
    if (!vectors) return body(l.index(0), 1, nullptr);
    int widest = 1;
    for (const DType t : {from.dtype, from.cells.dtype, to.cells.dtype}) widest = std::max(widest, storage_bytes(t));
    forColumns(l, *constantOf(extent(l.b, to.cells, rank - 1)), l.processor.lanes(widest), body);
  });
}

}  // namespace

void copyPacked(NativeLowering& l, const PackedView& from, const PackedView& to) { copyRows(l, from, to, nullptr); }

void copyPackedWhere(NativeLowering& l, const PackedView& from, const PackedView& to, const View& mask) {
  copyRows(l, from, to, &mask);
}

View gatherPacked(NativeLowering& l, const PackedView& from) {
  View to = l.allocate(from.dtype, from.cells.shape);
  copyPacked(l, from, unpacked(to));
  return to;
}

}  // namespace smalti::cpu
