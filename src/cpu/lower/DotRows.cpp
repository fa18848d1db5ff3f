#include "cpu/lower/DotRows.h"

#include "cpu/lower/Reduction.h"

namespace smalti::cpu {

bool isDotOfRows(const GemmShape& s) {
  constexpr int64_t kFewRows = 2;
  return s.m <= kFewRows && s.transposedB && !s.transposedA && s.c == DType::f32 && s.k > 0;
}

void emitDotRows(Lowering& l, const DotRows& d) {
  Builder& b = l.b;
  const GemmShape& s = d.shape;
  const auto at = [&](Reg base, DType t, Reg row, Reg stride, Reg column) {
    return b.CreateGEP(storageType(b.getContext(), t), base, b.CreateAdd(b.CreateMul(row, stride), column));
  };
  int lanes = 4 * l.processor.lanes(4);
  while (lanes > 1 && lanes / 2 >= s.k) lanes /= 2;
  const int64_t whole = s.k / lanes * lanes;
  llvm::Type* type = registerType(b.getContext(), DType::f32, lanes);
  Reg noNumber = llvm::Constant::getNullValue(type);

  l.loop(l.index(0), l.index(s.n), l.index(1), [&](Reg j) {
    l.loop(l.index(0), l.index(s.m), l.index(1), [&](Reg i) {
      const auto products = [&](Reg k, Reg sum, Reg mask) {
        Reg x = loadElements(b, s.a, at(d.a, s.a, i, d.aRow, k), lanes, mask);
        Reg y = loadElements(b, s.b, at(d.b, s.b, j, d.bRow, k), lanes, mask);
        return b.CreateIntrinsic(type, llvm::Intrinsic::fma, {x, y, sum});
      };
      Reg sum = noNumber;
      if (whole > lanes) {
        auto* before = b.GetInsertBlock();
        auto* body = llvm::BasicBlock::Create(b.getContext(), "dot", l.function);
        auto* after = llvm::BasicBlock::Create(b.getContext(), "dot.end", l.function);
        b.CreateBr(body);
        b.SetInsertPoint(body);
        auto* k = b.CreatePHI(b.getInt64Ty(), 2);
        auto* carried = b.CreatePHI(type, 2);
        k->addIncoming(l.index(0), before);
        carried->addIncoming(noNumber, before);
        sum = products(k, carried, nullptr);
        Reg next = b.CreateAdd(k, l.index(lanes));
        k->addIncoming(next, body);
        carried->addIncoming(sum, body);
        b.CreateCondBr(b.CreateICmpSLT(next, l.index(whole)), body, after);
        b.SetInsertPoint(after);
      } else if (whole == lanes) {
        sum = products(l.index(0), sum, nullptr);
      }
      if (whole < s.k) {
        llvm::SmallVector<llvm::Constant*, 64> on;
        for (int lane = 0; lane < lanes; ++lane) on.push_back(b.getInt1(lane < s.k - whole));
        sum = products(l.index(whole), sum, lanes == 1 ? nullptr : llvm::ConstantVector::get(on));
      }
      const Accumulator all{sum};
      Reg total = finishAccumulators(b, eval::ReduceKind::add, DType::f32, std::span(&all, 1));
      Reg target = at(d.c, DType::f32, i, d.cRow, j);
      if (s.accumulate) total = b.CreateFAdd(loadElements(b, DType::f32, target, 1), total);
      storeElements(b, DType::f32, total, target, 1);
    });
  });
}

}  // namespace smalti::cpu
