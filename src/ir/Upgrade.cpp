#include "ir/Upgrade.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

#include "ir/TpuOpsSync.h"

namespace smalti::tpu {
namespace {

using namespace mlir::arith;

/// The ops of one product, all of its type.
class Words {
 public:
  Words(mlir::OpBuilder& b, mlir::Location at, mlir::Type type)
      : b_(b), at_(at), type_(type), bits_(mlir::getElementTypeOrSelf(type).getIntOrFloatBitWidth()) {}

  mlir::Value constant(int64_t value) {
    mlir::TypedAttr attribute = b_.getIntegerAttr(mlir::getElementTypeOrSelf(type_), value);
    if (auto shaped = llvm::dyn_cast<mlir::ShapedType>(type_))
      attribute = mlir::DenseElementsAttr::get(shaped, llvm::ArrayRef<mlir::Attribute>(attribute));
    return ConstantOp::create(b_, at_, attribute);
  }
  mlir::Value add(mlir::Value x, mlir::Value y) { return AddIOp::create(b_, at_, x, y); }
  mlir::Value multiply(mlir::Value x, mlir::Value y) { return MulIOp::create(b_, at_, x, y); }
  mlir::Value low(mlir::Value x) { return AndIOp::create(b_, at_, x, constant((int64_t{1} << bits_ / 2) - 1)); }
  mlir::Value high(mlir::Value x) { return ShRUIOp::create(b_, at_, x, constant(bits_ / 2)); }
  /// x where the sign bit of `sign` is set, else 0.
  mlir::Value whereNegative(mlir::Value sign, mlir::Value x) {
    return AndIOp::create(b_, at_, ShRSIOp::create(b_, at_, sign, constant(bits_ - 1)), x);
  }

  /// The high half of the unsigned product, from products of halves: no sum of them overflows.
  mlir::Value highHalf(mlir::Value x, mlir::Value y) {
    const mlir::Value xl = low(x), xh = high(x), yl = low(y), yh = high(y);
    const mlir::Value upper = add(multiply(xh, yl), high(multiply(xl, yl)));
    const mlir::Value lower = add(multiply(xl, yh), low(upper));
    return add(multiply(xh, yh), add(high(upper), high(lower)));
  }

 private:
  mlir::OpBuilder& b_;
  mlir::Location at_;
  mlir::Type type_;
  unsigned bits_;
};

/// Product and its high half in ops of the same width.
template <class Op>
void expandProduct(Op op, bool isSigned) {
  auto element = llvm::dyn_cast<mlir::IntegerType>(mlir::getElementTypeOrSelf(op.getLhs().getType()));
  if (!element || element.getWidth() % 2 != 0 || element.getWidth() > 32) return;
  mlir::OpBuilder b(op);
  Words words(b, op.getLoc(), op.getLhs().getType());
  const mlir::Value x = op.getLhs(), y = op.getRhs();
  mlir::Value high = words.highHalf(x, y);
  if (isSigned) {
    const mlir::Value excess = words.add(words.whereNegative(x, y), words.whereNegative(y, x));
    high = SubIOp::create(b, op.getLoc(), high, excess);
  }
  if (!op.getLow().use_empty()) op.getLow().replaceAllUsesWith(words.multiply(x, y));
  op.getHigh().replaceAllUsesWith(high);
  op.erase();
}

}  // namespace

// A wait_dma2 waits for the bytes of dst on its semaphore, wherever the copy came from: its device and core say
// nothing to the waiting side.
void upgradeLegacyOps(mlir::ModuleOp module) {
  module.walk([](WaitDMA2Op old) {
    mlir::OpBuilder b(old);
    WaitDMAOp::create(b, old.getLoc(), old.getSrc(), mlir::Value(), old.getDst(), old.getSemaphore(), mlir::Value(),
                      mlir::Value(), mlir::Value(), b.getI32IntegerAttr(0), old.getStrictOrderingAttr(),
                      b.getBoolAttr(true));
    old.erase();
  });
}

void expandOps(mlir::ModuleOp module) {
  module.walk([](mlir::Operation* op) {
    if (auto product = llvm::dyn_cast<MulUIExtendedOp>(op))
      expandProduct(product, false);
    else if (auto product = llvm::dyn_cast<MulSIExtendedOp>(op))
      expandProduct(product, true);
  });
}

}  // namespace smalti::tpu
