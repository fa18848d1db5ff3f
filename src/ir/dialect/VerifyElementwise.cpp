#include "ir/TpuOpsElementwise.h"
#include "mlir/IR/TypeUtilities.h"

#include "ir/dialect/Verify.h"

namespace smalti::tpu {
namespace {

/// f32 packs to bf16, integers to narrower ones.
bool packs(mlir::Type wide, mlir::Type narrow) {
  if (wide.isF32()) return narrow.isBF16();
  return wide.isSignlessInteger() && narrow.isSignlessInteger();
}

llvm::LogicalResult verifySubField(mlir::Operation* op, mlir::Type wide, mlir::Type narrow, unsigned wordBits) {
  if (!packs(wide, narrow))
    return op->emitOpError() << "needs f32 with bf16, or integers with integers, has " << wide << " with " << narrow;
  const unsigned bits = bitsOf(narrow);
  if (bits > wordBits || wordBits % bits != 0)
    return op->emitOpError() << "needs sub-fields that fill words of " << wordBits << " bits, has " << narrow;
  return mlir::success();
}

}  // namespace

llvm::LogicalResult BitcastOp::verify() { return verifyBitcast(*this, getInput().getType(), getOutput().getType()); }

llvm::LogicalResult ReciprocalOp::verify() {
  const mlir::Type element = getInput().getType().getElementType();
  if (element.isF32() || element.isBF16()) return mlir::success();
  return emitOpError() << "needs an input of f32 or bf16, has " << getInput().getType();
}

llvm::LogicalResult ReducePrecisionOp::verify() {
  const auto exponentBits = static_cast<int32_t>(getExponentBits()),
             mantissaBits = static_cast<int32_t>(getMantissaBits());
  if (exponentBits >= 1 && mantissaBits >= 0) return mlir::success();
  return emitOpError() << "needs at least 1 bit of exponent and 0 of mantissa, has " << exponentBits << " and "
                       << mantissaBits;
}

llvm::LogicalResult WeirdOp::verify() {
  if (!mlir::getElementTypeOrSelf(getInput().getType()).isF32())
    return emitOpError() << "needs an input of f32, has " << getInput().getType();
  auto in = mlir::dyn_cast<mlir::VectorType>(getInput().getType());
  const mlir::Type need = in ? mlir::Type(in.clone(mlir::IntegerType::get(getContext(), 1)))
                             : mlir::Type(mlir::IntegerType::get(getContext(), 1));
  if (getResult().getType() != need)
    return emitOpError() << "needs a result of type " << need << ", has " << getResult().getType();
  return mlir::success();
}

llvm::LogicalResult StochasticConvertOp::verify() {
  auto in = getInput().getType(), bits = getRandom().getType(), out = getOutput().getType();
  if (!in.getElementType().isF32()) return emitOpError() << "needs an input of f32, has " << in;
  if (!bits.getElementType().isSignlessInteger(32)) return emitOpError() << "needs random bits of i32, has " << bits;
  const mlir::Type to = out.getElementType();
  if (!mlir::isa<mlir::BFloat16Type, mlir::Float8E5M2Type, mlir::Float8E4M3FNType, mlir::Float8E4M3B11FNUZType,
                 mlir::Float16Type>(to))
    return emitOpError() << "needs a result of a float narrower than f32, has " << out;
  if (in.getShape() != bits.getShape() || in.getShape() != out.getShape())
    return emitOpError() << "needs input, random bits and result of one shape, has " << shapeText(in.getShape()) << ", "
                         << shapeText(bits.getShape()) << " and " << shapeText(out.getShape());
  return mlir::success();
}

llvm::LogicalResult PackElementwiseOp::verify() {
  if (getSources().empty()) return emitOpError() << "needs a vector for each sub-field, has none";
  auto first = mlir::cast<mlir::VectorType>(getSources().front().getType());
  auto out = getOutput().getType();
  if (!llvm::all_equal(getSources().getTypes()))
    return emitOpError() << "needs vectors of one type, has others than " << first;
  if (first.getShape() != out.getShape())
    return emitOpError() << "needs a result of shape " << shapeText(first.getShape()) << ", has " << out;
  const unsigned wordBits = bitsOf(out.getElementType());
  if (failed(verifySubField(*this, first.getElementType(), getTargetType(), wordBits))) return mlir::failure();
  const unsigned factor = wordBits / bitsOf(getTargetType());
  if (getSources().size() != factor)
    return emitOpError() << "needs " << factor << " vectors for words of " << wordBits << " bits, has "
                         << getSources().size();
  return mlir::success();
}

llvm::LogicalResult UnpackElementwiseOp::verify() {
  auto in = getSource().getType(), out = getOutput().getType();
  if (in.getShape() != out.getShape())
    return emitOpError() << "needs a result of shape " << shapeText(in.getShape()) << ", has " << out;
  const unsigned wordBits = bitsOf(in.getElementType());
  if (failed(verifySubField(*this, out.getElementType(), getSourceType(), wordBits))) return mlir::failure();
  const int64_t factor = wordBits / bitsOf(getSourceType()), index = static_cast<int32_t>(getIndex());
  if (index < 0 || index >= factor)
    return emitOpError() << "needs an index below " << factor << ", the sub-fields of a word, has " << index;
  return mlir::success();
}

llvm::LogicalResult AssumeMultipleOp::verify() {
  if (!getValue().getType().isIntOrIndex())
    return emitOpError() << "needs an integer or index, has " << getValue().getType();
  if (static_cast<int32_t>(getMultiple()) < 1)
    return emitOpError() << "needs a multiple of 1 or more, has " << static_cast<int32_t>(getMultiple());
  return mlir::success();
}

llvm::LogicalResult PrngRandomBitsOp::verify() {
  const mlir::Type element = getOutput().getType().getElementType();
  if (element.isSignlessInteger() && bitsOf(element) <= 32) return mlir::success();
  return emitOpError() << "needs a result of integers of up to 32 bits, has " << getOutput().getType();
}

}  // namespace smalti::tpu
