#include "ir/facts/Constants.h"

#include <algorithm>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

namespace smalti {

bool isZero(mlir::Value v) {
  if (mlir::matchPattern(v, mlir::m_PosZeroFloat()) || mlir::matchPattern(v, mlir::m_Zero())) return true;
  mlir::Operation* op = v.getDefiningOp();
  using namespace mlir::arith;
  return llvm::isa_and_present<mlir::vector::BroadcastOp, SIToFPOp, UIToFPOp, ExtFOp, TruncFOp, ExtSIOp, ExtUIOp,
                               TruncIOp>(op) &&
         isZero(op->getOperand(0));
}

std::optional<double> splatFloat(mlir::Value v) {
  while (auto broadcast = v.getDefiningOp<mlir::vector::BroadcastOp>()) v = broadcast.getSource();
  auto constant = v.getDefiningOp<mlir::arith::ConstantOp>();
  if (!constant) return std::nullopt;
  if (auto number = llvm::dyn_cast<mlir::FloatAttr>(constant.getValue())) return number.getValueAsDouble();
  auto dense = llvm::dyn_cast<mlir::DenseFPElementsAttr>(constant.getValue());
  if (!dense || !dense.isSplat()) return std::nullopt;
  return dense.getSplatValue<mlir::APFloat>().convertToDouble();
}

std::optional<int64_t> constantIndex(mlir::Value v) {
  unsigned width = 64;  // of the narrowest type on the way: a cast to it keeps the low bits
  while (auto cast = v.getDefiningOp<mlir::arith::IndexCastOp>()) {
    if (auto type = mlir::dyn_cast<mlir::IntegerType>(cast.getType())) width = std::min(width, type.getWidth());
    v = cast.getIn();
  }
  const auto number = mlir::getConstantIntValue(v);
  return number && width > 0 && width < 64 ? std::optional(llvm::SignExtend64(static_cast<uint64_t>(*number), width))
                                           : number;
}

uint64_t constantBits(mlir::Attribute attribute) {
  if (auto f = llvm::dyn_cast<mlir::FloatAttr>(attribute)) return f.getValue().bitcastToAPInt().getZExtValue();
  if (auto i = llvm::dyn_cast<mlir::IntegerAttr>(attribute)) {
    const llvm::APInt value = i.getValue();
    if (value.getBitWidth() == 1) return value.getZExtValue();
    return value.getSignificantBits() <= 64 ? static_cast<uint64_t>(value.getSExtValue()) : 0;
  }
  return 0;
}

}  // namespace smalti
