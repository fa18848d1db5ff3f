// smalti-opt: reads kernel modules, runs passes over them (MLIR's, and the rewrites of native code), checks and prints
// them. `smalti-opt --help`.
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

#include "RewritePasses.h"
#include "ir/Dialects.h"

int main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  smalti::registerKernelDialects(registry);
  mlir::registerTransformsPasses();
  smalti::registerRewritePasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Smalti: kernel modules and MLIR passes\n", registry));
}
