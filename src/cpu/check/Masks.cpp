#include "cpu/check/Masks.h"

#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/DotDimensions.h"
#include "ir/facts/OpFamilies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

namespace smalti::cpu {
namespace {

bool isPlainProduct(mlir::Operation& op) {
  const auto dims = dotDimensionsOf(op);
  return dims.lhsBatch.empty() && dims.lhsContracting.size() == 1 && dims.lhsFree.size() == 1 &&
         dims.rhsFree.size() == 1;
}

/// vector<…xi1> and-ed over `dims`.
mlir::Value reduceMask(mlir::OpBuilder& b, mlir::Location at, mlir::Value mask, llvm::ArrayRef<bool> reduced) {
  auto type = mlir::cast<mlir::VectorType>(mask.getType());
  llvm::SmallVector<int64_t> rest;
  for (size_t d = 0; d < reduced.size(); ++d)
    if (!reduced[d]) rest.push_back(type.getDimSize(static_cast<unsigned>(d)));
  auto wide = mlir::VectorType::get(type.getShape(), b.getI32Type());
  auto out = mlir::VectorType::get(rest, b.getI32Type());
  const mlir::Value bits = mlir::arith::ExtUIOp::create(b, at, wide, mask);
  const auto splat = [&](int32_t v) {
    return mlir::arith::ConstantOp::create(b, at, mlir::DenseElementsAttr::get(out, v)).getResult();
  };
  const mlir::Value all =
      mlir::vector::MultiDimReductionOp::create(b, at, bits, splat(1), reduced, mlir::vector::CombiningKind::MINUI);
  return mlir::arith::CmpIOp::create(b, at, mlir::arith::CmpIPredicate::ne, all, splat(0));
}

mlir::Value broadcast(mlir::OpBuilder& b, mlir::Location at, mlir::Value mask, mlir::Type type) {
  if (mask.getType() == type) return mask;
  return mlir::vector::BroadcastOp::create(b, at, type, mask);
}

mlir::Value selectMask(mlir::OpBuilder& b, mlir::Operation& op, const MaskMap& masks) {
  const mlir::Location at = op.getLoc();
  const mlir::Type type = maskType(op.getResult(0).getType());
  mlir::Value condition = masks.lookup(op.getOperand(0)), x = masks.lookup(op.getOperand(1)),
              y = masks.lookup(op.getOperand(2));
  mlir::Value picked;
  if (x || y) {
    if (!x) x = emitConstant(b, at, type, true);
    if (!y) y = emitConstant(b, at, type, true);
    picked = mlir::arith::SelectOp::create(b, at, op.getOperand(0), x, y);
  }
  return logicalAnd(b, at, picked, condition ? broadcast(b, at, condition, type) : mlir::Value());
}

bool isLogical(mlir::Operation& op) {
  return mlir::isa<mlir::arith::AndIOp, mlir::arith::OrIOp>(op) &&
         mlir::getElementTypeOrSelf(op.getResult(0).getType()).isInteger(1);
}

/// `and` and `or` of bools: a defined operand that decides alone suffices.
mlir::Value logicalMask(mlir::OpBuilder& b, mlir::Operation& op, const MaskMap& masks) {
  const mlir::Location at = op.getLoc();
  mlir::Value mask = logicalAnd(b, at, masks.lookup(op.getOperand(0)), masks.lookup(op.getOperand(1)));
  if (!mask) return mask;
  for (const mlir::Value v : op.getOperands()) {
    mlir::Value decides = v;
    if (mlir::isa<mlir::arith::AndIOp>(op))
      decides = mlir::arith::XOrIOp::create(b, at, v, emitConstant(b, at, v.getType(), true));
    mask = mlir::arith::OrIOp::create(b, at, mask, logicalAnd(b, at, decides, masks.lookup(v)));
  }
  return mask;
}

/// The op on masks instead of values.
mlir::Value moveMask(mlir::OpBuilder& b, mlir::Operation& op, const MaskMap& masks) {
  mlir::Operation* moved = b.clone(op);
  for (unsigned i = 0; i < movedOperands(op).size(); ++i) {
    const mlir::Value value = op.getOperand(i);
    mlir::Value mask = masks.lookup(value);
    if (!mask) {
      mlir::OpBuilder before(moved);
      mask = emitConstant(before, op.getLoc(), maskType(value.getType()), true);
    }
    moved->setOperand(i, mask);
  }
  moved->getResult(0).setType(maskType(op.getResult(0).getType()));
  return moved->getResult(0);
}

mlir::Value reductionMask(mlir::OpBuilder& b, mlir::Operation& op, const MaskMap& masks) {
  const mlir::Value in = masks.lookup(op.getOperand(0)), start = masks.lookup(op.getOperand(1));
  if (!in) return start;
  const auto dims = integersAttribute(op, "reduction_dims");
  llvm::SmallVector<bool> reduced(shapeOf(op.getOperand(0).getType()).size(), false);
  for (const int64_t d : dims) reduced[static_cast<size_t>(d)] = true;
  return logicalAnd(b, op.getLoc(), reduceMask(b, op.getLoc(), in, reduced), start);
}

/// One side of a product: rows (or columns) all of whose elements are defined, spread over the result.
mlir::Value sideMask(mlir::OpBuilder& b, mlir::Location at, mlir::Value mask, int64_t contracting, bool rows,
                     mlir::VectorType result) {
  if (!mask) return {};
  llvm::SmallVector<bool> reduced(2, false);
  reduced[static_cast<size_t>(contracting)] = true;
  const mlir::Value line = reduceMask(b, at, mask, reduced);
  const int64_t n = mlir::cast<mlir::VectorType>(line.getType()).getDimSize(0);
  auto shaped = mlir::VectorType::get(rows ? Shape{n, 1} : Shape{1, n}, b.getI1Type());
  return broadcast(b, at, mlir::vector::ShapeCastOp::create(b, at, shaped, line), result);
}

mlir::Value productMask(mlir::OpBuilder& b, mlir::Operation& op, const MaskMap& masks) {
  const auto dims = dotDimensionsOf(op);
  auto type = mlir::cast<mlir::VectorType>(maskType(op.getResult(0).getType()));
  const mlir::Location at = op.getLoc();
  const mlir::Value l = sideMask(b, at, masks.lookup(op.getOperand(0)), dims.lhsContracting[0], true, type);
  const mlir::Value r = sideMask(b, at, masks.lookup(op.getOperand(1)), dims.rhsContracting[0], false, type);
  return logicalAnd(b, at, logicalAnd(b, at, l, r), masks.lookup(op.getOperand(2)));
}

}  // namespace

mlir::Value logicalAnd(mlir::OpBuilder& b, mlir::Location at, mlir::Value x, mlir::Value y) {
  if (!x || !y) return x ? x : y;
  return mlir::arith::AndIOp::create(b, at, x, y);
}

MaskRule maskRuleOf(mlir::Operation& op) {
  if (isLoad(op)) return MaskRule::load;
  if (isStore(op)) return MaskRule::store;
  if (isView(op)) return MaskRule::ref;
  if (mlir::isa<mlir::memref::AllocaOp>(op)) return MaskRule::allocate;
  if (mlir::isa<mlir::arith::SelectOp>(op) && !mlir::isa<mlir::MemRefType>(op.getResult(0).getType()))
    return MaskRule::select;
  if (movesElements(op)) return MaskRule::move;
  if (mlir::isa<mlir::vector::MultiDimReductionOp>(op) && mlir::isa<mlir::VectorType>(op.getResult(0).getType()))
    return MaskRule::reduce;
  if (mlir::isa<tpu::MatmulOp>(op) && isPlainProduct(op)) return MaskRule::matmul;
  return isElementwise(op) ? MaskRule::elementwise : MaskRule::none;
}

mlir::OperandRange movedOperands(mlir::Operation& op) {
  if (mlir::isa<tpu::ConcatenateOp, mlir::vector::FromElementsOp>(op)) return op.getOperands();
  const bool two = mlir::isa<mlir::vector::InsertOp, mlir::vector::InsertStridedSliceOp>(op);
  return op.getOperands().take_front(two ? 2 : 1);
}

mlir::Value refOperand(mlir::Operation& op) { return op.getOperand(maskRuleOf(op) == MaskRule::store ? 1 : 0); }

mlir::Value storedValue(mlir::Operation& op) { return op.getOperand(0); }

mlir::Value storeMask(mlir::Operation& op) {
  auto store = mlir::dyn_cast<tpu::VectorStoreOp>(op);
  return store ? store.getMask() : mlir::Value();
}

mlir::Type maskType(mlir::Type type) {
  const mlir::Type bit = mlir::IntegerType::get(type.getContext(), 1);
  if (auto vector = mlir::dyn_cast<mlir::VectorType>(type)) return mlir::VectorType::get(vector.getShape(), bit);
  if (auto ref = mlir::dyn_cast<mlir::MemRefType>(type))
    return mlir::MemRefType::get(ref.getShape(), bit, mlir::MemRefLayoutAttrInterface(),
                                 tpu::MemorySpaceAttr::get(type.getContext(), tpu::MemorySpace::vmem, std::nullopt));
  return bit;
}

mlir::Value emitMask(mlir::OpBuilder& b, mlir::Operation& op, MaskRule rule, const MaskMap& masks) {
  switch (rule) {
    case MaskRule::elementwise: {
      if (isLogical(op)) return logicalMask(b, op, masks);
      mlir::Value mask;
      for (const mlir::Value v : op.getOperands()) mask = logicalAnd(b, op.getLoc(), mask, masks.lookup(v));
      return mask;
    }
    case MaskRule::select:
      return selectMask(b, op, masks);
    case MaskRule::move:
      return moveMask(b, op, masks);
    case MaskRule::reduce:
      return reductionMask(b, op, masks);
    case MaskRule::matmul:
      return productMask(b, op, masks);
    default:
      return {};
  }
}

mlir::Value emitAllTrue(mlir::OpBuilder& b, mlir::Location at, mlir::Value mask) {
  auto type = mlir::dyn_cast<mlir::VectorType>(mask.getType());
  if (!type) return mask;
  // As JAX writes a reduction to one element, with a leading axis that stays.
  llvm::SmallVector<int64_t> shape{1};
  shape.append(type.getShape().begin(), type.getShape().end());
  const mlir::Value led =
      mlir::vector::ShapeCastOp::create(b, at, mlir::VectorType::get(shape, type.getElementType()), mask);
  llvm::SmallVector<bool> reduced(shape.size(), true);
  reduced[0] = false;
  return mlir::vector::ExtractOp::create(b, at, reduceMask(b, at, led, reduced), llvm::ArrayRef<int64_t>{0});
}

mlir::Value emitConstant(mlir::OpBuilder& b, mlir::Location at, mlir::Type type, bool value) {
  if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
    return mlir::arith::ConstantOp::create(b, at, mlir::DenseElementsAttr::get(vector, value));
  return mlir::arith::ConstantOp::create(b, at, b.getBoolAttr(value));
}

}  // namespace smalti::cpu
