// smalti-opt: reads kernel modules, runs MLIR passes over them, checks and prints them. `smalti-opt --help`.
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

#include "ir/Dialects.h"

int main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  smalti::registerKernelDialects(registry);
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Smalti: kernel modules and MLIR passes\n", registry));
}
