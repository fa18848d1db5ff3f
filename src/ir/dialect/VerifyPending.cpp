// Verifiers pending: the next change fills them.
#include "ir/TpuOps.h"

namespace smalti::tpu {
llvm::LogicalResult MatmulOp::verify() { return mlir::success(); }
llvm::LogicalResult MatmulPushRhsOp::verify() { return mlir::success(); }
llvm::LogicalResult MatmulAccLhsOp::verify() { return mlir::success(); }
llvm::LogicalResult MatmulPopOp::verify() { return mlir::success(); }
llvm::LogicalResult MatmulLhsFifoOp::verify() { return mlir::success(); }
llvm::LogicalResult MatmulPopFifoOp::verify() { return mlir::success(); }
llvm::LogicalResult IotaOp::verify() { return mlir::success(); }
llvm::LogicalResult ConcatenateOp::verify() { return mlir::success(); }
llvm::LogicalResult TransposeOp::verify() { return mlir::success(); }
llvm::LogicalResult DynamicRotateOp::verify() { return mlir::success(); }
llvm::LogicalResult DynamicGatherOp::verify() { return mlir::success(); }
llvm::LogicalResult ReduceIndexOp::verify() { return mlir::success(); }
llvm::LogicalResult BitcastOp::verify() { return mlir::success(); }
llvm::LogicalResult ReciprocalOp::verify() { return mlir::success(); }
llvm::LogicalResult WeirdOp::verify() { return mlir::success(); }
llvm::LogicalResult StochasticConvertOp::verify() { return mlir::success(); }
llvm::LogicalResult PackElementwiseOp::verify() { return mlir::success(); }
llvm::LogicalResult UnpackElementwiseOp::verify() { return mlir::success(); }
llvm::LogicalResult AssumeMultipleOp::verify() { return mlir::success(); }
llvm::LogicalResult PrngSetSeed32Op::verify() { return mlir::success(); }
llvm::LogicalResult PrngRandomBitsOp::verify() { return mlir::success(); }
llvm::LogicalResult VectorStoreOp::verify() { return mlir::success(); }
llvm::LogicalResult StridedLoadOp::verify() { return mlir::success(); }
llvm::LogicalResult StridedStoreOp::verify() { return mlir::success(); }
llvm::LogicalResult MemRefSliceOp::verify() { return mlir::success(); }
llvm::LogicalResult MemRefSqueezeOp::verify() { return mlir::success(); }
llvm::LogicalResult MemRefReshapeOp::verify() { return mlir::success(); }
llvm::LogicalResult MemRefBitcastOp::verify() { return mlir::success(); }
llvm::LogicalResult RegionOp::verifyRegions() { return mlir::success(); }
llvm::LogicalResult SemAllocOp::verify() { return mlir::success(); }
llvm::LogicalResult SemBarrierOp::verify() { return mlir::success(); }
llvm::LogicalResult SemReadOp::verify() { return mlir::success(); }
llvm::LogicalResult SemWaitOp::verify() { return mlir::success(); }
llvm::LogicalResult SemSignalOp::verify() { return mlir::success(); }
llvm::LogicalResult EnqueueDMAOp::verify() { return mlir::success(); }
llvm::LogicalResult WaitDMAOp::verify() { return mlir::success(); }
llvm::LogicalResult WaitDMA2Op::verify() { return mlir::success(); }
llvm::LogicalResult IterationBoundOp::verify() { return mlir::success(); }
llvm::LogicalResult LogOp::verify() { return mlir::success(); }
llvm::LogicalResult LogBufferOp::verify() { return mlir::success(); }
}  // namespace smalti::tpu
