#include "cpu/product/Bf16Dot.h"

namespace smalti::cpu {
namespace {

/// A vector of 16-bit lanes as one of pairs.
Reg asPairs(Builder& b, Reg words, int lanes) {
  llvm::Type* pair = b.getInt32Ty();
  return b.CreateBitCast(words, lanes == 1 ? pair : llvm::FixedVectorType::get(pair, static_cast<unsigned>(lanes)));
}

/// Rounds to the nearest bf16; the result is still an f32. A NaN becomes the NaN of all ones, which is cheaper than
/// keeping its bits.
Reg roundedToBf16(Builder& b, Reg f32) {
  llvm::Type* ints = like(f32, b.getInt32Ty());
  Reg bits = b.CreateBitCast(f32, ints);
  Reg lowest = b.CreateAnd(b.CreateLShr(bits, 16), llvm::ConstantInt::get(ints, 1));
  Reg up = b.CreateAdd(bits, b.CreateAdd(lowest, llvm::ConstantInt::get(ints, 0x7fff)));
  Reg rounded = b.CreateAnd(up, llvm::ConstantInt::get(ints, 0xffff0000u));
  Reg isNan = b.CreateSExt(b.CreateFCmpUNO(f32, f32), ints);
  return b.CreateBitCast(b.CreateOr(rounded, isNan), f32->getType());
}

}  // namespace

Reg loadCoefficients(Builder& b, DType t, bool pairs, Reg from, int lanes, Reg mask) {
  if (!pairs) return loadElements(b, t, from, lanes, mask);
  return asPairs(b, loadElements(b, DType::i16, from, 2 * lanes, mask), lanes);
}

Reg loadOfB(Builder& b, const GemmShape& s, bool pairs, Reg from, int lanes, Reg mask) {
  Reg loaded = loadCoefficients(b, s.b, pairs, from, lanes, mask);
  return s.roundsB ? roundedToBf16(b, loaded) : loaded;
}

Values loadRows(NativeLowering& l, const GemmShape& s, llvm::ArrayRef<Reg> rows, int64_t columns) {
  Builder& b = l.b;
  const int lanes = l.processor.lanes(4), both = 2 * lanes;
  Values values;
  if (rows.size() == 1) {
    for (int64_t v = 0; v * lanes < columns; ++v)
      values.push_back(
          loadOfB(b, s, false, elementAt(b, s.b, rows[0], l.index(v * lanes)), lanes, lanesWithin(l, columns, v)));
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
