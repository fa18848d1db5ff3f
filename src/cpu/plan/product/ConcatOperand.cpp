#include "cpu/plan/product/ConcatOperand.h"

#include "cpu/analysis/ReadsBetween.h"
#include "cpu/ops/NativeDTypes.h"
#include "cpu/plan/product/ProductPlan.h"
#include "ir/TpuOpsMxu.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/DotDimensions.h"

namespace smalti::cpu {
namespace {

/// Hardware prefetchers follow about as many streams. Chosen, not measured.
constexpr unsigned kMaxBlocks = 16;

bool isFloatOfMemory(mlir::Value v) {
  const DType t = elementDType(v.getType());
  return t == DType::f32 || isNarrowFloat(t);
}

bool isMatrixProduct(const DotDimensions& d) {
  return d.lhsBatch.empty() && d.lhsFree.size() == 1 && d.lhsContracting.size() == 1 && d.rhsFree.size() == 1 &&
         d.rhsContracting.size() == 1;
}

}  // namespace

bool isReadInBlocks(mlir::Operation& concatenation) {
  const mlir::Value joined = concatenation.getResult(0);
  if (!joined.hasOneUse() || concatenation.getNumOperands() < 2 || concatenation.getNumOperands() > kMaxBlocks)
    return false;
  mlir::Operation& product = **joined.user_begin();
  if (!llvm::isa<tpu::MatmulOp>(product) || product.getOperand(1) != joined ||
      product.getBlock() != concatenation.getBlock())
    return false;
  const auto dims = dotDimensionsOf(product);
  const bool below = shapeOf(joined.getType()).size() == 2 && integerAttribute(concatenation, "dimension", -1) == 0;
  if (!below || !isMatrixProduct(dims)) return false;
  // A vector is a matrix in either order, so the blocks' common order would be ambiguous.
  const mlir::Type block = concatenation.getOperand(0).getType();
  if (llvm::any_of(shapeOf(block), [](int64_t size) { return size < 2; })) return false;
  if (llvm::any_of(concatenation.getOperandTypes(), [&](mlir::Type t) { return t != block; })) return false;
  const Shape lhs = shapeOf(product.getOperand(0).getType());
  return lhs.size() == 2 && lhs[static_cast<size_t>(dims.lhsFree[0])] <= kSkinnyRows && isFloatOfMemory(joined) &&
         isFloatOfMemory(product.getOperand(0)) && elementDType(product.getOperand(2).getType()) == DType::f32 &&
         elementDType(product.getResult(0).getType()) == DType::f32 && onlyReadsBetween(concatenation, product);
}

}  // namespace smalti::cpu
