// smalti-lsp-server: a language server for kernel modules (.mlir); an editor starts it and speaks LSP on stdin/stdout.
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

#include "LspGuard.h"
#include "ir/Dialects.h"

int main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  smalti::registerKernelDialects(registry);
  return smalti::runGuarded([&] { return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry)) ? 1 : 0; });
}
