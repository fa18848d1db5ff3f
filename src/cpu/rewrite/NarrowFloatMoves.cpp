#include "cpu/rewrite/NarrowFloatMoves.h"

#include "cpu/rewrite/grid/CollapseReductionAxis.h"
#include "ir/TpuOpsElementwise.h"
#include "ir/TpuOpsMemory.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

namespace smalti::cpu {
namespace {

/// The value of all elements of a splat, if known.
std::optional<llvm::APFloat> splatFloat(mlir::Value v) {
  if (auto broadcast = v.getDefiningOp<mlir::vector::BroadcastOp>()) return splatFloat(broadcast.getSource());
  mlir::Attribute constant;
  if (mlir::matchPattern(v, mlir::m_Constant(&constant))) {
    if (auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(constant); dense && dense.isSplat())
      constant = dense.getSplatValue<mlir::Attribute>();
    if (auto number = llvm::dyn_cast<mlir::FloatAttr>(constant)) return number.getValue();
    return std::nullopt;
  }
  auto made = v.getDefiningOp<mlir::arith::SIToFPOp>();
  llvm::APInt whole;
  if (!made || !mlir::matchPattern(made.getIn(), mlir::m_ConstantInt(&whole))) return std::nullopt;
  auto type = llvm::dyn_cast<mlir::FloatType>(made.getType());
  if (!type) return std::nullopt;
  llvm::APFloat number(type.getFloatSemantics());
  number.convertFromAPInt(whole, /*IsSigned=*/true, llvm::APFloat::rmNearestTiesToEven);
  return number;
}

mlir::FloatType floatTypeOf(mlir::Value v) { return llvm::dyn_cast<mlir::FloatType>(mlir::getElementTypeOrSelf(v)); }

/// The value of `type` that `wide` was widened from, created if it is a constant; null: there is none.
mlir::Value narrowed(mlir::OpBuilder& b, mlir::Value wide, mlir::Type type) {
  if (auto extended = wide.getDefiningOp<mlir::arith::ExtFOp>(); extended && extended.getIn().getType() == type)
    return extended.getIn();
  auto number = splatFloat(wide);
  auto vector = llvm::dyn_cast<mlir::VectorType>(type);
  if (!number || !vector) return nullptr;
  bool inexact = false;
  number->convert(llvm::cast<mlir::FloatType>(vector.getElementType()).getFloatSemantics(),
                  llvm::APFloat::rmNearestTiesToEven, &inexact);
  if (inexact) return nullptr;
  return mlir::arith::ConstantOp::create(b, wide.getLoc(), mlir::DenseElementsAttr::get(vector, *number));
}

/// x for truncf(extf(x)); the narrow selection for truncf of a selection between widened values and constants; null:
/// the op has neither form.
mlir::Value withoutWidening(mlir::arith::TruncFOp op) {
  const mlir::Type type = op.getType();
  if (auto extended = op.getIn().getDefiningOp<mlir::arith::ExtFOp>())
    return extended.getIn().getType() == type ? extended.getIn() : nullptr;
  auto select = op.getIn().getDefiningOp<mlir::arith::SelectOp>();
  if (!select || !select->hasOneUse()) return nullptr;
  const auto widened = [](mlir::Value v) { return v.getDefiningOp<mlir::arith::ExtFOp>() != nullptr; };
  if (!widened(select.getTrueValue()) && !widened(select.getFalseValue())) return nullptr;
  mlir::OpBuilder b(op);
  mlir::Value yes = narrowed(b, select.getTrueValue(), type),
              no = yes ? narrowed(b, select.getFalseValue(), type) : nullptr;
  if (!no) return nullptr;
  return mlir::arith::SelectOp::create(b, op.getLoc(), select.getCondition(), yes, no);
}

/// A load of words from a ref of bf16.
struct WordLoad {
  mlir::Operation* op = nullptr;
  mlir::Value narrowRef;
  llvm::SmallVector<int32_t, 4> strides;
};

std::optional<WordLoad> wordLoadOf(mlir::Operation* op) {
  if (!op || !llvm::isa<tpu::StridedLoadOp, mlir::vector::LoadOp>(op)) return std::nullopt;
  auto bitcast = op->getOperand(0).getDefiningOp<tpu::MemRefBitcastOp>();
  auto type = llvm::dyn_cast<mlir::VectorType>(op->getResult(0).getType());
  if (!bitcast || !type || type.getRank() < 2 || !type.getElementType().isInteger(32)) return std::nullopt;
  auto from = llvm::dyn_cast<mlir::MemRefType>(bitcast->getOperand(0).getType());
  auto to = llvm::dyn_cast<mlir::MemRefType>(bitcast->getResult(0).getType());
  if (!from || !to || !from.getElementType().isBF16() || from.getRank() != to.getRank() ||
      to.getRank() != type.getRank() || !from.hasStaticShape())
    return std::nullopt;
  WordLoad load{op, bitcast->getOperand(0), {}};
  load.strides.assign(static_cast<size_t>(type.getRank()), 1);
  if (auto strided = llvm::dyn_cast<tpu::StridedLoadOp>(op))
    load.strides.assign(strided.getStrides().begin(), strided.getStrides().end());
  int32_t& rows = load.strides[load.strides.size() - 2];
  if (rows > INT32_MAX / 2 || rows < 1) return std::nullopt;
  rows *= 2;
  return load;
}

/// The half of a word of two bf16 that `op` takes (0: the low half), and the words; nullopt: `op` takes no half.
std::optional<std::pair<int, mlir::Value>> halfOf(mlir::arith::TruncFOp op) {
  auto bits = op.getIn().getDefiningOp<tpu::BitcastOp>();
  if (!bits || !floatTypeOf(op.getIn()).isF32() || !floatTypeOf(op.getResult()).isBF16()) return std::nullopt;
  mlir::Operation* by = bits.getInput().getDefiningOp();
  if (!by || !llvm::isa<mlir::arith::ShLIOp, mlir::arith::AndIOp>(by) ||
      !llvm::isa<mlir::VectorType>(bits.getInput().getType()))
    return std::nullopt;
  const bool shifts = llvm::isa<mlir::arith::ShLIOp>(by);
  const auto isNumber = [](mlir::Value v, uint64_t number) {
    llvm::APInt value;
    if (auto broadcast = v.getDefiningOp<mlir::vector::BroadcastOp>()) v = broadcast.getSource();
    return mlir::matchPattern(v, mlir::m_ConstantInt(&value)) && value.getBitWidth() == 32 &&
           value.getZExtValue() == number;
  };
  if (isNumber(by->getOperand(1), shifts ? 16 : 0xffff0000)) return std::pair{shifts ? 0 : 1, by->getOperand(0)};
  return std::nullopt;
}

/// Whether the words themselves have no other users.
bool usedOnlyAsHalves(mlir::Value words) {
  return llvm::all_of(words.getUsers(), [](mlir::Operation* by) {
    return by->getNumResults() == 1 && llvm::all_of(by->getUsers(), [](mlir::Operation* bits) {
             return llvm::isa<tpu::BitcastOp>(bits) && llvm::all_of(bits->getUsers(), [](mlir::Operation* user) {
                      auto narrow = llvm::dyn_cast<mlir::arith::TruncFOp>(user);
                      return narrow && halfOf(narrow);
                    });
           });
  });
}

/// A strided load of that half, if the words are loaded and have no other use; else null.
mlir::Value halfLoaded(mlir::arith::TruncFOp op) {
  const auto half = halfOf(op);
  const auto load = half ? wordLoadOf(half->second.getDefiningOp()) : std::nullopt;
  if (!load || !usedOnlyAsHalves(half->second)) return nullptr;
  mlir::OpBuilder b(load->op);
  const mlir::Location at = load->op->getLoc();
  llvm::SmallVector<mlir::Value> indices(load->op->getOperands().drop_front());
  mlir::Value& row = indices[indices.size() - 2];
  row = mlir::arith::MulIOp::create(b, at, row, mlir::arith::ConstantIndexOp::create(b, at, 2));
  row = mlir::arith::AddIOp::create(b, at, row, mlir::arith::ConstantIndexOp::create(b, at, half->first));
  return tpu::StridedLoadOp::create(b, at, op.getType(), load->narrowRef, indices,
                                    b.getDenseI32ArrayAttr(load->strides));
}

mlir::Value simpler(mlir::arith::TruncFOp op) {
  if (mlir::Value direct = withoutWidening(op)) return direct;
  return halfLoaded(op);
}

bool isDetour(mlir::arith::TruncFOp op) {
  if (auto extended = op.getIn().getDefiningOp<mlir::arith::ExtFOp>())
    return extended.getIn().getType() == op.getType();
  if (auto select = op.getIn().getDefiningOp<mlir::arith::SelectOp>())
    return select.getTrueValue().getDefiningOp<mlir::arith::ExtFOp>() ||
           select.getFalseValue().getDefiningOp<mlir::arith::ExtFOp>();
  return halfOf(op).has_value();
}

}  // namespace

std::optional<KernelPackage> moveNarrowFloats(const KernelPackage& package) {
  bool any = false;
  package.kernelFunction().walk([&](mlir::arith::TruncFOp op) { any |= isDetour(op); });
  if (!any) return std::nullopt;
  KernelPackage made = package.copy();
  bool changed = false;
  llvm::SmallVector<mlir::arith::TruncFOp> all;
  made.kernelFunction().walk([&](mlir::arith::TruncFOp op) { all.push_back(op); });
  for (mlir::arith::TruncFOp op : all) {
    mlir::Value direct = simpler(op);
    if (!direct) continue;
    op.getResult().replaceAllUsesWith(direct);
    changed = true;
  }
  if (!changed) return std::nullopt;
  dropUnused(made);
  return made;
}

}  // namespace smalti::cpu
