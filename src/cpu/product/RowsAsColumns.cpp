#include "cpu/product/RowsAsColumns.h"

#include <bit>

#include "base/Arithmetic.h"
#include "cpu/product/Bf16Dot.h"

namespace smalti::cpu {
namespace {

int lanesOf(llvm::Value* vector) {
  return static_cast<int>(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
}

}  // namespace

Values rotatedRight(Builder& b, Values v, int bits) {
  if (v.size() == 1) return v;
  for (; bits > 0; --bits) {
    Values next;
    for (const int parity : {0, 1}) {
      llvm::SmallVector<int, 16> lanesOfParity;
      for (int i = 0; i < lanesOf(v.front()); ++i) lanesOfParity.push_back(2 * i + parity);
      for (size_t i = 0; i < v.size(); i += 2) next.push_back(b.CreateShuffleVector(v[i], v[i + 1], lanesOfParity));
    }
    v = std::move(next);
  }
  return v;
}

View rowsAsColumns(NativeLowering& l, const RowProduct& p, int lanes) {
  Builder& b = l.b;
  const GemmShape& s = p.shape;
  const int64_t perWord = p.bf16Pairs ? 2 : 1, words = s.k / perWord, rows = paddedRows(s);
  const View to = l.allocate(s.a, Shape{ceilDiv(words, lanes) * lanes, rows, perWord});
  const llvm::Align align(static_cast<uint64_t>(storage_bytes(s.a)));
  forEachTile(l, l.index(0), words, lanes, [&](Reg first, int64_t count) {
    const int64_t columns = count * perWord;
    Reg mask = count < lanes ? firstLanes(b, static_cast<int>(lanes * perWord), static_cast<int>(columns)) : nullptr;
    Reg column = b.CreateMul(first, l.index(perWord));
    Values vectors;
    for (int64_t i = 0; i < rows; ++i) {
      Reg from = elementAt(b, s.a, p.a, b.CreateAdd(b.CreateMul(l.index(i), p.lda), column));
      vectors.push_back(i < s.m ? loadCoefficients(b, s.a, p.bf16Pairs, from, lanes, mask)
                                : llvm::Constant::getNullValue(vectors.front()->getType()));
    }
    Reg at = elementAt(b, s.a, to.base, b.CreateMul(column, l.index(rows)));
    for (Reg v : rotatedRight(b, vectors, std::countr_zero(static_cast<unsigned>(lanes)))) {
      b.CreateAlignedStore(v, at, align);
      at = b.CreatePtrAdd(at, l.index(4 * lanes));
    }
  });
  return to;
}

}  // namespace smalti::cpu
