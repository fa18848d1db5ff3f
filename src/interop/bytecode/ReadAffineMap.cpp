// Affine maps: layouts of memrefs (identity, seldom a permutation), and constant index maps.
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"

#include "interop/bytecode/AttrTypeParts.h"
#include "interop/bytecode/AttrTypeReader.h"
#include "interop/bytecode/BytecodeLimits.h"
#include "interop/bytecode/Format.h"

namespace smalti::interop::bytecode {
namespace {

/// Reads expressions in prefix order.
class AffineExprReader {
 public:
  AffineExprReader(Cursor& c, uint64_t dims, uint64_t symbols, mlir::MLIRContext& context)
      : c_(c), dims_(dims), symbols_(symbols), context_(context) {}

  mlir::AffineExpr read() {
    if (c_.ok() && ++nodes_ > kMaxAffineNodes)
      c_.fail("SM2106", "an affine map is too large", fmt::format("at most {} parts", kMaxAffineNodes));
    const auto kind = static_cast<AffineExprKind>(c_.varint("an affine expression"));
    if (!c_.ok()) return {};
    switch (kind) {
      case AffineExprKind::Dim:
        return mlir::getAffineDimExpr(c_.index("a dimension of a map", dims_), &context_);
      case AffineExprKind::Symbol:
        return mlir::getAffineSymbolExpr(c_.index("a symbol of a map", symbols_), &context_);
      case AffineExprKind::Constant: {
        const int64_t v = c_.signedVarint("a constant");
        if (v > kMaxAffineConstant || v < -kMaxAffineConstant)
          c_.fail("SM2106", "an affine map has too large a constant", {}, fmt::format("{}", v));
        return mlir::getAffineConstantExpr(v, &context_);
      }
      case AffineExprKind::Add:
        return binary(mlir::AffineExprKind::Add);
      case AffineExprKind::Mul:
        return binary(mlir::AffineExprKind::Mul);
      case AffineExprKind::Mod:
        return binary(mlir::AffineExprKind::Mod);
      case AffineExprKind::FloorDiv:
        return binary(mlir::AffineExprKind::FloorDiv);
      case AffineExprKind::CeilDiv:
        return binary(mlir::AffineExprKind::CeilDiv);
    }
    c_.fail("SM2104", "the kernel body has an affine expression this reader does not know", {},
            fmt::format("kind {}", static_cast<uint64_t>(kind)));
    return {};
  }

 private:
  // The right side of a product is a constant or a symbol, that of a division a positive constant.
  mlir::AffineExpr binary(mlir::AffineExprKind kind) {
    mlir::AffineExpr left = read();
    mlir::AffineExpr right = read();
    if (!c_.ok()) return {};
    if (kind == mlir::AffineExprKind::Add) return left + right;
    auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(right);
    if (kind == mlir::AffineExprKind::Mul ? !left.isSymbolicOrConstant() && !right.isSymbolicOrConstant()
                                          : !constant || constant.getValue() <= 0) {
      c_.fail("SM2105", "the kernel body has a map that is not affine");
      return {};
    }
    return mlir::getAffineBinaryOpExpr(kind, left, right);
  }

  Cursor& c_;
  uint64_t dims_, symbols_;
  mlir::MLIRContext& context_;
  int nodes_ = 0;
};

}  // namespace

mlir::Attribute AttrTypeReader::affineMapAttribute(Frame& f) {
  const uint64_t header = f.cursor.varint("a map");
  const uint64_t dims = header >> 2;
  const auto kind = static_cast<AffineMapKind>(header & 3);
  const uint64_t symbols = kind == AffineMapKind::General ? f.cursor.varint("symbols of a map") : 0;
  if (f.cursor.ok() && (dims > kMaxRank || symbols > kMaxRank))
    f.cursor.fail("SM2106", "a map has too many dimensions", fmt::format("at most {}", kMaxRank),
                  fmt::format("{} dimensions, {} symbols", dims, symbols));
  if (!f.cursor.ok()) return {};
  if (kind == AffineMapKind::Identity)
    return mlir::AffineMapAttr::get(mlir::AffineMap::getMultiDimIdentityMap(dims, &context_));
  const uint64_t results = kind == AffineMapKind::Permutation ? dims : f.cursor.count("results of a map");
  std::vector<mlir::AffineExpr> exprs;
  AffineExprReader expressions(f.cursor, dims, symbols, context_);
  for (uint64_t i = 0; i < results && f.cursor.ok(); ++i)
    exprs.push_back(kind == AffineMapKind::General
                        ? expressions.read()
                        : mlir::getAffineDimExpr(f.cursor.index("a dimension of a map", dims), &context_));
  if (!f.cursor.ok()) return {};
  return mlir::AffineMapAttr::get(mlir::AffineMap::get(dims, symbols, exprs, &context_));
}

}  // namespace smalti::interop::bytecode
