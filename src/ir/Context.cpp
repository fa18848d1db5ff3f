#include "llvm/Support/ThreadPool.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/MLIRContext.h"

#include "ir/Dialects.h"
#include "ir/KernelPackage.h"
#include "ir/Tpu.h"

namespace smalti {

void registerKernelDialects(mlir::DialectRegistry& registry) {
  registry.insert<tpu::TpuDialect, mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                  mlir::vector::VectorDialect>();
}

namespace {

/// Runs tasks at once, on the thread that asks. A context with a pool may be used by several threads; it gets
/// no threads of its own.
class CallersThread : public llvm::ThreadPoolInterface {
 public:
  void wait() override {}
  void wait(llvm::ThreadPoolTaskGroup&) override {}
  unsigned getMaxConcurrency() const override { return 1; }

 private:
  void asyncEnqueue(llvm::unique_function<void()> task, llvm::ThreadPoolTaskGroup*) override { task(); }
};

}  // namespace

std::shared_ptr<mlir::MLIRContext> makeContext() {
  static auto& callersThread = *new CallersThread;  // outlives every context
  mlir::DialectRegistry registry;
  registerKernelDialects(registry);
  auto context = std::make_shared<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context->setThreadPool(callersThread);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false);  // an op can be large; the diagnostic has its place
  return context;
}

}  // namespace smalti
