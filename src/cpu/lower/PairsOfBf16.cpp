#include "cpu/lower/PairsOfBf16.h"

#include "cpu/gemm/Ir.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace smalti::cpu {
namespace {

llvm::FixedVectorType* vectorOf(llvm::Type* element, int lanes) {
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

Reg load(Builder& b, llvm::Type* type, Reg from, Reg mask) {
  const llvm::Align align(static_cast<uint64_t>(storage_bytes(DType::bf16)));
  if (!mask) return b.CreateAlignedLoad(type, from, align);
  return b.CreateMaskedLoad(type, from, align, mask, llvm::Constant::getNullValue(type));
}

}  // namespace

bool multipliesPairs(const RowProduct& p, const Processor& processor) {
  const int64_t k = p.shape.transposedB ? p.shape.k : p.rowsOfBlock();
  return !multipliesAsF32(p.shape.a, p.shape.b, processor) && k % 2 == 0;
}

Reg loadFactors(Builder& b, DType t, bool pairs, Reg from, int lanes, Reg mask) {
  if (!pairs) return loadElements(b, t, from, lanes, mask);
  llvm::Type* pair = b.getInt32Ty();
  return load(b, lanes == 1 ? pair : vectorOf(pair, lanes), from, mask);
}

std::array<Reg, 2> loadPairsOfRows(Builder& b, Reg even, Reg odd, int lanes, int64_t count) {
  const int columns = 2 * lanes;
  Reg mask = count >= columns ? nullptr : firstLanes(b, columns, static_cast<int>(count));
  auto* row = vectorOf(b.getInt16Ty(), columns);
  Reg first = load(b, row, even, mask), second = load(b, row, odd, mask);
  const auto pairsFrom = [&](int column) {
    llvm::SmallVector<int, 32> order;
    for (int i = 0; i < lanes; ++i) {
      order.push_back(column + i);
      order.push_back(columns + column + i);
    }
    return b.CreateBitCast(b.CreateShuffleVector(first, second, order), vectorOf(b.getInt32Ty(), lanes));
  };
  return {pairsFrom(0), pairsFrom(lanes)};
}

Reg addProducts(Builder& b, Reg a, Reg c, Reg sum) {
  if (a->getType() == sum->getType()) return b.CreateIntrinsic(sum->getType(), llvm::Intrinsic::fma, {a, c, sum});
  auto* pairs = vectorOf(b.getBFloatTy(), 32);
  return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                           {sum, b.CreateBitCast(a, pairs), b.CreateBitCast(c, pairs)});
}

}  // namespace smalti::cpu
