// Scalars: what the scalar unit computes, and what it receives from vectors.
#include <fmt/format.h>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "tpu/rules/Reasons.h"
#include "tpu/rules/Table.h"

namespace smalti::tpu {
namespace {

bool isWord(mlir::Type t) { return t.isInteger(32) || t.isF32() || t.isIndex() || t.isInteger(1); }

std::string nameOf(mlir::Type t) {
  const auto dtype = dtypeOf(t);
  return dtype ? ArrayType{*dtype, {}}.str() : "another type";
}

/// Computed from constants alone: the compiler has done so before it looks at types.
bool isFolded(mlir::Value value, int depth = 0) {
  constexpr int kMaxDepth = 16;
  mlir::Operation* op = value.getDefiningOp();
  if (op == nullptr || depth == kMaxDepth || !op->getName().getStringRef().starts_with("arith.")) return false;
  return llvm::all_of(op->getOperands(), [&](mlir::Value v) { return isFolded(v, depth + 1); });
}

void onScalar(mlir::Operation* op, const Judge& judge) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isIntOrFloat()) return;
  const llvm::StringRef name = op->getName().getStringRef();
  if (!name.starts_with("arith.") && !name.starts_with("math.")) return;
  if (mlir::isa<mlir::arith::ConstantOp, mlir::arith::SelectOp>(op)) return;
  const mlir::Type type = op->getOperand(0).getType();
  if (op->getNumOperands() < 2 && name.starts_with("arith.")) return;  // conversions
  if (isWord(type) || isFolded(op->getResult(0))) return;
  const bool integer = type.isInteger();
  judge.refuse(integer ? reason::kScalarType : reason::kElementType, op->getLoc(),
               {.message = integer ? fmt::format("Only i32 {} is supported, but got '{}'", name.str(), nameOf(type))
                                   : fmt::format("failed to legalize operation '{}'", name.str()),
                .need = "scalars of f32 or i32",
                .have = nameOf(type),
                .help = "convert the scalar before computing with it"});
}

void onExtract(mlir::Operation* op, const Judge& judge) {
  auto extract = mlir::dyn_cast<mlir::vector::ExtractOp>(op);
  if (!extract || mlir::isa<mlir::VectorType>(extract.getResult().getType())) return;
  const mlir::Type type = extract.getResult().getType();
  if (type.getIntOrFloatBitWidth() == 32) return;
  judge.refuse(reason::kScalarExtract, op->getLoc(),
               {.message = "Only 32-bit scalar vector.extracts supported",
                .need = "an element of f32 or i32",
                .have = nameOf(type),
                .help = "keep it as a (1, 1) array, or convert the vector first"});
}

}  // namespace

std::span<const Rule> scalarRules() {
  static constexpr Rule kRules[]{{.onOp = onScalar}, {.onOp = onExtract}};
  return kRules;
}

}  // namespace smalti::tpu
