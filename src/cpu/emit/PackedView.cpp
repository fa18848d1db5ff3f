#include "cpu/emit/PackedView.h"
#include "ir/Types.h"

namespace smalti::cpu {
namespace {

Reg index(Builder& b, int64_t i) { return b.getInt64(static_cast<uint64_t>(i)); }

struct PackedArithmetic : EmittedArithmetic {
  Require require;

  Number add(Number m, Number n) const { return b.CreateAdd(m, n); }
  Number divideExactly(Number m, int64_t n) const {
    requireMultiple(m, n);
    return b.CreateUDiv(m, index(b, n));
  }
  void moveByRows(View& v, Number rows, int64_t elementsPerCell, Number rowStride) const {
    requireMultiple(rows, elementsPerCell);
    v.base = b.CreateGEP(storageType(b.getContext(), v.dtype), v.base,
                         b.CreateMul(b.CreateUDiv(rows, index(b, elementsPerCell)), rowStride));
  }

 private:
  void requireMultiple(Number m, int64_t n) const {
    require(b.CreateICmpEQ(b.CreateURem(m, index(b, n)), index(b, 0)));
  }
};

}  // namespace

PackedView unpacked(const View& from) { return unpackedAs<PackedView>(from); }

std::optional<PackedView> bitcastView(Builder& b, Require require, const PackedView& from, DType to,
                                      std::span<const int64_t> shape) {
  return bitcastElements(PackedArithmetic{{b}, require}, from, to, shape);
}

PackedView slice(Builder& b, const PackedView& from, std::span<const Reg> starts, std::span<const int64_t> sizes,
                 std::span<const int64_t> steps) {
  if (from.fold > 1) {
    PackedView rows = from;
    rows.fold = 1;
    const std::vector<Reg> firsts{b.CreateUDiv(starts[0], index(b, from.fold)), starts[1]};
    PackedView v = slice(b, rows, firsts, sizes, from.stepsBeforeFold(sizes, steps));
    v.cells.base = b.CreateGEP(storageType(b.getContext(), v.cells.dtype), v.cells.base,
                               b.CreateMul(b.CreateURem(starts[0], index(b, from.fold)), from.foldStride));
    return v;
  }
  PackedView v = from;
  v.cells = slice(b, from.cells, starts, sizes, steps);
  for (size_t d = 0; d < v.rowSteps.size(); ++d) {
    v.row = b.CreateAdd(v.row, b.CreateMul(starts[d], v.rowSteps[d]));
    if (!steps.empty()) v.rowSteps[d] = b.CreateMul(v.rowSteps[d], b.getInt64(static_cast<uint64_t>(steps[d])));
  }
  return v;
}

std::optional<PackedView> reshape(Builder& b, const PackedView& from, std::span<const int64_t> shape) {
  return reshapedElements(EmittedArithmetic{b}, from, shape);
}

PackedView withoutUnitDims(const PackedView& from) {
  PackedView v = from;
  v.rowSteps.clear();
  for (size_t d = 0; d < from.cells.shape.size(); ++d)
    if (from.elementsPerCell > 1 && from.cells.shape[d] != 1) v.rowSteps.push_back(from.rowSteps[d]);
  v.cells = withoutUnitDims(from.cells);
  return v;
}

View storedCells(Builder& b, const PackedView& v) {
  View out = v.cells;
  const auto add = [&](Reg size, Reg stride) {
    const auto known = constantOf(size);
    if (!known && !out.dynamic()) {
      for (const int64_t n : out.shape) out.sizes.push_back(index(b, n));
    }
    if (out.dynamic()) out.sizes.push_back(size);
    out.shape.push_back(known.value_or(kDynamicSize));
    out.strides.push_back(stride);
  };
  if (v.cellsPerElement > 1) add(index(b, v.cellsPerElement), v.cellStride);
  if (v.elementsPerCell > 1) {
    Reg first = b.CreateUDiv(v.row, index(b, v.elementsPerCell)), last = v.row;
    for (size_t d = 0; d < v.rowSteps.size(); ++d)
      last = b.CreateAdd(last, b.CreateMul(b.CreateSub(extent(b, v.cells, d), index(b, 1)), v.rowSteps[d]));
    out.base = b.CreateGEP(storageType(b.getContext(), out.dtype), out.base, b.CreateMul(first, v.rowStride));
    add(b.CreateAdd(b.CreateSub(b.CreateSDiv(last, index(b, v.elementsPerCell)), first), index(b, 1)), v.rowStride);
  }
  return out;
}

}  // namespace smalti::cpu
