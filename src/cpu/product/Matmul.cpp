// Lowers tpu.matmul: one matrix product (product/gemm, SkinnyGemm.h) per batch element.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cpu/emit/RowBounds.h"
#include "cpu/emit/ops/OpTables.h"
#include "cpu/plan/product/MatrixForm.h"
#include "cpu/product/ConvertedCopy.h"
#include "cpu/product/Product.h"
#include "cpu/product/SkinnyGemm.h"
#include "cpu/product/gemm/Arguments.h"
#include "cpu/product/gemm/Gemm.h"
#include "ir/facts/DotDimensions.h"

namespace smalti::cpu {
namespace {

/// An operand that products can read.
struct Matrix {
  Reg base = nullptr, leading = nullptr;
  bool transposed = false;
  View view{};  ///< of the operand or its copy, which exists until its product has been emitted
};

/// A copy of one matrix of the batch, without reuse or prefetch hints.
View copiedMatrix(NativeLowering& l, const View& v, int64_t rows, int64_t columns) {
  View matrix;
  matrix.dtype = v.dtype;
  matrix.base = v.base;
  matrix.memory = v.memory;
  for (const int64_t d : {rows, columns}) {
    matrix.shape.push_back(d < 0 ? 1 : v.shape[static_cast<size_t>(d)]);
    matrix.strides.push_back(d < 0 ? l.index(1) : v.strides[static_cast<size_t>(d)]);
  }
  return l.denseCopy(matrix);
}
/// The matrix in dimensions `rows` and `columns` of the view, which is copied if the plan says so; nullopt: products
/// cannot read it.
std::optional<Matrix> matrixOf(NativeLowering& l, const View& v, int64_t rows, int64_t columns, bool copies) {
  const View view = copies ? copiedMatrix(l, v, rows, columns) : v;
  const auto form = matrixForm(EmittedArithmetic{l.b}, view, copies ? 0 : rows, copies ? 1 : columns);
  if (!form) return std::nullopt;
  return Matrix{view.base, form->leading, form->transposed, view};
}

class MatmulLowering {
 public:
  MatmulLowering(NativeLowering& l, mlir::Operation& op, DotDimensions dims, const ProductOpPlan& plan)
      : l_(l), op_(op), dims_(std::move(dims)), plan_(plan) {}

  NativeResult run() {
    const DType out = elementDType(op_.getResult(0).getType()), sum = accumulatedAs(out);
    const Shape lhsShape = shapeOf(op_.getOperand(0).getType()), rhsShape = shapeOf(op_.getOperand(1).getType());
    auto lhsSide = productSide(lhsShape, dims_.lhsBatch, dims_.lhsFree, dims_.lhsContracting);
    auto rhsSide = productSide(rhsShape, dims_.rhsBatch, dims_.rhsFree, dims_.rhsContracting);
    const bool several = !lhsSide || !rhsSide;  // free or contracting dimensions
    const Shape shape = shapeOf(op_.getResult(0).getType());
    if (num_elements(shape) == 0) {
      l_.setView(op_.getResult(0), l_.allocate(out, shape));
      return {};
    }
    View result;
    if (plan_.destination)
      if (auto ok = takeDestination(result, shape); !ok) return ok;
    if (!plan_.destination) {
      result = l_.allocate(sum, shape);
      if (plan_.accumulates) startFrom(l_, l_.view(op_.getOperand(2)), result);
    }
    if (auto blocks = l_.concatOperands.find(op_.getOperand(1)); blocks != l_.concatOperands.end()) {
      const View lhs = l_.view(op_.getOperand(0));  // which may be stored as f32 (StorageDType.h)
      if (plan_.joinsBlocks)
        productOfBlocks(*lhsSide, *rhsSide, lhs, blocks->second, result);
      else
        productsOfBlocks(*lhsSide, *rhsSide, lhs, blocks->second, result);
      l_.concatOperands.erase(blocks);
      if (!plan_.destination) l_.setView(op_.getResult(0), std::move(result));
      return std::move(status_);
    }
    View lhs = multiplied(l_, op_.getOperand(0), op_.getOperand(1), out),
         rhs = multiplied(l_, op_.getOperand(1), op_.getOperand(0), out);
    if (!lhsSide) lhsSide = merge(lhs, dims_.lhsBatch, dims_.lhsFree, dims_.lhsContracting);
    if (!rhsSide) rhsSide = merge(rhs, dims_.rhsBatch, dims_.rhsFree, dims_.rhsContracting);
    resultRow_ = dims_.lhsBatch.size() + (several ? 0 : freePosition(lhsShape, dims_.lhsFree));

    View matrices = result;
    if (several) {
      Shape merged(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(lhsSide->batch.size()));
      merged.insert(merged.end(), {sizeOf(lhs, lhsSide->free), sizeOf(rhs, rhsSide->free)});
      matrices = *reshape(l_.b, result, merged);
    }
    batches(0, *lhsSide, *rhsSide, lhs, rhs, matrices);
    if (plan_.destination || !status_) return std::move(status_);
    if (sum != out) {
      View rounded = l_.allocate(out, shape);
      convertElements(l_, result, rounded);
      result = rounded;
    }
    l_.setView(op_.getResult(0), std::move(result));
    return {};
  }

 private:
  static int64_t sizeOf(const View& v, int64_t d) { return d < 0 ? 1 : v.shape[static_cast<size_t>(d)]; }

  /// Makes `result` the memory of the store. The other operand of an addition is stored there first, unless it is
  /// already there or is a row that the product adds.
  NativeResult takeDestination(View& result, const Shape& shape) {
    const ProductStore& destination = *plan_.destination;
    tl::expected<View, Unsupported> box =
        plan_.storesAdded ? l_.located(destination.store) : storeBox(l_, *destination.store);
    if (!box) return tl::unexpected(box.error());
    auto target = reshape(l_.b, *box, shape);
    if (!target) return unsupported("a product whose store reshapes it");
    result = std::move(*target);
    return {};
  }

  /// Reshapes an operand with several free or contracting dimensions, as a copy if strides cannot express that.
  ProductSide merge(View& operand, const Shape& batch, const Shape& free, const Shape& contracting) {
    const MergedOperand to = mergedOperand(operand.shape, batch, free, contracting);
    const View from = ordered(operand, to.order);
    operand = *reshape(l_.b, isDense(from) ? from : l_.denseCopy(from), to.shape);
    return to.side;
  }

  void batches(size_t d, const ProductSide& lhsSide, const ProductSide& rhsSide, View lhs, View rhs, View result) {
    if (d == lhsSide.batch.size()) {
      product(lhsSide, rhsSide, lhs, rhs, result);
      return;
    }
    const auto a = static_cast<size_t>(lhsSide.batch[d]), b = static_cast<size_t>(rhsSide.batch[d]);
    l_.loop(l_.index(0), l_.index(lhs.shape[a]), l_.index(1), [&](Reg i) {
      const auto at = [&](const View& v, size_t dim) {
        View out = v;
        std::vector<Reg> starts(v.shape.size(), l_.index(0));
        starts[dim] = i;
        out.base = elementPointer(l_.b, v, starts);
        return out;
      };
      batches(d + 1, lhsSide, rhsSide, at(lhs, a), at(rhs, b), at(result, d));
    });
  }

  void product(const ProductSide& lhsSide, const ProductSide& rhsSide, const View& lhs, const View& rhs,
               const View& result) {
    const ProductPlan* some = plan_.neededRows ? next() : nullptr;
    const ProductPlan* whole = next();
    if (!whole || (plan_.neededRows && !some)) return;
    const auto left = matrixOf(l_, lhs, lhsSide.free, lhsSide.contracting, whole->copiesA);
    const auto right = matrixOf(l_, rhs, rhsSide.contracting, rhsSide.free, whole->copiesB);
    if (!left || !right) {
      status_ = unsupported(kOtherPlan);
      return;
    }
    const Matrix &a = *left, &b = *right;
    // The last dimensions of the result are the free ones of the left operand, then of the right one.
    Reg leading = lhsSide.free < 0 ? l_.index(whole->shape.n) : result.strides[resultRow_];
    const auto all = [&] { emitMatrices(*whole, a, b, result, leading); };
    if (!some) {
      all();
      return;
    }
    const auto rowsFrom = [&](Reg row) {
      const Matrix from{elementAt(l_.b, some->shape.a, a.base, l_.b.CreateMul(row, a.leading)), a.leading, a.transposed,
                        a.view};
      View to = result;
      to.base = elementAt(l_.b, some->shape.c, result.base, l_.b.CreateMul(row, leading));
      emitMatrices(*some, from, b, to, leading);
    };
    const int64_t rows = whole->shape.m, chunk = plan_.rowsOfChunk;
    const auto needed = rowBounds(l_, *plan_.neededRows, rows);
    if (!needed) {
      status_ = unsupported("row bounds that are not known before a product");
      return;
    }
    l_.ifElse(
        l_.b.CreateICmpSLE(l_.b.CreateSub(needed->end, needed->begin), l_.index(plan_.mostNeededRows)),
        [&] {
          Reg first = l_.b.CreateMul(l_.b.CreateUDiv(needed->begin, l_.index(chunk)), l_.index(chunk));
          l_.loop(first, needed->end, l_.index(chunk), rowsFrom);
        },
        all);
  }

  /// The plan of the next product; null, which is recorded as a failure: there is none.
  const ProductPlan* next() {
    if (next_ < plan_.products.size()) return &plan_.products[next_++];
    status_ = unsupported(kOtherPlan);
    return nullptr;
  }

  void emitMatrices(const ProductPlan& plan, const Matrix& a, const Matrix& b, const View& result, Reg leading) {
    if (a.transposed != plan.shape.transposedA || b.transposed != plan.shape.transposedB) {
      status_ = unsupported(kOtherPlan);
      return;
    }
    if (plan.isSkinny())
      emitSkinnyGemm(
          l_, plan,
          {plan.shape, a.base, a.leading, {{b.base, b.view.hints.nextStepOffset}}, b.leading, result.base, leading});
    else
      emitPacked(plan, a, b, result, leading);
  }

  void emitPacked(const ProductPlan& product, const Matrix& a, const Matrix& b, const View& result, Reg leading) {
    const GemmShape& shape = product.shape;
    const GemmPlan& plan = product.packed().gemm;
    const std::optional<SharedRows>& shared = product.packed().shared;
    const auto workspace =
        l_.arena.allocate(std::max(plan.packedBytes, shared ? shared->count * shared->bytesPerPart() : 0));
    Reg work =
        l_.b.CreateConstInBoundsGEP1_64(l_.b.getInt8Ty(), l_.arenaBase, static_cast<uint64_t>(workspace->offset));
    if (shape.cachesPackedB && !b.view.reuse.isInvariant) {
      status_ = unsupported(kOtherPlan);
      return;
    }
    GemmArguments arguments{a.base, a.leading, b.base, b.leading, result.base, leading, work};
    View row;  // owns a copy until the call
    if (shape.addsRow) {
      row = l_.view(plan_.addedRow);
      if (shape.n != 1 && constantOf(row.strides.back()) != 1) row = l_.denseCopy(row);
      arguments.row = row.base;
    }
    if (!shared) {
      emitWhole(plan, b, arguments);
      return;
    }
    emitShared(l_, shared->count, [&](Reg first, Reg last) {
      Reg all = l_.b.CreateAnd(l_.b.CreateICmpEQ(first, l_.index(0)), l_.b.CreateICmpEQ(last, l_.index(shared->count)));
      l_.ifElse(
          all, [&] { emitWhole(plan, b, arguments); },
          [&] { l_.loop(first, last, l_.index(1), [&](Reg part) { emitPart(*shared, shape, arguments, part); }); });
    });
  }

  /// One part of a product whose rows threads share.
  void emitPart(const SharedRows& shared, const GemmShape& shape, GemmArguments arguments, Reg part) {
    Reg row = l_.b.CreateMul(part, l_.index(shared.rows));
    arguments.a = elementAt(l_.b, shape.a, arguments.a, shape.transposedA ? row : l_.b.CreateMul(row, arguments.lda));
    arguments.c = elementAt(l_.b, shape.c, arguments.c, l_.b.CreateMul(row, arguments.ldc));
    arguments.workspace = l_.b.CreatePtrAdd(arguments.workspace, l_.b.CreateMul(part, l_.index(shared.bytesPerPart())));
    const auto call = [&](const GemmPlan& plan) { l_.b.CreateCall(emitGemm(l_.module, plan), arguments.values()); };
    if (shared.lastPart)
      l_.ifElse(
          l_.b.CreateICmpEQ(part, l_.index(shared.count - 1)), [&] { call(*shared.lastPart); },
          [&] { call(shared.part); });
    else
      call(shared.part);
  }

  void emitWhole(const GemmPlan& plan, const Matrix& b, GemmArguments arguments) {
    const GemmShape& shape = plan.shape();
    const ReuseInfo& reuse = b.view.reuse;
    llvm::Function* gemm = emitGemm(l_.module, plan);
    if (shape.cachesPackedB) {
      const NativeLowering::PackedB& kept = packedBPlace(b, shape, plan);
      Reg place =
          l_.b.CreateConstInBoundsGEP1_64(l_.b.getInt8Ty(), l_.arenaBase, static_cast<uint64_t>(kept.place->offset));
      Reg from = kept.from;
      if (reuse.block) {
        place = l_.b.CreatePtrAdd(place, l_.b.CreateMul(reuse.block, l_.index(plan.packedCacheBytes)));
        from = l_.b.CreateInBoundsGEP(l_.b.getPtrTy(), from, reuse.block);
      }
      arguments.packedB = place;
      arguments.isPacked = l_.b.CreateICmpEQ(l_.b.CreateLoad(l_.b.getPtrTy(), from), b.base);
      l_.b.CreateStore(l_.b.CreateSelect(reuse.isInvariant, b.base, llvm::ConstantPointerNull::get(l_.b.getPtrTy())),
                       from);
    }
    l_.b.CreateCall(gemm, arguments.values());
  }

  /// The product with a B of concatenated blocks (ConcatOperand.h), along the result's columns or the contraction.
  void productOfBlocks(const ProductSide& lhsSide, const ProductSide& rhsSide, const View& lhs,
                       const std::vector<View>& blocks, const View& result) {
    const ProductPlan* plan = next();
    if (!plan) return;
    const auto a = matrixOf(l_, lhs, lhsSide.free, lhsSide.contracting, plan->copiesA);
    std::vector<std::optional<Matrix>> all;
    for (const View& block : blocks)
      all.push_back(matrixOf(l_, block, rhsSide.contracting, rhsSide.free, plan->copiesB));
    if (!a || llvm::is_contained(all, std::nullopt)) {
      status_ = unsupported(kOtherPlan);
      return;
    }
    RowProduct p{plan->shape, a->base, a->leading, {}, all.front()->leading, result.base, result.strides[0]};
    for (const auto& block : all) p.b.push_back({block->base, block->view.hints.nextStepOffset});
    emitSkinnyGemm(l_, *plan, p);
  }

  /// Multiplies by one block after the other.
  void productsOfBlocks(const ProductSide& lhsSide, const ProductSide& rhsSide, const View& lhs,
                        const std::vector<View>& blocks, const View& result) {
    const bool summed = rhsSide.contracting == 0;
    const auto count = static_cast<int64_t>(blocks.size());
    for (int64_t i = 0; i < count; ++i) {
      const auto part = [&](const View& v, size_t d) {
        std::vector<Reg> starts(v.shape.size(), l_.index(0));
        Shape sizes = v.shape;
        sizes[d] /= count;
        starts[d] = l_.index(i * sizes[d]);
        return slice(l_.b, v, starts, sizes);
      };
      product(lhsSide, rhsSide, summed ? part(lhs, static_cast<size_t>(lhsSide.contracting)) : lhs,
              blocks[static_cast<size_t>(i)], summed ? result : part(result, 1));
    }
  }

  NativeLowering::PackedB& packedBPlace(const Matrix& b, const GemmShape& shape, const GemmPlan& plan) {
    const View& rhs = b.view;
    const std::string key =
        fmt::format("{} {} {} {}x{} {}x{} {} {} {} {}", rhs.memory, constantOf(b.leading).value_or(-1),
                    shape.transposedB, shape.k, shape.n, plan.blockDepth, plan.tileColumns, plan.mayUseUnpackedB,
                    plan.usesTiles(), name(shape.a), name(shape.b));
    NativeLowering::PackedB& kept = l_.packedB[key];
    if (kept.place) return kept;
    kept.place = l_.arena.allocateUnused(plan.packedCacheBytes * rhs.reuse.blocks);
    llvm::BasicBlock& entry = l_.function->getEntryBlock();
    Builder start(&entry, entry.begin());
    auto* slots = llvm::ArrayType::get(start.getPtrTy(), static_cast<uint64_t>(rhs.reuse.blocks));
    kept.from = start.CreateAlloca(slots);
    start.CreateStore(llvm::Constant::getNullValue(slots), kept.from);
    return kept;
  }

  NativeLowering& l_;
  mlir::Operation& op_;
  DotDimensions dims_;
  const ProductOpPlan& plan_;
  size_t next_ = 0;       ///< in plan_.products
  size_t resultRow_ = 0;  ///< dimension of the result that holds rows
  NativeResult status_;
};

NativeResult lowerMatmul(NativeLowering& l, mlir::Operation& op) {
  return MatmulLowering(l, op, dotDimensionsOf(op), l.productPlan(op)).run();
}

constexpr std::array<NativeOpRow, 1> kMatmulOps{{{"tpu.matmul", lowerMatmul}}};

}  // namespace

std::span<const NativeOpRow> matmulOps() { return kMatmulOps; }

}  // namespace smalti::cpu
