#include "cpu/product/Bf16Dot.h"

namespace smalti::cpu {
namespace {

/// 16-bit lanes, in pairs.
Reg asPairs(Builder& b, Reg words, int lanes) {
  llvm::Type* pair = b.getInt32Ty();
  return b.CreateBitCast(words, lanes == 1 ? pair : llvm::FixedVectorType::get(pair, static_cast<unsigned>(lanes)));
}

}  // namespace

bool usesBf16Dot(const RowProduct& p, const Processor& processor) {
  return usesBf16Pairs(p.shape, static_cast<int64_t>(p.b.size()), processor);
}

Reg loadCoefficients(Builder& b, DType t, bool pairs, Reg from, int lanes, Reg mask) {
  if (!pairs) return loadElements(b, t, from, lanes, mask);
  return asPairs(b, loadElements(b, DType::i16, from, 2 * lanes, mask), lanes);
}

Values loadRows(NativeLowering& l, DType t, llvm::ArrayRef<Reg> rows, int64_t columns) {
  Builder& b = l.b;
  const int lanes = l.processor.lanes(4), both = 2 * lanes;
  Values values;
  if (rows.size() == 1) {
    for (int64_t v = 0; v * lanes < columns; ++v)
      values.push_back(
          loadElements(b, t, elementAt(b, t, rows[0], l.index(v * lanes)), lanes, lanesWithin(l, columns, v)));
    return values;
  }
  Reg mask = columns < both ? firstLanes(b, both, static_cast<int>(columns)) : nullptr;
  Reg even = loadElements(b, DType::i16, rows[0], both, mask), odd = loadElements(b, DType::i16, rows[1], both, mask);
  for (int column = 0; column < both; column += lanes) {
    llvm::SmallVector<int, 32> order;
    for (int i = 0; i < lanes; ++i) order.append({column + i, both + column + i});
    values.push_back(asPairs(b, b.CreateShuffleVector(even, odd, order), lanes));
  }
  return values;
}

Reg addProducts(Builder& b, Reg a, Reg c, Reg sum) {
  if (a->getType() != sum->getType()) return addPairs(b, sum, a, c);
  return b.CreateIntrinsic(sum->getType(), llvm::Intrinsic::fma, {a, c, sum});
}

}  // namespace smalti::cpu
