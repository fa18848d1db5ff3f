// While one lives, what MLIR reports about its context is kept instead of printed.
#pragma once

#include <optional>
#include <string>

#include "mlir/IR/Diagnostics.h"

namespace smalti::interop {

class CapturedDiagnostics {
 public:
  struct Error {
    std::string message;
    mlir::Location location;
  };
  explicit CapturedDiagnostics(mlir::MLIRContext& context)
      : handler_(&context, [this](mlir::Diagnostic& d) {
          if (d.getSeverity() == mlir::DiagnosticSeverity::Error && !first_) first_ = Error{d.str(), d.getLocation()};
          return mlir::success();
        }) {}

  const std::optional<Error>& first() const { return first_; }
  /// The first error's message and forgets it; "" when there was none.
  std::string takeMessage() {
    std::string message = first_ ? std::move(first_->message) : std::string();
    first_.reset();
    return message;
  }

 private:
  std::optional<Error> first_;
  mlir::ScopedDiagnosticHandler handler_;
};

}  // namespace smalti::interop
