#include "ir/dialect/Verify.h"

#include "llvm/ADT/StringExtras.h"

namespace smalti::tpu {

std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(
      shape, stream, [&](int64_t size) { mlir::ShapedType::isDynamic(size) ? stream << '?' : stream << size; }, "x");
  return text.empty() ? "no dimensions" : text;
}

unsigned bitsOf(mlir::Type element) { return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0; }

std::optional<llvm::SmallVector<int64_t>> rescaled(llvm::ArrayRef<int64_t> shape, unsigned from, unsigned to) {
  llvm::SmallVector<int64_t> result(shape);
  if (from == to) return result;
  if (from == 0 || to == 0 || shape.size() < 2) return std::nullopt;
  int64_t& size = result[shape.size() - 2];
  if (mlir::ShapedType::isDynamic(size)) return result;
  if (size * from % to != 0) return std::nullopt;
  size = size * from / to;
  return result;
}

llvm::LogicalResult verifyBitcast(mlir::Operation* op, mlir::ShapedType from, mlir::ShapedType to) {
  const unsigned fromBits = bitsOf(from.getElementType()), toBits = bitsOf(to.getElementType());
  if (fromBits != toBits && from.getRank() < 2)
    return op->emitOpError() << "needs 2 or more dimensions to change the width of its elements, has " << from;
  auto shape = rescaled(from.getShape(), fromBits, toBits);
  if (!shape)
    return op->emitOpError() << "needs a last but one dimension that " << fromBits << "-bit elements fill with "
                             << toBits << "-bit ones, has " << from;
  if (to.getShape() != llvm::ArrayRef(*shape))
    return op->emitOpError() << "needs a result of shape " << shapeText(*shape) << ", has " << shapeText(to.getShape());
  return mlir::success();
}

llvm::LogicalResult verifySemaphore(mlir::Operation* op, const char* what, mlir::Type type, SemaphoreKind kind,
                                    bool single) {
  auto memref = mlir::cast<mlir::MemRefType>(type);
  const bool regular = mlir::isa<SemaphoreType>(memref.getElementType());
  const bool dma = mlir::isa<DmaSemaphoreType>(memref.getElementType());
  const bool fits = kind == SemaphoreKind::regular ? regular : kind == SemaphoreKind::dma ? dma : regular || dma;
  if (!fits)
    return op->emitOpError() << "needs " << what << " that is a "
                             << (kind == SemaphoreKind::regular ? "regular semaphore" : "semaphore") << ", has "
                             << memref.getElementType();
  if (memorySpaceOf(memref) != MemorySpace::semaphore_mem)
    return op->emitOpError() << "needs " << what << " in semaphore memory, has " << type;
  if (single && memref.getRank() != 0)
    return op->emitOpError() << "needs a single semaphore as " << what << ", has an array of "
                             << shapeText(memref.getShape());
  return mlir::success();
}

llvm::LogicalResult verifyIndexCount(mlir::Operation* op, mlir::MemRefType type, size_t count) {
  if (static_cast<int64_t>(count) == type.getRank()) return mlir::success();
  return op->emitOpError() << "needs an index for each of the ref's " << type.getRank() << " dimensions, has " << count;
}

}  // namespace smalti::tpu
