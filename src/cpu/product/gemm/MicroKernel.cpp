#include "cpu/product/gemm/MicroKernel.h"

#include <fmt/format.h>

#include "cpu/product/gemm/Arguments.h"
#include "cpu/product/gemm/Ir.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

namespace smalti::cpu {
namespace {

using llvm::Value;

Value* maddWords(Ir& ir, Value* a, Value* b, int lanes) {
  const auto id = lanes == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                  : lanes == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                               : llvm::Intrinsic::x86_sse2_pmadd_wd;
  return callOnBits(ir.b, id, {a, b});
}

/// Prefetch distance of a micro-kernel that packs, in words of k. Earlier tiles have prefetched the same rows of B, but
/// rows a power of two apart share few sets of L2 and evict each other. Fitted
/// with the GEMM rows of `./do bench cpu` on the processor that docs/performance.md names.
constexpr int kWordsAhead = 32;

/// The part of each row of the next tile of A that is prefetched: enough for the hardware prefetcher to fetch the rest.
/// Chosen, not measured.
constexpr int kFirstBytes = 8 * kLineBytes;

/// The body of one kernel, in parts.
class KernelBody {
 public:
  KernelBody(Ir& ir, const KernelSpec& spec) : ir_(ir), s_(spec) {
    const bool isFloat = s_.instruction == MultiplyAdd::floatFma || s_.instruction == MultiplyAdd::bf16Dot;
    accumulator_ = isFloat ? ir_.b.getFloatTy() : static_cast<llvm::Type*>(ir_.b.getInt32Ty());
    wordType_ =
        s_.instruction == MultiplyAdd::floatFma ? ir_.b.getFloatTy() : static_cast<llvm::Type*>(ir_.b.getInt32Ty());
  }

  void emit() {
    Value* tileStrideA = s_.panelRows     ? ir_.b.CreateMul(strideA_, in_.words)
                         : s_.transposedA ? ir_.i64(4 * s_.rows)
                                          : ir_.b.CreateMul(strideA_, ir_.i64(s_.rows));
    Value* tileStrideC = ir_.b.CreateMul(strideC_, ir_.i64(s_.rows));
    ir_.loop(ir_.i64(0), in_.tiles, 1, {in_.a, in_.c, in_.starts}, [&](Value* index, llvm::ArrayRef<Value*> p) {
      tile(index, p[0], p[1], p[2], tileStrideA);
      return Values{ir_.at(p[0], tileStrideA), ir_.at(p[1], tileStrideC), ir_.at(p[2], 4 * s_.rows)};
    });
    ir_.b.CreateRetVoid();
  }

 private:
  void tile(Value* index, Value* a, Value* c, Value* starts, Value* tileStrideA) {
    Values rowsA, rowsC{c};
    for (int i = 0; i < s_.rows; ++i) {
      rowsA.push_back(s_.transposedA ? ir_.at(a, 4 * i) : i == 0 ? a : ir_.at(rowsA.back(), strideA_));
      if (i > 0) rowsC.push_back(ir_.at(rowsC.back(), strideC_));
    }
    if (s_.prefetchesC) {
      for (Value* row : rowsC) prefetchRow(row, 4 * s_.vectors * s_.lanes);
      if (!s_.transposedA)
        for (Value* row : rowsA) prefetchRow(ir_.at(row, tileStrideA), kFirstBytes);
    }
    finish(accumulate(index, rowsA, starts), rowsC);
  }

  void prefetchRow(Value* row, int bytes) { prefetchLines(ir_.b, row, bytes, CacheLevel::l2); }

  Values accumulate(Value* index, const Values& rowsA, Value* starts) {
    Values state;  // offset into A, pointer into B, pointer to prefetch or to pack to, accumulators
    state.push_back(ir_.i64(0));
    state.push_back(in_.b);
    state.push_back(in_.next);
    if (!s_.packs) choosePrefetch(index, state.back());
    auto* vector = ir_.vectorOf(accumulator_, s_.lanes);
    for (int i = 0; i < s_.rows; ++i) {
      Value* start = llvm::Constant::getNullValue(vector);
      if (s_.starts)
        start = ir_.b.CreateVectorSplat(s_.lanes,
                                        ir_.b.CreateAlignedLoad(accumulator_, ir_.at(starts, 4 * i), llvm::Align(4)));
      state.append(s_.vectors, start);
    }
    if (s_.unroll > 1)
      state = ir_.loop(
          ir_.i64(0), ir_.b.CreateSub(in_.words, ir_.i64(s_.unroll - 1)), s_.unroll, state,
          [&](Value*, llvm::ArrayRef<Value*> now) { return step(now, rowsA, s_.unroll, true); }, !s_.few);
    if (s_.unroll == 1 || s_.rest) {
      Value* done = s_.unroll == 1 ? ir_.i64(0) : ir_.b.CreateAnd(in_.words, ir_.i64(-s_.unroll));
      state = ir_.loop(
          done, in_.words, 1, state, [&](Value*, llvm::ArrayRef<Value*> now) { return step(now, rowsA, 1, false); },
          s_.unroll == 1);
    }
    return Values(state.begin() + 3, state.end());
  }

  /// Tiles share the prefetching, each some lines of some rows: the first tiles fetch the next panel, later ones what
  /// is needed after it. More lines would evict useful ones from L2.
  void choosePrefetch(Value* index, Value*& start) {
    auto& b = ir_.b;
    const int turns = s_.vectors / s_.prefetches, tiles = turns * s_.unroll;
    Value* first = b.CreateICmpSLT(index, ir_.i64(tiles));
    Value* second = b.CreateICmpSLT(index, b.CreateAdd(ir_.i64(tiles), in_.tilesAfter));
    // The first rows are fetched last, since of rows that share few cache sets only the last ones stay cached.
    Value* last = b.CreateSub(b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.i64(tiles), in_.tiles), ir_.i64(1));
    Value* turn = b.CreateSelect(first, b.CreateSub(last, index), b.CreateSub(index, ir_.i64(tiles)));
    Value* line = b.CreateMul(b.CreateURem(turn, ir_.i64(turns)), ir_.i64(64 * s_.prefetches));
    Value* bodies = b.CreateUDiv(in_.words, ir_.i64(s_.unroll));
    Value* row = b.CreateMul(b.CreateUDiv(turn, ir_.i64(turns)), bodies);
    Value* rows = b.CreateSelect(first, in_.next, in_.after);
    strideNext_ = b.CreateSelect(first, in_.strideNext, in_.strideAfter);
    start = ir_.at(ir_.at(rows, line), b.CreateMul(row, strideNext_));
    strideNext_ = b.CreateSelect(second, strideNext_, ir_.i64(0));
    start = b.CreateSelect(second, start, in_.b);  // in L1 anyway
  }

  Values step(llvm::ArrayRef<Value*> now, const Values& rowsA, int count, bool prefetches) {
    Values next(now.begin(), now.end());
    for (int u = 0; u < count; ++u) {
      const Values b = wordsOfB(next);
      for (int i = 0; i < s_.rows; ++i) {
        // For [rows][k], the offset common to all rows and a constant.
        Value* address =
            s_.transposedA ? ir_.at(ir_.at(rowsA[0], next[0]), 4 * i) : ir_.at(ir_.at(rowsA[i], now[0]), 4 * u);
        Value* a = ir_.b.CreateVectorSplat(s_.lanes, ir_.b.CreateAlignedLoad(wordType_, address, llvm::Align(1)));
        for (int v = 0; v < s_.vectors; ++v) {
          Value*& sum = next[3 + i * s_.vectors + v];
          sum = multiplyAdd(sum, a, b[v]);
        }
      }
      next[1] = ir_.at(next[1], s_.packs ? ir_.b.CreateMul(in_.strideB, ir_.i64(s_.packs->group)) : in_.strideB);
      if (s_.transposedA) next[0] = ir_.b.CreateAdd(next[0], strideA_);
    }
    if (!s_.transposedA) next[0] = ir_.b.CreateAdd(now[0], ir_.i64(4 * count), "", true, true);
    if (prefetches) {
      prefetchRow(now[2], kLineBytes * s_.prefetches);
      next[2] = ir_.at(now[2], strideNext_);
    }
    return next;
  }

  /// The words of B in all vectors of columns; a kernel that packs also stores them.
  Values wordsOfB(Values& state) {
    Values b;
    if (!s_.packs) {
      for (int v = 0; v < s_.vectors; ++v) b.push_back(loadB(state[1], v));
      return b;
    }
    b = wordsOfRows(ir_, *s_.packs, state[1], in_.strideB, s_.vectors, s_.lastLanes, s_.packs->group);
    for (int v = 0; v < s_.vectors; ++v) ir_.store(b[v], s_.lanes, ir_.at(state[2], 4 * s_.lanes * v));
    state[2] = ir_.at(state[2], in_.strideNext);
    const PackSpec& p = *s_.packs;
    Value* ahead = ir_.at(state[1], ir_.b.CreateMul(in_.strideB, ir_.i64(kWordsAhead * p.group)));
    for (int g = 0; g < p.group; ++g) {
      prefetchRow(ahead, s_.vectors * s_.lanes * storage_bytes(p.from));
      ahead = ir_.at(ahead, in_.strideB);
    }
    return b;
  }

  Value* loadB(Value* row, int v) {
    const int valid = v + 1 == s_.vectors ? s_.lastLanes : s_.lanes;
    if (s_.memoryB == DType::f32 || s_.memoryB == DType::i32)
      return ir_.load(wordType_, s_.lanes, valid, ir_.at(row, 4 * s_.lanes * v));
    Value* raw =
        ir_.load(ir_.memoryType(s_.memoryB), s_.lanes, valid, ir_.at(row, storage_bytes(s_.memoryB) * s_.lanes * v));
    return ir_.convert(raw, s_.memoryB,
                       s_.instruction == MultiplyAdd::floatFma ? PackedElement::f32 : PackedElement::i32,
                       s_.nativeHalf);
  }

  Value* multiplyAdd(Value* sum, Value* a, Value* b) {
    switch (s_.instruction) {
      case MultiplyAdd::floatFma:
        return ir_.b.CreateIntrinsic(llvm::Intrinsic::fmuladd, {sum->getType()}, {a, b, sum});
      case MultiplyAdd::intMultiply:
        return ir_.b.CreateAdd(sum, ir_.b.CreateMul(a, b));
      case MultiplyAdd::i16Madd:
        return ir_.b.CreateAdd(sum, maddWords(ir_, a, b, s_.lanes));
      case MultiplyAdd::bf16Dot:
        return addPairs(ir_.b, sum, a, b);
      case MultiplyAdd::i8Dot:
        return s_.unsignedA ? dotBytes(ir_, sum, a, b) : dotBytes(ir_, sum, b, a);
    }
    return sum;
  }

  void finish(const Values& sums, const Values& rowsC) {
    const auto each = [&](bool add) {
      Values added;  // to every row
      if (!add && s_.addsRow)
        for (int v = 0; v < s_.vectors; ++v) added.push_back(loadC(in_.row, v));
      for (int i = 0; i < s_.rows; ++i)
        for (int v = 0; v < s_.vectors; ++v) {
          const int valid = v + 1 == s_.vectors ? s_.lastLanes : s_.lanes;
          Value* address = ir_.at(rowsC[i], 4 * s_.lanes * v);
          Value* sum = sums[i * s_.vectors + v];
          if (Value* old = add ? loadC(rowsC[i], v) : s_.addsRow ? added[v] : nullptr)
            sum = accumulator_->isFloatTy() ? ir_.b.CreateFAdd(old, sum) : ir_.b.CreateAdd(old, sum);
          ir_.store(sum, valid, address);
        }
    };
    if (s_.store != StoreMode::either) return each(s_.store == StoreMode::add);
    auto* yes = llvm::BasicBlock::Create(ir_.b.getContext(), "add", ir_.function);
    auto* no = llvm::BasicBlock::Create(ir_.b.getContext(), "set", ir_.function);
    auto* after = llvm::BasicBlock::Create(ir_.b.getContext(), "after", ir_.function);
    ir_.b.CreateCondBr(in_.add, yes, no);
    ir_.b.SetInsertPoint(yes);
    each(true);
    ir_.b.CreateBr(after);
    ir_.b.SetInsertPoint(no);
    each(false);
    ir_.b.CreateBr(after);
    ir_.b.SetInsertPoint(after);
  }

  Value* loadC(Value* row, int v) {
    return ir_.load(accumulator_, s_.lanes, v + 1 == s_.vectors ? s_.lastLanes : s_.lanes,
                    ir_.at(row, 4 * s_.lanes * v));
  }

  Ir& ir_;
  const KernelSpec& s_;
  const MicroKernelArguments in_ = argumentsOf<MicroKernelArguments>(*ir_.function);
  Value *strideA_ = s_.panelRows ? ir_.i64(4 * s_.panelRows) : in_.strideA, *strideC_ = in_.strideC;
  Value* strideNext_ = nullptr;  ///< stride of the rows that the current tile prefetches
  llvm::Type *accumulator_, *wordType_;
};

}  // namespace

Value* dotBytes(Ir& ir, Value* sum, Value* unsignedWords, Value* signedWords) {
  const int lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(sum->getType())->getNumElements());
  const auto id = lanes == 16 ? llvm::Intrinsic::x86_avx512_vpdpbusd_512 : llvm::Intrinsic::x86_avx512_vpdpbusd_256;
  return callOnBits(ir.b, id, {sum, unsignedWords, signedWords});
}

llvm::Function* microKernel(llvm::Module& module, const KernelSpec& s) {
  std::string symbol = fmt::format(
      "smalti_kernel_{}_{}_{}x{}x{}_{}{}{}{}{}{}{}{}{}_{}_{}_{}", static_cast<int>(s.instruction), name(s.memoryB),
      s.rows, s.vectors, s.lanes, s.unsignedA ? "u" : "s", s.transposedA ? "t" : "n",
      s.panelRows ? std::to_string(s.panelRows) : "", s.rest ? "r" : "w", s.few ? "f" : "m", s.starts ? "b" : "z",
      s.addsRow ? "a" : "", s.prefetchesC ? "d" : "", static_cast<int>(s.store), s.unroll, s.lastLanes, s.prefetches);
  if (s.packs) symbol += fmt::format("_packs_{}_{}", name(s.packs->from), static_cast<int>(s.packs->to));
  if (auto* made = module.getFunction(symbol)) return made;
  Ir ir(module, symbol, parameterTypes(module.getContext(), MicroKernelArguments::kTypes));
  KernelBody(ir, s).emit();
  return ir.function;
}

}  // namespace smalti::cpu
