// Shared by the verifiers of several families.
#pragma once

#include "llvm/ADT/Twine.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

#include "ir/Tpu.h"

namespace smalti::tpu {

/// "8x128", "" for rank 0.
std::string shapeText(llvm::ArrayRef<int64_t>);

/// Bits of an element: an i1 has 1. 0 for a type without a width.
unsigned bitsOf(mlir::Type element);

/// `shape` with the last but one dimension scaled as a cast from `from` to `to` bits does. nullopt where it does not
/// come out even, or a dimension that would have to change is not there.
std::optional<llvm::SmallVector<int64_t>> rescaled(llvm::ArrayRef<int64_t> shape, unsigned from, unsigned to);

/// The result of a cast to elements of another width has `from`'s shape, rescaled.
llvm::LogicalResult verifyBitcast(mlir::Operation*, mlir::ShapedType from, mlir::ShapedType to);

/// A single semaphore in semaphore memory; a DMA's may be of either kind.
enum class SemaphoreKind { regular, dma, any };
llvm::LogicalResult verifySemaphore(mlir::Operation*, const char* what, mlir::Type, SemaphoreKind, bool single = true);

/// One i32 index or index value for each dimension of the memref.
llvm::LogicalResult verifyIndexCount(mlir::Operation*, mlir::MemRefType, size_t count);

}  // namespace smalti::tpu
