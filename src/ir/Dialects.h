#pragma once

namespace mlir {
class DialectRegistry;
}

namespace smalti {

/// The dialects a kernel may use; what `makeContext` and the IR tools register.
void registerKernelDialects(mlir::DialectRegistry&);

}  // namespace smalti
